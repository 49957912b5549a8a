//! Reading and waiting.

use std::time::Duration;

use super::{entry, fill};
use crate::backends::Backend;

pub async fn a_limit_is_kept(backend: &dyn Backend) {
    let log = backend.handle().await;
    fill(&log, 1, 9).await;
    assert_eq!(log.read(4, 2).await.unwrap(), [(4, entry(4)), (5, entry(5))]);
    assert_eq!(log.read(9, 2).await.unwrap(), [(9, entry(9))]);
}

pub async fn past_the_end_is_empty(backend: &dyn Backend) {
    let log = backend.handle().await;
    assert_eq!(log.read(1, 10).await.unwrap(), []);
    assert_eq!(log.latest_snapshot().await.unwrap(), None);
    fill(&log, 1, 2).await;
    assert_eq!(log.read(3, 10).await.unwrap(), []);
}

pub async fn waiting_ends_when_an_entry_comes(backend: &dyn Backend) {
    let log = backend.handle().await;
    fill(&log, 1, 2).await;
    let (writer, reader) = (backend.handle().await, backend.handle().await);
    let read = async {
        while reader.read(3, 1).await.unwrap().is_empty() {
            reader.wait(2).await;
        }
    };
    let write = async { writer.append(3, entry(3)).await.unwrap() };
    let both = async { tokio::join!(read, write) };
    tokio::time::timeout(Duration::from_secs(30), both).await.unwrap();
    // What is there already is not waited for, on the handle that wrote it.
    tokio::time::timeout(Duration::from_secs(30), writer.wait(2)).await.unwrap();
}
