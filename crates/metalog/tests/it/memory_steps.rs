//! The steps of P20 one by one, on the backend that can be stopped between them.

use bytes::Bytes;
use futures::FutureExt;
use kelda_metalog::memory::Step;
use kelda_metalog::{AppendError, LogError, LogStore, MemoryLog};

fn entry(index: u64) -> Bytes {
    Bytes::from(format!("entry {index}"))
}

async fn fill(log: &MemoryLog, from: u64, last: u64) {
    for index in from..=last {
        log.append(index, entry(index)).await.unwrap();
    }
}

#[tokio::test]
async fn a_writer_stopped_between_create_and_check_learns_that_it_was_passed() {
    let log = MemoryLog::new();
    let slow = log.handle();
    fill(&log, 1, 1).await;
    let hold = slow.hold(Step::Created);
    let mut append = Box::pin(slow.append(2, Bytes::from_static(b"slow")));
    assert!(append.as_mut().now_or_never().is_none());
    // Its entry is there, others read it and go on, and truncate the log past it.
    assert_eq!(log.read(2, 1).await.unwrap(), [(2, Bytes::from_static(b"slow"))]);
    fill(&log, 3, 9).await;
    for index in [4, 8] {
        log.put_snapshot(index, entry(index)).await.unwrap();
    }
    drop(hold);
    assert_eq!(append.await, Err(AppendError::Truncated { index: 2, bound: 5 }));
}

#[tokio::test]
async fn a_writer_stopped_before_create_leaves_an_orphan_that_nobody_takes() {
    let log = MemoryLog::new();
    let slow = log.handle();
    fill(&log, 1, 1).await;
    let hold = slow.hold(Step::Append);
    let mut append = Box::pin(slow.append(2, Bytes::from_static(b"slow")));
    assert!(append.as_mut().now_or_never().is_none());
    fill(&log, 2, 9).await;
    for index in [4, 8] {
        log.put_snapshot(index, entry(index)).await.unwrap();
    }
    drop(hold);
    assert_eq!(append.await, Err(AppendError::Truncated { index: 2, bound: 5 }));
    assert_eq!(log.bounds().lowest, Some(2), "the orphan is there");
    assert_eq!(log.read(2, 9).await, Err(LogError::Truncated { index: 2, bound: 5 }));
}

#[tokio::test]
async fn a_writer_killed_between_create_and_check_has_written() {
    let log = MemoryLog::new();
    let killed = log.handle();
    let _hold = killed.hold(Step::Created);
    assert!(killed.append(1, Bytes::from_static(b"killed")).now_or_never().is_none());
    assert_eq!(log.append(1, entry(1)).await, Err(AppendError::Taken { index: 1 }));
    assert_eq!(log.read(1, 9).await.unwrap(), [(1, Bytes::from_static(b"killed"))]);
}

#[tokio::test]
async fn a_reader_stopped_between_fetch_and_check_discards_what_it_fetched() {
    let log = MemoryLog::new();
    let slow = log.handle();
    fill(&log, 1, 9).await;
    let hold = slow.hold(Step::Fetched);
    let mut read = Box::pin(slow.read(2, 3));
    assert!(read.as_mut().now_or_never().is_none());
    for index in [4, 8] {
        log.put_snapshot(index, entry(index)).await.unwrap();
    }
    drop(hold);
    assert_eq!(read.await, Err(LogError::Truncated { index: 2, bound: 5 }));
}

#[tokio::test]
async fn the_bound_is_published_before_anything_is_deleted() {
    let log = MemoryLog::new();
    let truncating = log.handle();
    fill(&log, 1, 9).await;
    log.put_snapshot(4, entry(4)).await.unwrap();
    let hold = truncating.hold(Step::PointerMoved);
    let mut put = Box::pin(truncating.put_snapshot(8, entry(8)));
    assert!(put.as_mut().now_or_never().is_none());
    let bounds = log.bounds();
    assert_eq!((bounds.bound, bounds.snapshot, bounds.lowest), (5, 8, Some(1)));
    assert!(log.read(1, 9).await.is_err());
    drop(hold);
    put.await.unwrap();
    assert_eq!(log.bounds().lowest, Some(5));
}
