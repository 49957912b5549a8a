//! The encodings of the metadata: pinned bytes, round trips, damage, and the corpus of their fuzz targets.

mod commands;
mod results;
mod rows;

use std::collections::BTreeSet;

use bytes::Bytes;
use kelda_format::fuzzing::{self, CLUSTER};
use kelda_format::rows::Nonce;
use kelda_format::snapshot::{SnapshotReader, SnapshotRow, SnapshotWriter};
use kelda_format::wire::Wire;
use kelda_format::{Command, LogEntry, NodeId, SessionEpoch, SessionId};

use crate::corpus::run;
use crate::corruption::flip_and_cut;
use crate::golden::pinned;

pub const SESSION: SessionId = SessionId { node: NodeId(7), epoch: SessionEpoch(300) };

pub fn nonce(first: u8) -> Nonce {
    let mut bytes = *b"\0nonce of a test";
    bytes[0] = first;
    Nonce(bytes)
}

fn entry() -> LogEntry {
    LogEntry {
        cluster: CLUSTER,
        session: Some(SESSION),
        flush: 0x0102_0304_0506,
        nonce: nonce(1),
        commands: commands::all(),
    }
}

fn snapshot() -> Bytes {
    let mut writer = SnapshotWriter::new(CLUSTER, 0x1122_3344);
    rows::all().iter().for_each(|row| writer.push(row));
    writer.finish()
}

/// The tag of a file's name: `RegisterNode` becomes `register-node`.
fn dashed(name: &str) -> String {
    let mut out = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !out.is_empty() {
            out.push('-');
        }
        out.extend(letter.to_lowercase());
    }
    out
}

#[test]
fn every_command_is_pinned() {
    let mut seen = BTreeSet::new();
    for command in commands::all() {
        let name = command.name();
        let bytes = pinned(&format!("meta_command-{}", dashed(name)), &command.encoded());
        assert_eq!(Command::decode_all(&bytes, "command"), Ok(command));
        seen.insert(name);
    }
    let missing: Vec<_> = Command::NAMES.iter().filter(|name| !seen.contains(*name)).collect();
    assert!(missing.is_empty(), "no sample of {missing:?}");
}

#[test]
fn every_row_is_pinned() {
    let mut seen = BTreeSet::new();
    for row in rows::all() {
        let debug = format!("{row:?}");
        let name = debug.split(['(', ' ']).next().unwrap();
        let bytes = pinned(&format!("meta_row-{}", dashed(name)), &row.encoded());
        assert_eq!(SnapshotRow::decode_all(&bytes, "row"), Ok(row));
        assert!(seen.insert(name.to_owned()), "two samples of {name}");
    }
    assert_eq!(seen.len(), 12);
}

#[test]
fn outcomes_and_rejections_are_pinned() {
    let outcomes = results::outcomes();
    let bytes = pinned("meta_outcomes", &outcomes.encoded());
    assert_eq!(Wire::decode_all(&bytes, "outcomes"), Ok(outcomes));
    let rejections = results::rejections();
    let bytes = pinned("meta_rejections", &rejections.encoded());
    assert_eq!(Wire::decode_all(&bytes, "rejections"), Ok(rejections));
    let faults = results::faults();
    let bytes = pinned("meta_faults", &faults.encoded());
    assert_eq!(Wire::decode_all(&bytes, "faults"), Ok(faults));
}

#[test]
fn a_log_entry_is_pinned() {
    let bytes = pinned("meta_log-entry", &entry().encode());
    assert_eq!(LogEntry::decode(&bytes), Ok(entry()));
    let first = LogEntry { session: None, flush: 0, commands: commands::all()[..1].to_vec(), ..entry() };
    let bytes = pinned("meta_log-entry-without-session", &first.encode());
    assert_eq!(LogEntry::decode(&bytes), Ok(first));
}

#[test]
fn a_snapshot_is_pinned() {
    let bytes = pinned("meta_snapshot", &snapshot());
    let reader = SnapshotReader::new(&bytes).unwrap();
    assert_eq!((reader.cluster(), reader.index()), (CLUSTER, 0x1122_3344));
    assert_eq!(reader.map(Result::unwrap).collect::<Vec<_>>(), rows::all());
}

#[test]
fn damage_to_an_entry_is_noticed() {
    let entry = LogEntry { commands: commands::all()[..3].to_vec(), ..entry() };
    flip_and_cut(&entry.encode(), |bytes| LogEntry::decode(&bytes).ok());
}

#[test]
fn damage_to_a_snapshot_is_noticed() {
    let mut writer = SnapshotWriter::new(CLUSTER, 9);
    rows::all()[..4].iter().for_each(|row| writer.push(row));
    flip_and_cut(&writer.finish(), |bytes| {
        SnapshotReader::new(&bytes).ok()?.collect::<Result<Vec<_>, _>>().ok()
    });
}

#[test]
fn newer_versions_are_told_from_damage() {
    let mut bytes = entry().encode().to_vec();
    bytes[8] = 2;
    let error = LogEntry::decode(&bytes).unwrap_err().to_string();
    assert!(error.contains("it has version 2, this software knows up to 1"), "{error}");
    let mut bytes = snapshot().to_vec();
    bytes[8] = 2;
    let error = SnapshotReader::new(&bytes).unwrap_err().to_string();
    assert!(error.contains("it has version 2, this software knows up to 1"), "{error}");
}

#[test]
fn an_entry_has_at_most_256_commands() {
    let key = commands::all().pop().unwrap();
    let full = LogEntry { commands: vec![key.clone(); 256], ..entry() };
    assert_eq!(LogEntry::decode(&full.encode()), Ok(full));
    let over = LogEntry { commands: vec![key; 257], ..entry() };
    let error = LogEntry::decode(&over.encode()).unwrap_err().to_string();
    assert!(error.contains("257 commands"), "{error}");
}

#[test]
fn corpus_of_commands() {
    let commands = commands::all();
    let samples: Vec<_> = commands.iter().map(|command| (command.name(), command.encoded())).collect();
    run("meta_command", fuzzing::meta_command, &samples);
}

#[test]
fn corpus_of_log_entries() {
    let empty = LogEntry { commands: Vec::new(), ..entry() }.encode().to_vec();
    let samples = [("all", entry().encode().to_vec()), ("empty", empty)];
    run("meta_log_entry", fuzzing::meta_log_entry, &samples);
}

#[test]
fn corpus_of_snapshots() {
    run("meta_snapshot", fuzzing::meta_snapshot, &[("all", snapshot().to_vec())]);
}
