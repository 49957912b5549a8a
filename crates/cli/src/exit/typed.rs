//! What the library found out by itself: owns how its typed errors are said, guarantees that each has the code, the status
//! and the fields that the server's problem of the same meaning has. Never asks the server.

use kelda_client::{Difference, Error, Problem, ReaderEnd};
use serde_json::{Map, Value, json};

use super::{Complaint, Failure, exit_of, fields};
use crate::output;

/// The failure of an error that stands for a problem of the server.
pub fn failure(error: &Error, message: String) -> Failure {
    let (status, code, title, more) = match error {
        Error::Mismatch(mismatch) => {
            let differences: Vec<_> = mismatch.differences.iter().map(difference).collect();
            (
                409,
                "config-conflict",
                "Stream exists with another configuration",
                ("differences", json!(differences)),
            )
        }
        Error::StreamChanged { found, .. } => {
            (412, "stream-id-mismatch", "Name belongs to another stream", ("stream_id", json!(found)))
        }
        Error::Gap { to, .. } => {
            (410, "offset-gone", "Offset is no longer held", ("start_offset", json!(output::offset(*to))))
        }
        Error::Fenced { current, .. } => {
            (403, "stale-epoch", "Producer epoch is stale", ("producer_epoch", json!(current.to_string())))
        }
        _ => return Failure::local(message),
    };
    let more = Map::from_iter([(more.0.to_owned(), more.1)]);
    let r#type = format!("urn:kelda:problem:{code}");
    let problem = Problem { r#type, title: title.to_owned(), status, detail: message.clone(), fields: more };
    let exit = exit_of(status, code);
    Failure::Said(Box::new(Complaint { message, fields: fields(problem), exit }))
}

fn difference(difference: &Difference) -> Value {
    let said = |value: &Option<String>| value.clone().unwrap_or_else(|| "none".to_owned());
    json!({
        "field": difference.field,
        "existing": said(&difference.existing),
        "requested": said(&difference.requested),
    })
}

/// The failure of a reader that stopped by itself.
pub fn ended(end: ReaderEnd) -> Failure {
    match end {
        ReaderEnd::Error(error) | ReaderEnd::Checkpoint { error, .. } => Failure::from(error),
        ReaderEnd::Gap { from, to } => {
            let message = end.to_string();
            failure(&Error::Gap { stream: String::new(), from, to }, message)
        }
        other => Failure::local(other.to_string()),
    }
}
