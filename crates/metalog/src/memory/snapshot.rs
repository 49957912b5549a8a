//! Snapshots on the in-memory log: owns the order of storing, pointing and deleting (P20, P22), guarantees that
//! the pointer moves before anything is deleted, never deletes the snapshot before the newest.

use bytes::Bytes;

use super::faults::{Faults, Step};
use super::shared::Shared;
use crate::store::{LogError, SnapshotPut};

/// How often a snapshot that vanished under the reader is looked up anew.
const MAX_LOOKUPS: usize = 8;

/// Slots deleted between two pauses.
const DELETES_PER_PAUSE: usize = 64;

pub(super) async fn latest(shared: &Shared, faults: &Faults) -> Result<Option<(u64, Bytes)>, LogError> {
    for _ in 0..MAX_LOOKUPS {
        faults.may_fail(Step::Read).await?;
        let Some(name) = shared.newest() else { return Ok(None) };
        faults.pause(Step::Fetched).await;
        if let Some(state) = shared.snapshot(name) {
            return Ok(Some((name.0, state)));
        }
    }
    Err(LogError::Unavailable("the newest snapshot kept changing while it was read".to_owned()))
}

pub(super) async fn put(
    shared: &Shared,
    faults: &Faults,
    index: u64,
    state: Bytes,
) -> Result<SnapshotPut, LogError> {
    faults.may_fail(Step::PutSnapshot).await?;
    let name = shared.store_snapshot(index, state)?;
    faults.pause(Step::SnapshotStored).await;
    let put = shared.move_pointer(name);
    if put == SnapshotPut::Newest {
        faults.pause(Step::PointerMoved).await;
        shared.drop_snapshots();
        delete_below_bound(shared, faults).await;
    }
    Ok(put)
}

async fn delete_below_bound(shared: &Shared, faults: &Faults) {
    loop {
        for _ in 0..DELETES_PER_PAUSE {
            if !shared.delete_oldest() {
                return;
            }
        }
        faults.pause(Step::Deleting).await;
    }
}
