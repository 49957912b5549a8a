//! The bodies for the decoders of the metadata.

use super::repair;
use crate::command::Command;
use crate::logentry::LogEntry;
use crate::snapshot::{SnapshotReader, SnapshotRow, SnapshotWriter};
use crate::wire::Wire;

/// One metadata command.
pub fn meta_command(input: &[u8]) {
    if let Ok(command) = Command::decode_all(input, "command") {
        assert_eq!(command.encoded(), input);
    }
}

/// An entry of the metadata log.
pub fn meta_log_entry(input: &[u8]) {
    for bytes in [input.to_vec(), repair::log_entry(input)] {
        if let Ok(entry) = LogEntry::decode(&bytes) {
            assert_eq!(entry.encode(), bytes);
        }
    }
}

/// A snapshot of the metadata state.
pub fn meta_snapshot(input: &[u8]) {
    for bytes in [input.to_vec(), repair::snapshot(input)] {
        let Ok(reader) = SnapshotReader::new(&bytes) else { continue };
        let mut writer = SnapshotWriter::new(reader.cluster(), reader.index());
        let rows: Result<Vec<SnapshotRow>, _> = reader.collect();
        if let Ok(rows) = rows {
            rows.iter().for_each(|row| writer.push(row));
            assert_eq!(writer.finish(), bytes);
        }
    }
}
