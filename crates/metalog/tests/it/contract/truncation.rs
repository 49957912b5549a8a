//! Truncation opens no hole (P20, P23).

use bytes::Bytes;
use kelda_metalog::{AppendError, LogError};

use super::{entry, fill, truncated};
use crate::backends::Backend;

pub async fn the_snapshot_before_can_still_be_continued(backend: &dyn Backend) {
    let log = backend.handle().await;
    fill(&log, 1, 10).await;
    log.put_snapshot(4, Bytes::from_static(b"state 4")).await.unwrap();
    assert_eq!(log.read(1, 100).await.unwrap().len(), 10, "one snapshot truncates nothing");
    log.put_snapshot(8, Bytes::from_static(b"state 8")).await.unwrap();
    assert_eq!(log.read(5, 100).await.unwrap().len(), 6);
    assert_eq!(log.read(4, 100).await, Err(LogError::Truncated { index: 4, bound: 5 }));
}

pub async fn a_slow_writer_does_not_fill_the_hole(backend: &dyn Backend) {
    let slow = backend.handle().await;
    let log = backend.handle().await;
    truncated(&log).await;
    for index in 1..5 {
        let late = slow.append(index, Bytes::from_static(b"late")).await;
        assert_eq!(late, Err(AppendError::Truncated { index, bound: 5 }));
        // Whether its bytes were left behind or not, nobody takes them for an entry.
        assert_eq!(slow.read(index, 1).await, Err(LogError::Truncated { index, bound: 5 }));
    }
    // Also the very bytes that were there: what became of them is for the state to say (P21).
    let again = slow.append(3, entry(3)).await;
    assert_eq!(again, Err(AppendError::Truncated { index: 3, bound: 5 }));
    assert_eq!(log.read(5, 100).await.unwrap().first(), Some(&(5, entry(5))));
}

pub async fn a_slow_writer_above_the_bound_finds_its_index_taken(backend: &dyn Backend) {
    let slow = backend.handle().await;
    truncated(&backend.handle().await).await;
    for index in 5..=10 {
        let late = slow.append(index, Bytes::from_static(b"late")).await;
        assert_eq!(late, Err(AppendError::Taken { index }));
    }
}

pub async fn an_orphan_is_never_an_entry(backend: &dyn Backend) {
    let log = backend.handle().await;
    truncated(&log).await;
    for index in 1..5 {
        backend.plant(index, b"orphan").await;
        assert_eq!(log.read(index, 100).await, Err(LogError::Truncated { index, bound: 5 }));
        let same = log.append(index, Bytes::from_static(b"orphan")).await;
        assert_eq!(same, Err(AppendError::Truncated { index, bound: 5 }));
    }
    log.put_snapshot(9, entry(9)).await.unwrap();
    fill(&log, 11, 12).await;
    let indices: Vec<_> = log.read(9, 100).await.unwrap().into_iter().map(|(index, _)| index).collect();
    assert_eq!(indices, [9, 10, 11, 12]);
}

pub async fn a_lagging_reader_goes_on_from_the_snapshot(backend: &dyn Backend) {
    let reader = backend.handle().await;
    fill(&backend.handle().await, 1, 1).await;
    assert_eq!(reader.read(1, 100).await.unwrap().len(), 1);
    let log = backend.handle().await;
    fill(&log, 2, 10).await;
    for index in [4, 8] {
        log.put_snapshot(index, entry(index)).await.unwrap();
    }
    assert!(matches!(reader.read(2, 100).await, Err(LogError::Truncated { .. })));
    let (index, state) = reader.latest_snapshot().await.unwrap().unwrap();
    assert_eq!((index, state), (8, entry(8)));
    let rest = reader.read(index + 1, 100).await.unwrap();
    assert_eq!(rest, [(9, entry(9)), (10, entry(10))]);
}

pub async fn appending_goes_on_after_truncation(backend: &dyn Backend) {
    let log = backend.handle().await;
    truncated(&log).await;
    // A snapshot of the very last entry leaves it in the log all the same.
    log.put_snapshot(10, entry(10)).await.unwrap();
    assert_eq!(log.read(11, 10).await.unwrap(), []);
    assert_eq!(log.append(12, entry(12)).await, Err(AppendError::Hole { index: 12, next: 11 }));
    fill(&log, 11, 13).await;
    assert_eq!(log.read(11, 10).await.unwrap().len(), 3);
}
