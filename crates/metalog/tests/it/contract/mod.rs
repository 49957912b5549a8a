//! What every backend of the metadata log keeps (P20 to P23): owns the list of cases, guarantees that each runs
//! against each backend, never tests what only one of them has.

mod append;
mod reading;
mod snapshot;
mod truncation;

use std::sync::Arc;

use bytes::Bytes;
use kelda_metalog::{FIRST_INDEX, LogStore};

use crate::backends::{Memory, Sqlite};

macro_rules! contract {
    ($($group:ident: $($case:ident),+;)+) => {
        mod memory {
            $($(#[tokio::test] async fn $case() { super::$group::$case(&super::Memory::new()).await; })+)+
        }
        mod sqlite {
            $($(#[tokio::test] async fn $case() { super::$group::$case(&super::Sqlite::new()).await; })+)+
        }
    };
}

contract! {
    append: entries_come_back_in_order, an_index_is_taken_once, the_same_bytes_may_be_sent_again,
        a_hole_is_refused, of_two_racing_writers_one_wins_each_index, a_dropped_append_leaves_no_doubt_behind,
        entries_survive_a_new_handle;
    reading: a_limit_is_kept, past_the_end_is_empty, waiting_ends_when_an_entry_comes;
    snapshot: the_newest_is_returned_whole, the_pointer_never_goes_back, racing_snapshots_leave_the_greater_one,
        a_snapshot_past_the_end_is_refused, quarantine_keeps_a_snapshot;
    truncation: the_snapshot_before_can_still_be_continued, a_slow_writer_does_not_fill_the_hole,
        a_slow_writer_above_the_bound_finds_its_index_taken, an_orphan_is_never_an_entry,
        a_lagging_reader_goes_on_from_the_snapshot, appending_goes_on_after_truncation;
}

/// The bytes of entry `index` in these tests.
fn entry(index: u64) -> Bytes {
    Bytes::from(format!("entry {index}"))
}

/// Appends the entries up to `last`.
async fn fill(log: &Arc<dyn LogStore>, from: u64, last: u64) {
    for index in from..=last {
        log.append(index, entry(index)).await.unwrap();
    }
}

/// A log of ten entries with snapshots at 4 and 8, so that the bound is 5.
async fn truncated(log: &Arc<dyn LogStore>) {
    fill(log, FIRST_INDEX, 10).await;
    log.put_snapshot(4, Bytes::from_static(b"state 4")).await.unwrap();
    log.put_snapshot(8, Bytes::from_static(b"state 8")).await.unwrap();
}
