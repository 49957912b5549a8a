//! How a command ends: owns the exit codes, guarantees that a failure says on stderr what was wrong, as text or as a
//! problem in JSON, never prints on stdout.

mod typed;

use std::io::Write as _;
use std::process::ExitCode;

use kelda_client::{Error, Problem};
use serde_json::{Map, Value, json};

/// Something failed that is nobody's usage error.
const FAILED: u8 = 1;
/// The command line, the profile file or a line of the input was wrong (clap uses the same code).
const USAGE: u8 = 2;
/// There is no such stream.
const NOT_FOUND: u8 = 3;
/// The stream is not as the command expects it.
const CONFLICT: u8 = 4;
/// The server is not there, or has no room.
const UNAVAILABLE: u8 = 5;
/// What `check` looked at is damaged.
const DAMAGED: u8 = 6;

/// What shells report of a process that Ctrl-C ended.
const INTERRUPTED: u8 = 130;

/// Why a command failed.
#[derive(Debug)]
pub enum Failure {
    /// Whoever read standard output went away; no error by custom.
    OutputClosed,
    /// Ctrl-C, after what it left was put away.
    Interrupted,
    /// What is to be said.
    Said(Box<Complaint>),
}

/// What is said of a failure.
#[derive(Debug)]
pub struct Complaint {
    /// For people.
    message: String,
    /// For programs: the fields of a problem.
    fields: Map<String, Value>,
    exit: u8,
}

impl Failure {
    /// A failure on this side: a file that cannot be read, an output that cannot be written.
    pub fn local(message: impl Into<String>) -> Failure {
        Failure::ours("local", "Failed on this side", message.into(), FAILED)
    }

    /// What was typed does not fit together.
    pub fn usage(message: impl Into<String>) -> Failure {
        Failure::ours("usage", "Wrong usage", message.into(), USAGE)
    }

    /// The profile file is wrong, or has no such profile.
    pub fn profile(message: impl Into<String>) -> Failure {
        Failure::ours("profile", "No usable profile", message.into(), USAGE)
    }

    /// A record of the input is wrong.
    pub fn input(message: impl Into<String>) -> Failure {
        Failure::ours("input", "Wrong input", message.into(), USAGE)
    }

    fn ours(code: &str, title: &str, message: String, exit: u8) -> Failure {
        let mut fields = Map::new();
        fields.insert("type".to_owned(), json!(format!("urn:kelda:cli:{code}")));
        fields.insert("code".to_owned(), json!(code));
        fields.insert("title".to_owned(), json!(title));
        fields.insert("detail".to_owned(), json!(message));
        Failure::Said(Box::new(Complaint { message, fields, exit }))
    }

    /// The error of a request about one stream.
    pub fn about(name: &str, error: Error) -> Failure {
        match error {
            // Answers to HEAD have no body that could say it.
            Error::Problem(mut problem) if problem.detail.is_empty() => {
                problem.detail = match problem.status {
                    404 => format!("no stream {name:?}"),
                    _ => format!("stream {name:?}: {}", problem.title),
                };
                Failure::from(Error::Problem(problem))
            }
            error => Failure::from(error),
        }
    }

    /// Adds to the message, and for programs under names of their own.
    pub fn with(mut self, also: &str, more: &[(&str, Value)]) -> Failure {
        if let Failure::Said(complaint) = &mut self {
            complaint.message.push_str("; ");
            complaint.message.push_str(also);
            complaint.fields.insert("detail".to_owned(), json!(complaint.message));
            complaint.fields.extend(more.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
        }
        self
    }

    /// What is said to people; nothing when the output was closed.
    pub fn message(&self) -> Option<&str> {
        match self {
            Failure::OutputClosed | Failure::Interrupted => None,
            Failure::Said(complaint) => Some(&complaint.message),
        }
    }

    /// Data is not as it must be.
    pub fn damaged(message: impl Into<String>) -> Failure {
        Failure::ours("damaged", "Data is damaged", message.into(), DAMAGED)
    }

    /// Prints the message and gives the exit code.
    pub fn report(self, json: bool) -> ExitCode {
        let complaint = match self {
            Failure::OutputClosed => return ExitCode::SUCCESS,
            Failure::Interrupted => return interrupted(),
            Failure::Said(complaint) => complaint,
        };
        let Complaint { message, mut fields, exit } = *complaint;
        fields.insert("exit".to_owned(), json!(exit));
        let mut err = std::io::stderr().lock();
        // With standard error closed nobody is left to tell.
        let _ =
            if json { writeln!(err, "{}", Value::Object(fields)) } else { writeln!(err, "kelda: {message}") };
        ExitCode::from(exit)
    }
}

/// Ends the process by the signal, as if it had not been caught.
fn interrupted() -> ExitCode {
    // Should it fail, the code is the one that shells report of the signal.
    let _ = signal_hook::low_level::emulate_default_handler(signal_hook::consts::SIGINT);
    ExitCode::from(INTERRUPTED)
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let message = error.to_string();
        match error {
            Error::Endpoint(_) | Error::Invalid { .. } => Failure::usage(message),
            Error::Limit(_) => Failure::input(message),
            Error::Unreachable { .. } | Error::OutcomeUnknown { .. } => {
                Failure::ours("unreachable", "No answer from the server", message, UNAVAILABLE)
            }
            Error::Tls { .. } => {
                Failure::ours("tls", "No secure connection to the server", message, UNAVAILABLE)
            }
            Error::Problem(problem) => {
                let exit = exit_of(problem.status, problem.code());
                Failure::Said(Box::new(Complaint { fields: fields(*problem), message, exit }))
            }
            Error::Checkpoint(_) | Error::Codec(_) => Failure::local(message),
            Error::Mismatch(_) | Error::StreamChanged { .. } | Error::Gap { .. } | Error::Fenced { .. } => {
                typed::failure(&error, message)
            }
            Error::ReaderStopped(end) => typed::ended(*end),
            _ => Failure::ours("protocol", "The answer is not understood", message, FAILED),
        }
    }
}

/// The problem as the server gave it, and its code by itself.
fn fields(problem: Problem) -> Map<String, Value> {
    let code = problem.code().to_owned();
    let mut fields = problem.fields;
    fields.insert("type".to_owned(), json!(problem.r#type));
    fields.insert("code".to_owned(), json!(code));
    fields.insert("title".to_owned(), json!(problem.title));
    fields.insert("status".to_owned(), json!(problem.status));
    fields.insert("detail".to_owned(), json!(problem.detail));
    fields
}

/// The exit code for a problem of the server.
fn exit_of(status: u16, code: &str) -> u8 {
    match (status, code) {
        (410, "offset-gone") => CONFLICT,
        (404 | 410, _) => NOT_FOUND,
        (403 | 409 | 412 | 416, _) => CONFLICT,
        (408 | 429 | 502 | 503 | 504 | 507, _) => UNAVAILABLE,
        (400..=499, _) => USAGE,
        _ => FAILED,
    }
}

#[cfg(test)]
mod tests;
