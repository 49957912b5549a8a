//! `kelda serve`: a node as a process.
//!
//! Owns the command's arguments, where the configuration is looked for, the log, the signals and the exit codes: 0 after a
//! clean stop, 1 when the node could not start or did not close cleanly, 2 when its configuration is wrong. Guarantees one
//! line on standard output, when the node is ready; everything else goes to standard error.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use kelda_env::Env;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::config::{self, Loaded, NodeSettings, Sources};
use crate::node::{self, Node, StartError};

/// The file that is read when it is there and `--config` does not name another.
const DEFAULT_FILE: &str = "kelda.toml";
/// The variable that names the file.
const FILE_VARIABLE: &str = "KELDA_CONFIG";
/// The configuration is wrong.
const EXIT_CONFIG: u8 = 2;

/// The arguments of `kelda serve`: one flag per setting, and two of its own.
#[derive(Clone, Debug)]
pub struct ServeArgs {
    flags: ArgMatches,
}

impl Args for ServeArgs {
    fn augment_args(command: Command) -> Command {
        config::command(command)
            .arg(Arg::new("config").long("config").value_name("PATH").help(format!(
                "The configuration file [{FILE_VARIABLE}] [default: {DEFAULT_FILE}, if it is there]"
            )))
            .arg(Arg::new("print-config").long("print-config").action(ArgAction::SetTrue).help(
                "Show every setting, its value and where that came from, as a configuration file, and exit.",
            ))
    }

    fn augment_args_for_update(command: Command) -> Command {
        ServeArgs::augment_args(command)
    }
}

impl FromArgMatches for ServeArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<ServeArgs, clap::Error> {
        Ok(ServeArgs { flags: matches.clone() })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = ServeArgs::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Runs a node until it is told to stop.
#[must_use]
pub fn serve(args: ServeArgs) -> ExitCode {
    let loaded = match sources(&args.flags)
        .and_then(|sources| config::load(&args.flags, &sources).map_err(|error| error.to_string()))
    {
        Ok(loaded) => loaded,
        Err(error) => return complain(&error, EXIT_CONFIG),
    };
    if args.flags.get_flag("print-config") {
        return show(&loaded);
    }
    if let Err(error) = log(&loaded.settings.log) {
        return complain(&error, EXIT_CONFIG);
    }
    if let Err(error) = kelda_env::raise_open_files_limit() {
        tracing::warn!(%error, "the limit on open files stays low; connections may be refused");
    }
    match runtime() {
        Ok(runtime) => {
            let code = runtime.block_on(run(loaded.settings));
            // Everything that matters is closed; what still blocks on the disk must not hold up the exit.
            runtime.shutdown_background();
            code
        }
        Err(error) => complain(&format!("no event loop: {error}"), 1),
    }
}

/// The event loop of a node, which a measurement of one has to use too.
///
/// # Errors
/// The system gives no threads or no descriptors.
pub fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread().enable_all().thread_name("kelda").build()
}

/// Everything but the flags.
fn sources(flags: &ArgMatches) -> Result<Sources, String> {
    let variables: std::collections::BTreeMap<_, _> = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(name, _)| name.starts_with("KELDA_"))
        .collect();
    let named = flags.get_one::<String>("config").or(variables.get(FILE_VARIABLE)).cloned();
    let path = named.clone().unwrap_or_else(|| DEFAULT_FILE.to_owned());
    let file = match read(Path::new(&path)) {
        Ok(text) => Some((path, text)),
        Err(error) if named.is_none() && error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => return Err(format!("the configuration file {path} cannot be read: {error}")),
    };
    Ok(Sources { variables, file })
}

#[expect(clippy::disallowed_methods, reason = "the file is the operator's, outside the data directory")]
fn read(path: &Path) -> std::io::Result<String> {
    std::fs::read_to_string(path)
}

fn show(loaded: &Loaded) -> ExitCode {
    match std::io::stdout().write_all(config::print(loaded).as_bytes()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => complain(&format!("cannot write the configuration: {error}"), 1),
    }
}

fn log(filter: &str) -> Result<(), String> {
    let parsed = tracing_subscriber::EnvFilter::try_new(filter);
    let filter = parsed
        .map_err(|error| format!("log: `{filter}` is not a filter: {error}; write one such as info"))?;
    let subscriber = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    // Another subscriber is there when the node runs inside of something else; that one has its own ideas.
    let _ = subscriber.with_ansi(false).try_init();
    Ok(())
}

fn complain(error: &str, code: u8) -> ExitCode {
    // With standard error closed nobody is left to tell.
    let _ = writeln!(std::io::stderr(), "kelda: {error}");
    ExitCode::from(code)
}

async fn run(settings: NodeSettings) -> ExitCode {
    let mut signals = match Signals::new() {
        Ok(signals) => signals,
        Err(error) => return complain(&format!("cannot listen for signals: {error}"), 1),
    };
    let started = tokio::select! {
        biased;
        () = signals.next() => return ExitCode::SUCCESS,
        started = start(settings) => started,
    };
    let node = match started {
        Ok(node) => node,
        Err(error) => return complain(&error.to_string(), 1),
    };
    // Whoever started the node may have stopped listening.
    let _ = writeln!(std::io::stdout(), "{}", node.ready_line());
    let _ = std::io::stdout().flush();
    signals.next().await;
    tracing::info!("stopping");
    tokio::select! {
        biased;
        clean = node.stop() => if clean { ExitCode::SUCCESS } else { ExitCode::from(1) },
        () = signals.next() => complain("told to stop twice: stopping at once", 1),
    }
}

async fn start(settings: NodeSettings) -> Result<Node, StartError> {
    let data_dir: PathBuf = settings.data_dir.clone();
    let env =
        Env::real(&data_dir).map_err(|error| StartError::disk(&data_dir.display().to_string(), &error))?;
    node::prepare(env, settings).await?.start().await
}

/// The two signals that ask for a stop.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    fn new() -> std::io::Result<Signals> {
        Ok(Signals {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            biased;
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
