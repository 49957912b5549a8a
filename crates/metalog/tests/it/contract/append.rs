//! Appending: one entry per index, no holes, honest answers.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use futures::FutureExt;
use futures::future::join_all;
use kelda_metalog::{AppendError, FIRST_INDEX, LogStore};

use super::{entry, fill};
use crate::backends::Backend;

pub async fn entries_come_back_in_order(backend: &dyn Backend) {
    let log = backend.handle().await;
    fill(&log, FIRST_INDEX, 20).await;
    let expected: Vec<_> = (FIRST_INDEX..=20).map(|index| (index, entry(index))).collect();
    assert_eq!(log.read(FIRST_INDEX, 100).await.unwrap(), expected);
}

pub async fn an_index_is_taken_once(backend: &dyn Backend) {
    let log = backend.handle().await;
    fill(&log, 1, 3).await;
    let other = Bytes::from_static(b"other");
    assert_eq!(log.append(2, other).await, Err(AppendError::Taken { index: 2 }));
    assert_eq!(log.read(2, 1).await.unwrap(), [(2, entry(2))]);
}

pub async fn the_same_bytes_may_be_sent_again(backend: &dyn Backend) {
    let log = backend.handle().await;
    fill(&log, 1, 3).await;
    assert_eq!(backend.handle().await.append(3, entry(3)).await, Ok(()));
    assert_eq!(log.read(1, 10).await.unwrap().len(), 3);
}

pub async fn a_hole_is_refused(backend: &dyn Backend) {
    let log = backend.handle().await;
    assert_eq!(log.append(2, entry(2)).await, Err(AppendError::Hole { index: 2, next: 1 }));
    assert!(log.append(0, entry(0)).await.is_err());
    fill(&log, 1, 3).await;
    assert_eq!(log.append(5, entry(5)).await, Err(AppendError::Hole { index: 5, next: 4 }));
    assert_eq!(log.read(1, 10).await.unwrap().len(), 3);
}

pub async fn of_two_racing_writers_one_wins_each_index(backend: &dyn Backend) {
    const EACH: usize = 50;
    // The directory lock keeps two nodes from opening one database at a time; the race is between appends.
    let logs = [backend.handle().await, backend.handle().await, backend.handle().await];
    let writers = ["a", "b", "c"].into_iter().zip(logs).map(|(writer, log)| async move {
        let mut next = FIRST_INDEX;
        for number in 0..EACH {
            let bytes = Bytes::from(format!("{writer}{number}"));
            loop {
                match log.append(next, bytes.clone()).await {
                    Ok(()) => break,
                    Err(AppendError::Taken { .. }) => next += 1,
                    Err(other) => panic!("{other}"),
                }
            }
            next += 1;
        }
    });
    join_all(writers).await;
    let log = backend.handle().await;
    let entries = log.read(FIRST_INDEX, 1000).await.unwrap();
    assert_eq!(entries.len(), 3 * EACH);
    let distinct: BTreeSet<_> = entries.iter().map(|(_, bytes)| bytes.clone()).collect();
    assert_eq!(distinct.len(), 3 * EACH, "an entry is in the log twice");
}

pub async fn a_dropped_append_leaves_no_doubt_behind(backend: &dyn Backend) {
    let log: Arc<dyn LogStore> = backend.handle().await;
    for index in FIRST_INDEX..=20 {
        // A writer that is killed in the middle of its append.
        let _ = log.append(index, Bytes::from_static(b"killed")).now_or_never();
        let mine = entry(index);
        match backend.handle().await.append(index, mine.clone()).await {
            Ok(()) => assert_eq!(log.read(index, 1).await.unwrap(), [(index, mine)]),
            Err(AppendError::Taken { .. }) => {
                assert_eq!(log.read(index, 1).await.unwrap(), [(index, Bytes::from_static(b"killed"))]);
            }
            Err(other) => panic!("{other}"),
        }
    }
    assert_eq!(log.read(FIRST_INDEX, 100).await.unwrap().len(), 20);
}

pub async fn entries_survive_a_new_handle(backend: &dyn Backend) {
    let log = backend.handle().await;
    fill(&log, 1, 5).await;
    log.put_snapshot(3, Bytes::from_static(b"state 3")).await.unwrap();
    drop(log);
    let log = backend.handle().await;
    assert_eq!(log.read(1, 10).await.unwrap().len(), 5);
    assert_eq!(log.latest_snapshot().await.unwrap(), Some((3, Bytes::from_static(b"state 3"))));
}
