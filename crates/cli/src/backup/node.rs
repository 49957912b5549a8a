//! The request to a running node: owns the reading of its reply, a line of JSON each second.

use bytes::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Method, Uri};
use kelda_server::backup::{Stage, Status};
use serde_json::{Value, json};

use crate::bench::connection::{Connection, Sink, Target};
use crate::copying::Shown;
use crate::exit::Failure;
use crate::ui::Ui;

/// A line of the reply is not longer.
const MAX_LINE_BYTES: usize = 16 << 20;

/// Has a node take a backup and gives what it says of it.
pub async fn backup(ui: Ui, admin: &str, to: &str) -> Result<Value, Failure> {
    let target = Target::new(admin)?;
    let mut connection = Connection::open(&target).await?;
    let body = Bytes::from(json!({"to": to}).to_string());
    let mut request = connection.request(Method::POST, Uri::from_static("/backup"), body);
    request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let mut lines = Lines { shown: Shown::new(ui), rest: Vec::new(), last: None };
    let answer = connection.exchange(request, &mut lines).await?;
    if !answer.status.is_success() {
        let problem: Option<Value> = serde_json::from_slice(&answer.problem).ok();
        return Err(match problem.as_ref().and_then(|problem| problem["detail"].as_str()) {
            Some(detail) => Failure::local(format!("{admin}: {detail}")),
            None => answer.refused(&format!("{admin}/backup")),
        });
    }
    let Some(last) = lines.last else {
        return Err(Failure::local(format!("{admin}: the node ended before the backup was complete")));
    };
    let failed = &last["failed"];
    if let Some(detail) = failed["detail"].as_str() {
        return Err(match failed["kind"].as_str() {
            Some("usage") => Failure::usage(detail),
            Some("damaged") => Failure::damaged(detail),
            _ => Failure::local(detail),
        });
    }
    Ok(last["done"].clone())
}

/// The reply as it comes.
struct Lines {
    shown: Shown,
    /// What came of a line that is not whole.
    rest: Vec<u8>,
    /// The line that says how it ended.
    last: Option<Value>,
}

impl Lines {
    fn line(&mut self, line: &[u8]) -> Result<(), String> {
        let said: Value = serde_json::from_slice(line)
            .map_err(|error| format!("the node's reply is not understood: {error}"))?;
        let number = |field: &str| said[field].as_u64().unwrap_or(0);
        match said["stage"].as_str().and_then(Stage::of_word) {
            Some(stage) => self.shown.status(&Status {
                stage,
                objects: number("objects"),
                bytes: number("bytes"),
                done_objects: number("done_objects"),
                done_bytes: number("done_bytes"),
            }),
            None => self.last = Some(said),
        }
        Ok(())
    }
}

impl Sink for Lines {
    fn data(&mut self, bytes: &[u8]) -> Result<(), String> {
        self.rest.extend_from_slice(bytes);
        while let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.rest.drain(..=end).collect();
            self.line(&line)?;
        }
        match self.rest.len() {
            0..=MAX_LINE_BYTES => Ok(()),
            more => Err(format!("the node's reply has a line of more than {more} bytes")),
        }
    }
}
