//! From input to batches: owns what becomes a record and where a batch ends, guarantees that a record which is wrong
//! takes its whole batch with it and is named by its line, never holds more than one batch.

use bytes::Bytes;
use kelda_client::{Batch, BatchBuilder, Headers, Record};
use serde::de::IgnoredAny;
use tokio::sync::mpsc;

use super::input::Input;
use crate::exit::Failure;

/// A batch is sent when it has so many bytes, or when more input would have to be waited for.
const BATCH_BYTES: u64 = 1024 * 1024;
/// And never holds more records; a server takes 10,000 in one.
const BATCH_RECORDS: u32 = 4096;

/// How the input is cut into records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A record a line.
    Lines,
    /// A record an input.
    Whole,
    /// A record a line, as JSON with headers.
    Records,
}

/// Records that are stored together or not at all.
pub struct Piece {
    pub batch: Batch,
    pub counts: Counts,
}

/// What a batch comes to.
#[derive(Clone, Copy, Debug)]
pub struct Counts {
    pub records: u64,
    pub body_bytes: u64,
    /// What of the input they were made of.
    pub input_bytes: u64,
}

/// Reads all inputs; ends early when the sending side gave up. `json` says that each body has to be a JSON value.
pub fn read(
    inputs: Vec<Input>,
    shape: Shape,
    json: bool,
    sender: &mpsc::Sender<Piece>,
) -> Result<(), Failure> {
    let mut building = Building::default();
    let mut raw = Vec::new();
    for mut input in inputs {
        while input.next(&mut raw, shape)? {
            let record = record(&raw, shape, json).map_err(|reason| {
                Failure::input(format!("{}: {reason}; no record of its batch was stored", input.place()))
            })?;
            building.input_bytes += raw.len() as u64;
            if let Some(record) = record {
                // The largest record and a batch that is nearly full would be too much for a server.
                let fits = building.bytes() + record.byte_len() <= BATCH_BYTES;
                if !fits && building.records.count() > 0 && !building.send(sender) {
                    return Ok(());
                }
                building.push(&record).map_err(|reason| {
                    Failure::input(format!("{}: {reason}; no record of its batch was stored", input.place()))
                })?;
            }
            let full = building.bytes() >= BATCH_BYTES || building.records.count() >= BATCH_RECORDS;
            if (full || input.would_wait()) && !building.send(sender) {
                return Ok(());
            }
        }
    }
    building.send(sender);
    Ok(())
}

/// The record that a piece of input stands for; none for a blank line that stands for nothing.
fn record(raw: &[u8], shape: Shape, json: bool) -> Result<Option<Record>, String> {
    let record = match shape {
        Shape::Records if raw.trim_ascii().is_empty() => return Ok(None),
        Shape::Records => {
            kelda_server::http::json::decode_record(raw.trim_ascii()).map_err(|error| error.to_string())?
        }
        // In a stream of JSON the line's end is no part of the value.
        Shape::Lines if json && raw.trim_ascii().is_empty() => return Ok(None),
        Shape::Lines if json => plain(raw.trim_ascii()),
        Shape::Lines | Shape::Whole => plain(raw),
    };
    if json && shape != Shape::Whole {
        serde_json::from_slice::<IgnoredAny>(&record.body)
            .map_err(|error| format!("the stream takes JSON values, and this is none: {error}"))?;
    }
    Ok(Some(record))
}

fn plain(body: &[u8]) -> Record {
    Record { body: Bytes::copy_from_slice(body), headers: Headers::none(), producer_timestamp: None }
}

/// A batch that is not full.
#[derive(Default)]
struct Building {
    records: BatchBuilder,
    body_bytes: u64,
    input_bytes: u64,
}

impl Building {
    fn bytes(&self) -> u64 {
        self.records.byte_len()
    }

    fn push(&mut self, record: &Record) -> Result<(), String> {
        let pushed = self.records.push(&record.body, &record.headers, record.producer_timestamp);
        pushed.map_err(|error| error.to_string())?;
        self.body_bytes += record.body.len() as u64;
        Ok(())
    }

    /// Hands the batch over and begins the next; false when nobody takes it any more.
    fn send(&mut self, sender: &mpsc::Sender<Piece>) -> bool {
        let Building { records, body_bytes, input_bytes } = std::mem::take(self);
        if records.count() == 0 {
            self.input_bytes = input_bytes;
            return true;
        }
        let counts = Counts { records: records.count().into(), body_bytes, input_bytes };
        sender.blocking_send(Piece { batch: records.finish(), counts }).is_ok()
    }
}

#[cfg(test)]
mod tests;
