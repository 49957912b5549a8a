//! What a check says.
//!
//! Owns the typed report and its sums. Guarantees that the sums are of what is listed. Never prints.

use std::collections::BTreeMap;
use std::sync::Arc;

use kelda_engine::check::{
    Fault, Finding, LogReport, ObjectReport, ObjectUse, SegmentState, SlotReport, SlotUse,
};
use kelda_format::rows::{FeatureRange, StreamKind};
use kelda_format::{ClusterId, NodeId, Offset, SessionId, StreamId, Timestamp};
use kelda_meta::State;

/// All that a check found.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The directory, as it was named.
    pub data_dir: String,
    /// The object store; none when it is in the directory and is not there.
    pub store: Option<String>,
    /// What the names of objects begin with: `objects`, or the store's URL.
    pub objects_in: String,
    /// The cluster, from the metadata, or from the object store where those cannot be read.
    pub cluster: Option<ClusterId>,
    /// The level that commands and formats may use.
    pub feature_level: Option<u16>,
    /// The nodes of the cluster and the levels that their software knows.
    pub nodes: Vec<(NodeId, FeatureRange)>,
    /// The metadata; none when their file is missing.
    pub metadata: Option<MetadataReport>,
    /// Whether the metadata could be read. Otherwise there is nothing of streams, sessions and logs, and each object is
    /// verified by itself.
    pub metadata_read: bool,
    /// The write-ahead logs, by session.
    pub logs: Vec<LogReport>,
    /// The objects, by id.
    pub objects: Vec<ObjectReport>,
    /// The slots of write-ahead logs in the object store, by session and number.
    pub slots: Vec<SlotReport>,
    /// The streams, by name.
    pub streams: Vec<StreamReport>,
    /// What something that was interrupted left, and nothing needs.
    pub leftovers: Vec<Leftover>,
    /// What is there and belongs to nothing: files that no part of Kelda writes.
    pub strange: Vec<String>,
    /// What is not as it must be.
    pub findings: Vec<Finding>,
    /// How many findings there are, also those that are not listed.
    pub findings_total: u64,
    /// The metadata themselves, where a start would arrive at them.
    pub(super) state: Option<Arc<State>>,
}

/// A file that something which was interrupted left, and nothing needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leftover {
    /// The file, below the data directory, or in the object store.
    pub file: String,
    /// What left it.
    pub what: &'static str,
}

/// The metadata database and the log in it.
#[derive(Clone, Debug, Default)]
pub struct MetadataReport {
    /// The version of the database's layout that this version knows.
    pub layout: u32,
    /// The first log entry that counts.
    pub first: u64,
    /// The last log entry; 0 when there is none.
    pub last: u64,
    /// Bytes of the entries.
    pub entry_bytes: u64,
    /// The newest snapshot: the last entry in it, and its bytes.
    pub snapshot: Option<(u64, u64)>,
}

/// A stream as a reader would find it after the next start.
#[derive(Clone, Debug)]
pub struct StreamReport {
    /// Its id.
    pub id: StreamId,
    /// Its name.
    pub name: String,
    /// What it is to its users.
    pub kind: StreamKind,
    /// How often it was opened, less one; none until first opened.
    pub epoch: Option<u64>,
    /// The session that holds it open: one that did not end well.
    pub owner: Option<SessionId>,
    /// The first offset held.
    pub start: Offset,
    /// The offset after the last record that is in an object.
    pub committed_end: Offset,
    /// The offset after the last record, those in the write-ahead log included.
    pub end: Offset,
    /// Bytes of its records as stored.
    pub bytes: u64,
    /// Idempotent producers that are known.
    pub producers: u32,
    /// Whether it takes no more records.
    pub sealed: bool,
    /// Whether nothing bounds its size or its age.
    pub unlimited: bool,
    /// The time of its last committed record.
    pub last_timestamp: Timestamp,
}

impl StreamReport {
    /// Records held.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.end.since(self.start)
    }
}

/// Sums of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Totals {
    pub streams: u64,
    pub unlimited_streams: u64,
    pub records: u64,
    pub stream_bytes: u64,
    pub objects: u64,
    pub object_bytes: u64,
    /// Objects that no stream is read from: reserved, to be destroyed, or orphans.
    pub unused_objects: u64,
    pub unused_object_bytes: u64,
    pub orphans: u64,
    pub segments: u64,
    pub segment_bytes: u64,
    /// Entries of write-ahead logs that the next start replays.
    pub log_entries: u64,
    /// Logs that the next start recovers.
    pub logs_to_recover: u64,
    pub torn_bytes: u64,
    /// Slots of write-ahead logs in the object store that the next start reads.
    pub slots: u64,
    pub slot_bytes: u64,
    /// Files and slots that nothing needs any more.
    pub leftovers: u64,
}

impl Report {
    /// Whether nothing is wrong.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.findings_total == 0
    }

    /// Whether all that is wrong is that a newer version wrote it.
    #[must_use]
    pub fn is_only_newer(&self) -> bool {
        !self.is_clean() && self.findings.iter().all(|finding| finding.fault == Fault::Newer)
    }

    /// The names of the streams.
    #[must_use]
    pub fn names(&self) -> BTreeMap<StreamId, &str> {
        self.streams.iter().map(|stream| (stream.id, stream.name.as_str())).collect()
    }

    /// The sums.
    #[must_use]
    pub fn totals(&self) -> Totals {
        let mut sums = Totals::default();
        for stream in &self.streams {
            sums.streams += 1;
            sums.unlimited_streams += u64::from(stream.unlimited);
            sums.records += stream.records();
            sums.stream_bytes += stream.bytes;
        }
        for object in &self.objects {
            sums.objects += 1;
            sums.object_bytes += object.bytes;
            sums.orphans += u64::from(object.used == ObjectUse::Orphan);
            if !matches!(object.used, ObjectUse::Referenced | ObjectUse::Unknown) {
                sums.unused_objects += 1;
                sums.unused_object_bytes += object.bytes;
            }
        }
        for log in &self.logs {
            let mut recovers = false;
            for segment in &log.segments {
                sums.segments += 1;
                sums.segment_bytes += segment.bytes;
                recovers |= segment.state != SegmentState::Committed;
                if let SegmentState::Entries { entries, torn, .. } = segment.state {
                    sums.log_entries += entries;
                    sums.torn_bytes += torn.map_or(0, |torn| torn.bytes);
                }
            }
            sums.logs_to_recover += u64::from(recovers);
        }
        for slot in self.slots.iter().filter(|slot| slot.used == SlotUse::Waiting) {
            sums.slots += 1;
            sums.slot_bytes += slot.bytes;
        }
        let slots = self.slots.iter().filter(|slot| slot.used == SlotUse::LeftOver).count();
        sums.leftovers = (self.leftovers.len() + slots) as u64;
        sums
    }
}
