//! The `kelda` binary: owns the command line, guarantees that data goes to stdout and everything else to
//! stderr, never touches a stream but through the client library or the server.

mod append;
mod args;
mod bench;
mod check;
mod exit;
mod files;
mod output;
mod read;
mod streams;

use std::process::ExitCode;

use clap::Parser;

use crate::args::{Cli, Verb};

fn main() -> ExitCode {
    let cli = Cli::parse();
    let result = match cli.verb {
        Verb::Serve(args) => return serve(*args),
        Verb::Bench(args) => bench::run(&cli.endpoint.endpoint, &args),
        Verb::Check(args) => runtime().and_then(|runtime| runtime.block_on(check::run(args))),
        verb => runtime().and_then(|runtime| runtime.block_on(run(&cli.endpoint, verb))),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

async fn run(endpoint: &args::Endpoint, verb: Verb) -> Result<(), exit::Failure> {
    let kelda = kelda_client::Kelda::connect(&endpoint.endpoint)?;
    match verb {
        Verb::Create(args) => streams::create(&kelda, args).await,
        Verb::Append(args) => append::run(&kelda, args).await,
        Verb::Read(args) => read::read(&kelda, args).await,
        Verb::Tail(args) => read::tail(&kelda, args).await,
        Verb::Ls(args) => streams::list(&kelda, args).await,
        Verb::Head(args) => streams::head(&kelda, args).await,
        Verb::Seal(args) => streams::seal(&kelda, args).await,
        Verb::Delete(args) => streams::delete(&kelda, args).await,
        Verb::Serve(_) | Verb::Bench(_) | Verb::Check(_) => unreachable!("main handles these"),
    }
}

fn runtime() -> Result<tokio::runtime::Runtime, exit::Failure> {
    let built = tokio::runtime::Builder::new_current_thread().enable_all().build();
    built.map_err(|error| exit::Failure::local(format!("no event loop: {error}")))
}

/// Runs a node until it is told to stop; the server crate owns its own exit codes and messages.
fn serve(args: kelda_server::ServeArgs) -> ExitCode {
    kelda_server::serve(args)
}
