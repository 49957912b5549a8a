//! The `kelda` binary.

use std::process::ExitCode;

use clap::Parser;

/// A durable stream server.
#[derive(Parser)]
#[command(name = "kelda", version)]
enum Cli {
    /// Run a node.
    Serve(Box<kelda_server::ServeArgs>),
}

fn main() -> ExitCode {
    match Cli::parse() {
        Cli::Serve(args) => kelda_server::serve(*args),
    }
}
