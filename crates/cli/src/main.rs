//! The `kelda` binary: owns the command line, guarantees that data goes to stdout and everything else to
//! stderr, never touches a stream but through the client library or the server.

mod append;
mod args;
mod backup;
mod bench;
mod check;
mod clock;
mod config;
mod copying;
mod exit;
mod limits;
mod ls;
mod man;
mod migrate;
mod output;
mod profile;
mod progress;
mod range;
mod read;
mod reference;
mod remote;
mod restore;
mod stream;
mod streams;
mod tail;
mod ui;

use std::process::ExitCode;

use clap::{ArgMatches, CommandFactory as _, FromArgMatches as _};
use kelda_client::Kelda;

use crate::args::{Cli, Verb};
use crate::exit::Failure;
use crate::ui::Ui;

/// Requests allocate much and briefly, on several threads; the system's allocator took a sixth of an append's time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let parsed =
        Cli::command().try_get_matches().and_then(|matches| Ok((Cli::from_arg_matches(&matches)?, matches)));
    let (cli, matches) = match parsed {
        Ok(parsed) => parsed,
        Err(error) if error.use_stderr() && asked_for_json() => {
            return Failure::usage(error.to_string().trim_end()).report(true);
        }
        Err(error) => error.exit(),
    };
    let ui = Ui::new(&cli.global);
    let result = match cli.verb {
        Verb::Serve(args) => return serve(*args),
        Verb::Bench(args) => bench(&matches, ui, &args),
        Verb::Check(args) => runtime().and_then(|runtime| runtime.block_on(check::run(ui, args))),
        Verb::Backup(args) => working(backup::run(ui, args)),
        Verb::Restore(args) => working(restore::run(ui, args)),
        Verb::Migrate(args) => working(migrate::run(ui, args)),
        Verb::Profile => profile::show(ui, &profile::said(&matches)),
        Verb::Completions(args) => man::completions(&args),
        Verb::Man(args) => man::man(ui, &args),
        verb => remote(&matches, ui, verb),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(ui.json),
    }
}

/// Measures the server that is in force.
fn bench(matches: &ArgMatches, ui: Ui, args: &bench::args::BenchArgs) -> Result<(), Failure> {
    let used = profile::in_force(&profile::said(matches))?;
    bench::run(&used.endpoint, ui.json, args)
}

/// A verb that works on directories and stores, or has a node do so, on as many threads as a node has.
fn working(work: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    let runtime =
        kelda_server::runtime().map_err(|error| Failure::local(format!("no event loop: {error}")))?;
    let result = runtime.block_on(work);
    runtime.shutdown_background();
    result
}

/// A verb that talks to a server, to its end.
fn remote(matches: &ArgMatches, ui: Ui, verb: Verb) -> Result<(), Failure> {
    let used = profile::in_force(&profile::said(matches))?;
    let kelda = match verb.patience() {
        Some(patience) => remote::patient(&used.endpoint, patience)?,
        None => remote::client(&used.endpoint)?,
    };
    let runtime = runtime()?;
    let result = runtime.block_on(run(&kelda, ui, verb));
    // A thread may wait for standard input, and what it would read is not wanted any more.
    runtime.shutdown_background();
    result
}

async fn run(kelda: &Kelda, ui: Ui, verb: Verb) -> Result<(), Failure> {
    match verb {
        Verb::Create(args) => streams::create(kelda, ui, args).await,
        Verb::Append(args) => append::run(kelda, ui, args).await,
        Verb::Read(args) => read::read(kelda, ui, args).await,
        Verb::Tail(args) => tail::tail(kelda, ui, args).await,
        Verb::Head(args) => streams::head(kelda, ui, args).await,
        Verb::Ls(args) => ls::list(kelda, ui, args).await,
        Verb::Trim(args) => limits::trim(kelda, ui, args).await,
        Verb::Set(args) => limits::set(kelda, ui, args).await,
        Verb::Seal(args) => streams::seal(kelda, ui, args).await,
        Verb::Delete(args) => streams::delete(kelda, ui, args).await,
        Verb::Serve(_)
        | Verb::Bench(_)
        | Verb::Check(_)
        | Verb::Backup(_)
        | Verb::Restore(_)
        | Verb::Migrate(_)
        | Verb::Profile
        | Verb::Completions(_)
        | Verb::Man(_) => {
            unreachable!("main handles these")
        }
    }
}

fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    let built = tokio::runtime::Builder::new_current_thread().enable_all().build();
    built.map_err(|error| Failure::local(format!("no event loop: {error}")))
}

/// Whether the arguments, which do not parse, ask for JSON.
fn asked_for_json() -> bool {
    std::env::args_os().take_while(|arg| arg != "--").any(|arg| arg == "--json")
}

/// Runs a node until it is told to stop; the server crate owns its own exit codes and messages.
fn serve(args: kelda_server::ServeArgs) -> ExitCode {
    kelda_server::serve(args)
}
