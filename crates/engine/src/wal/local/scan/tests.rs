//! Tests of the judgement where a WAL ends, after the model `local_wal`: groups written one after the other, of the
//! last one any part on the disk, or one flipped bit anywhere.

#![allow(clippy::unwrap_used)]

use bytes::Bytes;
use kelda_format::object::{IndexBuilder, ObjectSource};
use kelda_format::wal::{
    EntryContext, Grouping, SEGMENT_HEADER_BYTES, Section, SegmentHeader, StreamSection, encode_entry,
};
use kelda_format::{
    Batch, Block, ClusterId, Epoch, NodeId, Offset, SessionEpoch, SessionId, StreamId, Timestamp,
};

use super::{Expected, Scanned, Unreadable, scan};

const CLUSTER: ClusterId = ClusterId([3; 16]);
const SESSION: SessionId = SessionId { node: NodeId(1), epoch: SessionEpoch(2) };
const CONTEXT: EntryContext = EntryContext { cluster: CLUSTER, session: SESSION, salt: 77 };

/// A segment image and where its entries lie.
struct Image {
    bytes: Vec<u8>,
    /// Group and byte range of each entry.
    entries: Vec<(u64, std::ops::Range<usize>)>,
    index: IndexBuilder,
}

impl Image {
    /// Groups of so many entries each; 0 stands for a synced mark.
    fn new(groups: &[usize]) -> Image {
        let header = SegmentHeader { context: CONTEXT, number: 0, first_group: 1 };
        let mut image =
            Image { bytes: header.encode().to_vec(), entries: Vec::new(), index: IndexBuilder::new() };
        let mut offset = 0;
        for (group, count) in (1..).zip(groups) {
            let start = image.bytes.len();
            for _ in 0..(*count).max(1) {
                let at = image.bytes.len();
                let place = Grouping { group, synced_group: group - 1, in_group: (at - start) as u64 };
                let sections = if *count == 0 { Vec::new() } else { vec![records(offset)] };
                let parts = encode_entry(&CONTEXT, place, &sections);
                for buf in &parts.bufs {
                    image.bytes.extend_from_slice(buf);
                }
                if let Some(StreamSection { section: Section::Records(block), .. }) = sections.first() {
                    image.index.add(block, at as u64, parts.len);
                    offset += 1;
                }
                image.entries.push((group, at..image.bytes.len()));
            }
        }
        image
    }

    /// As preallocated: zeros behind the entries.
    fn preallocated(mut self) -> Image {
        self.bytes.resize(self.bytes.len() + 4096, 0);
        self
    }

    /// As a finished object.
    fn finished(mut self) -> Image {
        let index = self.index.clone().finish(ObjectSource::Segment(CONTEXT));
        let trailer = index.encode_trailer(self.bytes.len() as u64);
        self.bytes.extend_from_slice(&trailer);
        self
    }

    fn scan(&self, next_first_group: Option<u64>) -> Result<Scanned, Unreadable> {
        let expected =
            Expected { cluster: CLUSTER, session: SESSION, number: 0, group_before: 0, next_first_group };
        scan(&Bytes::from(self.bytes.clone()), &expected)
    }
}

fn records(offset: u64) -> StreamSection {
    let batch = Batch::single(Bytes::from(format!("record {offset}"))).unwrap();
    let block = Block::place(&batch, StreamId(1), Offset(offset), Timestamp(5));
    StreamSection { stream: StreamId(1), epoch: Epoch(0), section: Section::Records(block) }
}

#[test]
fn an_intact_segment_is_read_to_its_end() {
    let scanned = Image::new(&[2, 3, 0, 1]).preallocated().scan(None).unwrap();
    assert_eq!((scanned.entries.len(), scanned.last_group, scanned.torn_bytes), (7, 4, 0));
    let finished = Image::new(&[2, 3]).finished().scan(Some(3)).unwrap();
    assert_eq!((finished.entries.len(), finished.last_group), (5, 2));
}

#[test]
fn any_part_of_the_last_group_is_a_torn_tail() {
    for lost in 0..8u8 {
        let mut image = Image::new(&[2, 2, 3]).preallocated();
        let last: Vec<_> = image.entries.iter().filter(|(group, _)| *group == 3).cloned().collect();
        for (bit, (_, range)) in last.iter().enumerate() {
            if lost & (1 << bit) != 0 {
                image.bytes[range.clone()].fill(0);
            }
        }
        let scanned = image.scan(None).unwrap();
        let kept = lost.trailing_zeros().min(3) as usize;
        assert_eq!(scanned.entries.len(), 4 + kept, "lost {lost:#05b}");
    }
}

#[test]
fn a_torn_entry_of_the_last_group_is_cut_wherever_it_is_torn() {
    let whole = Image::new(&[2, 2]).preallocated();
    let (_, range) = whole.entries[2].clone();
    for cut in range.clone() {
        let mut image = Image::new(&[2, 2]).preallocated();
        image.bytes[cut..range.end].fill(0);
        let scanned = image.scan(None).unwrap();
        // The padding at the end of an entry is zeros already.
        assert!(scanned.entries.len() == 2 || scanned.entries.len() == 4, "cut at {cut}");
    }
}

#[test]
fn a_flipped_bit_in_an_earlier_group_is_corruption() {
    let whole = Image::new(&[1, 3, 2]).preallocated();
    for (group, range) in whole.entries.iter().filter(|(group, _)| *group < 3) {
        for at in range.clone() {
            for bit in [0, 5] {
                let mut image = Image::new(&[1, 3, 2]).preallocated();
                image.bytes[at] ^= 1 << bit;
                let result = image.scan(None);
                assert!(
                    matches!(&result, Err(Unreadable::Corrupt { position, .. }) if *position == range.start as u64),
                    "byte {at} of group {group}: {result:?}"
                );
            }
        }
    }
}

#[test]
fn a_flipped_bit_in_the_last_group_is_corruption_once_it_is_marked_or_finished_or_followed() {
    let marked = Image::new(&[1, 2, 0]).preallocated();
    let finished = Image::new(&[1, 2]).finished();
    let bare = Image::new(&[1, 2]).preallocated();
    for (which, image, next) in
        [("marked", marked, None), ("finished", finished, None), ("followed", bare, Some(3))]
    {
        for (_, range) in image.entries.iter().filter(|(group, _)| *group == 2) {
            // The body, so that the header stays readable: what follows needs that when nothing stands behind it.
            let at = range.end - 12;
            let mut damaged =
                Image { bytes: image.bytes.clone(), entries: Vec::new(), index: IndexBuilder::new() };
            damaged.bytes[at] ^= 1;
            assert!(matches!(damaged.scan(next), Err(Unreadable::Corrupt { .. })), "{which}, byte {at}");
        }
    }
}

#[test]
fn a_group_missing_before_the_next_segment_is_corruption() {
    let mut image = Image::new(&[1, 1, 1]).preallocated();
    let (_, range) = image.entries[2].clone();
    image.bytes[range].fill(0);
    assert!(image.scan(None).is_ok(), "without a next segment it may be torn");
    assert!(matches!(image.scan(Some(4)), Err(Unreadable::Corrupt { .. })));
}

#[test]
fn part_of_an_index_behind_the_entries_is_no_damage() {
    let entries = Image::new(&[1, 2]);
    let end = entries.bytes.len();
    let mut image = entries.finished();
    let len = image.bytes.len();
    image.bytes[len - 40..].fill(0);
    image.bytes.resize(end + 4096, 0);
    let scanned = image.scan(Some(3)).unwrap();
    assert_eq!((scanned.end, scanned.entries.len()), (end as u64, 3));
    assert!(scanned.torn_bytes > 0);
}

#[test]
fn a_damaged_header_is_corruption_only_with_something_behind_it() {
    let mut image = Image::new(&[1]).preallocated();
    image.bytes[20] ^= 1;
    assert!(matches!(image.scan(None), Err(Unreadable::Corrupt { position: 0, .. })));
    image.bytes[SEGMENT_HEADER_BYTES..].fill(0);
    let scanned = image.scan(None).unwrap();
    assert_eq!((scanned.header, scanned.entries.len()), (None, 0));
    assert!(matches!(image.scan(Some(1)), Err(Unreadable::Corrupt { .. })), "the next one was begun");
}

#[test]
fn a_newer_version_is_told_from_another_cluster() {
    let mut image = Image::new(&[1]).preallocated();
    image.bytes[8] = 9;
    assert!(matches!(image.scan(None), Err(Unreadable::Newer { .. })));
    let other = EntryContext { cluster: ClusterId([4; 16]), ..CONTEXT };
    let header = SegmentHeader { context: other, number: 0, first_group: 1 };
    let mut image = Image::new(&[1]).preallocated();
    image.bytes[..SEGMENT_HEADER_BYTES].copy_from_slice(&header.encode());
    assert!(matches!(image.scan(None), Err(Unreadable::Foreign { .. })));
}
