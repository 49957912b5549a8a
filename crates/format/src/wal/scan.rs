//! Searching a WAL segment behind a bad entry: owns the resynchronisation that P11 asks for, guarantees that
//! nothing a client wrote is taken for an entry, never reads the entries it finds.

use super::{ENTRY_MAGIC, EntryContext, EntryHeader};

/// The first entry behind byte `at` that proves that what is bad at `at` was durable once, and is therefore
/// corruption and no torn tail (P11): one whose group began behind `at`. Where it is, and its header.
///
/// Only its fixed header is verified. That is enough: a group is written only after all earlier ones were
/// synced.
#[must_use]
pub fn find_valid_after(bytes: &[u8], at: usize, context: &EntryContext) -> Option<(usize, EntryHeader)> {
    headers_after(bytes, at, context).find(|(found, header)| header.group_start(*found) > at)
}

/// Every position behind byte `at` where a valid fixed header of an entry stands.
pub fn headers_after<'a>(
    bytes: &'a [u8],
    at: usize,
    context: &'a EntryContext,
) -> impl Iterator<Item = (usize, EntryHeader)> + 'a {
    let first = (at / 8 + 1).saturating_mul(8);
    (first..bytes.len()).step_by(8).filter_map(move |at| {
        let candidate = &bytes[at..];
        if !candidate.starts_with(&ENTRY_MAGIC) {
            return None;
        }
        Some((at, EntryHeader::decode(candidate, context).ok()?))
    })
}
