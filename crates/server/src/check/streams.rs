//! The streams of the metadata with what is in the write-ahead logs: pure.
//!
//! Owns the sum of both. Guarantees the order of names. Never reads a file.

use std::collections::BTreeMap;

use kelda_engine::check::Tail;
use kelda_format::StreamId;
use kelda_format::rows::Expiry;
use kelda_meta::State;

use super::report::StreamReport;

/// All streams of `state`, of which `tails` are not committed.
pub(super) fn streams(state: &State, tails: &BTreeMap<StreamId, Tail>) -> Vec<StreamReport> {
    let mut found: Vec<StreamReport> = state
        .streams()
        .map(|row| {
            let tail = tails.get(&row.id).copied().unwrap_or_default();
            let bounded = state.entry_of(row.id).is_some_and(|entry| {
                entry.retention.max_age_ms.is_some()
                    || entry.retention.max_bytes.is_some()
                    || entry.expiry != Expiry::Never
            });
            StreamReport {
                id: row.id,
                name: row.name.as_str().to_owned(),
                kind: row.kind,
                epoch: row.epoch.map(|epoch| epoch.0),
                owner: row.owner,
                start: row.start,
                committed_end: row.end,
                end: tail.end.unwrap_or(row.end),
                bytes: row.bytes + tail.bytes,
                producers: row.producers,
                sealed: row.sealed || tail.sealed,
                unlimited: !bounded,
                last_timestamp: row.last_timestamp,
            }
        })
        .collect();
    found.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    found
}
