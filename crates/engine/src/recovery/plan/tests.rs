//! Tests of what is replayed and what is dropped (P10).

#![allow(clippy::unwrap_used)]

use bytes::Bytes;
use kelda_format::wal::{EntryContext, Grouping, Section, StreamSection, decode_entry, encode_entry};
use kelda_format::{Batch, Block, Epoch, NodeId, Offset, SessionEpoch, SessionId, StreamId, Timestamp};
use kelda_meta::State;

use super::{Ends, Missing, Replay, replay_after};
use crate::held::{CLUSTER, state};
use crate::wal::local::scan::Placed;

fn records(stream: StreamId, epoch: u64, base: u64) -> StreamSection {
    let batch = Batch::single(Bytes::from("x")).unwrap();
    let block = Block::place(&batch, stream, Offset(base), Timestamp(5));
    StreamSection { stream, epoch: Epoch(epoch), section: Section::Records(block) }
}

fn replay(state: &State, session: SessionId, entries: &[Placed]) -> Result<Replay, Missing> {
    replay_after(state, &mut Ends::new(), session, entries)
}

/// An entry as recovery reads it.
fn placed(session: SessionId, position: u64, sections: &[StreamSection]) -> Placed {
    let context = EntryContext { cluster: CLUSTER, session, salt: 1 };
    let grouping = Grouping { group: 1, synced_group: 0, in_group: 0 };
    let parts = encode_entry(&context, grouping, sections);
    let bytes: Vec<u8> = parts.bufs.iter().flat_map(|buf| buf.to_vec()).collect();
    let (entry, _) = decode_entry(&Bytes::from(bytes), 0, &context).unwrap();
    Placed { position, len: parts.len, entry }
}

#[test]
fn what_follows_the_committed_end_is_kept() {
    let (state, session, stream) = state();
    let entries =
        [placed(session, 80, &[records(stream, 0, 0)]), placed(session, 400, &[records(stream, 0, 1)])];
    let found = replay(&state, session, &entries).unwrap();
    let (id, summary) = found.summary.streams().next().unwrap();
    assert_eq!((id, summary.base, summary.end), (stream, Some(Offset(0)), Some(Offset(2))));
    assert_eq!(found.dropped_entries, 0);
}

#[test]
fn a_stream_that_is_gone_another_epoch_or_holder_and_what_is_committed_are_dropped() {
    let (state, session, stream) = state();
    let other = SessionId { node: NodeId(1), epoch: SessionEpoch(9) };
    let dropped = |session, section| {
        let found = replay(&state, session, &[placed(session, 80, &[section])]).unwrap();
        found.dropped_entries == 1 && found.summary.streams().next().is_none()
    };
    assert!(dropped(session, records(StreamId(99), 0, 0)));
    assert!(dropped(session, records(stream, 1, 0)));
    assert!(dropped(other, records(stream, 0, 0)));
    let entries =
        [placed(session, 80, &[records(stream, 0, 0)]), placed(session, 400, &[records(stream, 0, 0)])];
    assert_eq!(replay(&state, session, &entries).unwrap().dropped_entries, 1, "below what is there already");
}

#[test]
fn a_gap_stops_the_recovery_with_a_report() {
    let (state, session, stream) = state();
    let entries = [placed(session, 80, &[records(stream, 0, 3)])];
    assert_eq!(
        replay(&state, session, &entries).unwrap_err(),
        Missing { position: 80, stream, expected: Offset(0), found: Offset(3) }
    );
}
