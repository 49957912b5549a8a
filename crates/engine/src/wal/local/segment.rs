//! Segment files of the local WAL: owns their names and how many bytes an entry takes in one and in its index.
//! Guarantees that the bound on the index is never too small, never touches a file.

use kelda_format::SessionId;
use kelda_format::object::{FOOTER_BYTES, INDEX_EXTENT_MAX_BYTES, INDEX_STREAM_MAX_BYTES};
use kelda_format::summary::Summary;
use kelda_format::wal::{self, Section, StreamSection};

/// Directory of all write-ahead logs, below the data directory.
pub(crate) const WAL_DIR: &str = "wal";

/// Bytes that end a segment whatever it holds: footer and fixed part of the index.
pub(crate) const TAIL_BYTES: u64 = FOOTER_BYTES as u64 + VARINT_BYTES;

/// Bytes of the shortest index and footer. As much stands behind the entries of every segment, as room or written.
pub(crate) const LEAST_TRAILER_BYTES: u64 = FOOTER_BYTES as u64 + 1;

/// Bytes of the longest number in an index.
const VARINT_BYTES: u64 = 10;

/// Directory of the WAL of a session.
pub(crate) fn dir(session: SessionId) -> String {
    format!("{WAL_DIR}/{}", session.epoch)
}

/// Path of a segment.
pub(crate) fn path(session: SessionId, number: u64) -> String {
    format!("{}/{number:020}", dir(session))
}

/// Path of the fresh file into which the last, unsealed segment is rewritten by recovery.
pub(crate) fn rewrite_path(session: SessionId, number: u64) -> String {
    format!("{}/{number:020}{REWRITE_SUFFIX}", dir(session))
}

/// Path of the empty file that stands in a WAL directory while the first segment that is not committed may not be begun
/// yet. Without it, and without a committed segment that is not removed yet, that segment has a synced header.
pub(crate) fn unbegun_path(session: SessionId) -> String {
    format!("{}/{UNBEGUN}", dir(session))
}

const UNBEGUN: &str = "unbegun";

const REWRITE_SUFFIX: &str = ".rewrite";

/// What a name in a WAL directory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Name {
    /// A segment.
    Segment(u64),
    /// A rewritten segment of a recovery that did not get to its end.
    Rewrite(u64),
    /// The mark that no segment may be begun.
    Unbegun,
    /// Nothing that a WAL writes.
    Unknown,
}

/// Reads a name in a WAL directory.
pub(crate) fn parse_name(name: &str) -> Name {
    if name == UNBEGUN {
        return Name::Unbegun;
    }
    let (digits, kind): (&str, fn(u64) -> Name) = match name.strip_suffix(REWRITE_SUFFIX) {
        Some(digits) => (digits, Name::Rewrite),
        None => (name, Name::Segment),
    };
    if digits.len() != 20 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Name::Unknown;
    }
    digits.parse().map_or(Name::Unknown, kind)
}

/// Bytes that an entry takes in a segment.
pub(crate) fn entry_bytes(sections: &[StreamSection]) -> u64 {
    wal::entry_len(sections)
}

/// Bytes that an entry adds to the index of its segment at most.
pub(crate) fn index_bytes(sections: &[StreamSection]) -> u64 {
    let of_one = |section: &StreamSection| match &section.section {
        Section::Records(block) => {
            INDEX_STREAM_MAX_BYTES + INDEX_EXTENT_MAX_BYTES + Summary::max_bytes(block)
        }
        _ => 0,
    };
    sections.iter().map(of_one).sum()
}
