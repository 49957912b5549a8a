//! How a command ends: owns the exit codes, guarantees that a failure says on stderr what was wrong.

use std::process::ExitCode;

use kelda_client::Error;

/// Something failed that is nobody's usage error.
const FAILED: u8 = 1;
/// The command line was wrong (clap uses the same code).
const USAGE: u8 = 2;
/// There is no such stream.
const NOT_FOUND: u8 = 3;
/// The stream is not as the command expects it.
const CONFLICT: u8 = 4;
/// The server is not there, or has no room.
const UNAVAILABLE: u8 = 5;

/// What `check` looked at is damaged.
const DAMAGED: u8 = 6;

/// Why a command failed.
#[derive(Debug)]
pub enum Failure {
    /// Whoever read standard output went away; no error by custom.
    OutputClosed,
    /// The message and the exit code.
    Failed(String, u8),
}

impl Failure {
    /// A failure on this side: a file that cannot be read, an output that cannot be written.
    pub fn local(message: impl Into<String>) -> Failure {
        Failure::Failed(message.into(), FAILED)
    }

    /// The command line asks for what cannot be.
    pub fn usage(message: impl Into<String>) -> Failure {
        Failure::Failed(message.into(), USAGE)
    }

    /// The stream that the command needs does not exist.
    pub fn not_found(message: impl Into<String>) -> Failure {
        Failure::Failed(message.into(), NOT_FOUND)
    }

    /// Data is not as it must be.
    pub fn damaged(message: impl Into<String>) -> Failure {
        Failure::Failed(message.into(), DAMAGED)
    }

    /// Prints the message and gives the exit code.
    pub fn report(self) -> ExitCode {
        match self {
            Failure::OutputClosed => ExitCode::SUCCESS,
            Failure::Failed(message, code) => {
                eprintln!("kelda: {message}");
                ExitCode::from(code)
            }
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let code = match &error {
            Error::Endpoint(_) | Error::Limit(_) => USAGE,
            Error::Unreachable { .. } => UNAVAILABLE,
            Error::Protocol(_) => FAILED,
            Error::Problem(problem) => match problem.status {
                404 | 410 => NOT_FOUND,
                409 | 412 => CONFLICT,
                429 | 503 | 507 => UNAVAILABLE,
                _ => FAILED,
            },
        };
        Failure::Failed(error.to_string(), code)
    }
}
