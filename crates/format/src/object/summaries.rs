//! The summaries of a stream's extents in an index: owns their layout behind the extents, guarantees that each is that of its
//! extent and that one index has one encoding, never says what a filter wants.
//!
//! For each stream (varint): 0 nothing is known, 1 no record has a value, 2 a summary for each extent. A summary is a varint, 0
//! when nothing is known, otherwise 1 + (1 if some record has no value) + 2 * hashes; then for each hash, ascending, its
//! difference to the previous one plus one (the first: the hash).

use crate::summary::Summary;
use crate::wire::{DecodeError, Reader, put_varint};

/// What is known of the values in a stream's extents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Summaries {
    /// Nothing.
    #[default]
    Unknown,
    /// No record has a value.
    Plain,
    /// One for each extent, in their order; none where nothing is known.
    Each(Vec<Option<Summary>>),
}

impl Summaries {
    /// Of all extents of a stream, in their order.
    #[must_use]
    pub fn new(list: Vec<Option<Summary>>) -> Summaries {
        if list.iter().all(Option::is_none) {
            Summaries::Unknown
        } else if list.iter().all(|one| one.as_ref().is_some_and(Summary::is_plain)) {
            Summaries::Plain
        } else {
            Summaries::Each(list)
        }
    }

    /// Of one extent; none when nothing is known.
    #[must_use]
    pub fn of(&self, extent: usize) -> Option<Summary> {
        match self {
            Summaries::Unknown => None,
            Summaries::Plain => Some(Summary::plain()),
            Summaries::Each(list) => list.get(extent).cloned().flatten(),
        }
    }

    /// Bytes of memory beside the value itself.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        let Summaries::Each(list) = self else { return 0 };
        let of_one =
            |one: &Option<Summary>| size_of::<Summary>() + one.as_ref().map_or(0, Summary::heap_bytes);
        list.iter().map(of_one).sum()
    }

    pub(super) fn put(&self, out: &mut Vec<u8>) {
        match self {
            Summaries::Unknown => put_varint(out, 0),
            Summaries::Plain => put_varint(out, 1),
            Summaries::Each(list) => {
                put_varint(out, 2);
                list.iter().for_each(|one| Summary::put(one.as_ref(), out));
            }
        }
    }

    pub(super) fn get(reader: &mut Reader<'_>, extents: usize) -> Result<Summaries, DecodeError> {
        match reader.varint_up_to(2)? {
            0 => Ok(Summaries::Unknown),
            1 => Ok(Summaries::Plain),
            _ => {
                let list = (0..extents).map(|_| Summary::get(reader)).collect::<Result<_, _>>()?;
                match Summaries::new(list) {
                    each @ Summaries::Each(_) => Ok(each),
                    _ => Err(reader.error("summaries of extents that say no more than one of the stream")),
                }
            }
        }
    }
}
