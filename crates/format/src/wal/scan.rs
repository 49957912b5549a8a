//! Searching a WAL segment behind a bad entry: owns the resynchronisation that P11 asks for, guarantees that
//! nothing a client wrote is taken for an entry, never reads the entries it finds.

use super::{ENTRY_MAGIC, EntryContext, EntryHeader};

/// The first entry behind byte `at` that belongs to a group later than `group`: where it is, and its header.
///
/// Only its fixed header is verified. That is enough: a later group is written only after `group` was synced,
/// so bytes of one prove that what is bad at `at` was acknowledged.
#[must_use]
pub fn find_valid_after(
    bytes: &[u8],
    at: usize,
    context: &EntryContext,
    group: u64,
) -> Option<(usize, EntryHeader)> {
    let first = (at / 8 + 1) * 8;
    (first..bytes.len()).step_by(8).find_map(|at| {
        let candidate = &bytes[at..];
        if !candidate.starts_with(&ENTRY_MAGIC) {
            return None;
        }
        let header = EntryHeader::decode(candidate, context).ok()?;
        (header.group > group).then_some((at, header))
    })
}
