//! Snapshots: whole, never back, kept when they cannot be read.

use bytes::Bytes;
use kelda_metalog::{LogError, SnapshotPut};

use super::{entry, fill, truncated};
use crate::backends::Backend;

pub async fn the_newest_is_returned_whole(backend: &dyn Backend) {
    let log = backend.handle().await;
    fill(&log, 1, 9).await;
    for (index, bytes) in [(2_u64, 0_usize), (4, 1), (6, 4 << 20), (8, (9 << 20) + 17)] {
        let state: Bytes = (0..bytes).map(|at| u8::try_from(at % 251).unwrap()).collect();
        assert_eq!(log.put_snapshot(index, state.clone()).await, Ok(SnapshotPut::Newest));
        let (at, read) = backend.handle().await.latest_snapshot().await.unwrap().unwrap();
        assert_eq!(at, index);
        assert!(read == state, "snapshot of {bytes} bytes came back with {}", read.len());
    }
}

pub async fn the_pointer_never_goes_back(backend: &dyn Backend) {
    let log = backend.handle().await;
    truncated(&log).await;
    for index in [1, 4, 7, 8] {
        let put = log.put_snapshot(index, Bytes::from_static(b"late")).await;
        assert_eq!(put, Ok(SnapshotPut::Superseded { by: 8 }));
    }
    assert_eq!(log.latest_snapshot().await.unwrap(), Some((8, Bytes::from_static(b"state 8"))));
    assert_eq!(log.read(5, 100).await.unwrap().len(), 6, "the bound moved");
    assert!(matches!(log.read(4, 1).await, Err(LogError::Truncated { bound: 5, .. })));
}

pub async fn racing_snapshots_leave_the_greater_one(backend: &dyn Backend) {
    let log = backend.handle().await;
    fill(&log, 1, 30).await;
    let puts = (1..=30_u64).rev().map(|index| {
        let state = entry(index);
        async move { (index, backend.handle().await.put_snapshot(index, state).await) }
    });
    let results = futures::future::join_all(puts).await;
    // A put may fail when another one cleaned up under it, but the greatest one is not harmed by smaller ones
    // for ever: putting it again ends well.
    if !results.iter().any(|(index, put)| *index == 30 && put.is_ok()) {
        log.put_snapshot(30, entry(30)).await.unwrap();
    }
    assert_eq!(log.latest_snapshot().await.unwrap(), Some((30, entry(30))));
    let (first, _) = log.read(30, 1).await.unwrap().pop().unwrap();
    assert_eq!(first, 30);
}

pub async fn a_snapshot_past_the_end_is_refused(backend: &dyn Backend) {
    let log = backend.handle().await;
    fill(&log, 1, 3).await;
    let put = log.put_snapshot(4, Bytes::from_static(b"from nowhere")).await;
    assert!(matches!(put, Err(LogError::Damaged(_))), "{put:?}");
    assert_eq!(log.latest_snapshot().await.unwrap(), None);
}

pub async fn quarantine_keeps_a_snapshot(backend: &dyn Backend) {
    let log = backend.handle().await;
    truncated(&log).await;
    log.quarantine(8, "does not decode").await.unwrap();
    assert!(backend.in_quarantine(8).await);
    assert_eq!(log.latest_snapshot().await.unwrap().unwrap().0, 8, "it stays the newest");
    fill(&log, 11, 20).await;
    for index in [12, 14, 16] {
        log.put_snapshot(index, entry(index)).await.unwrap();
    }
    assert!(backend.in_quarantine(8).await);
}
