//! Ending a log: owns the seal (P6). Guarantees that it is created in a slot that was empty, by create-if-absent, and that
//! what lies there afterwards is looked at and not guessed (P8). Never replaces anything.

use bytes::Bytes;
use kelda_env::StoreError;
use kelda_format::SessionId;
use kelda_format::keys::wal_key;
use kelda_format::wal::Seal;

use super::fetch::{Found, read};
use crate::error::StartError;
use crate::retry::Backoff;
use crate::session::Shared;

/// Seals the log of `session` at `slot`, in which nothing was found. Whether a seal lies there now, this one or another;
/// otherwise the slot was filled meanwhile.
pub(super) async fn seal(
    shared: &Shared,
    session: SessionId,
    by: SessionId,
    slot: u64,
) -> Result<bool, StartError> {
    let cluster = shared.identity.cluster;
    let key = wal_key(cluster, session, slot);
    let seal = Seal { cluster, session, slot, by, nonce: shared.env.random.next_u64() };
    let bytes = Bytes::copy_from_slice(&seal.encode());
    let mut backoff = Backoff::new(&shared.config);
    loop {
        match shared.store.put_if_absent(&key, bytes.clone()).await {
            Ok(()) => return Ok(true),
            Err(error @ (StoreError::BadKey { .. } | StoreError::SyncFailed { .. })) => {
                return Err(StartError::Storage(error.to_string()));
            }
            Err(error) => tracing::info!(%error, "a log could not be sealed at once, looking again"),
        }
        // P8: "exists already" and an unknown outcome are hints.
        match read(shared, session, slot).await? {
            Found::Seal(_) => return Ok(true),
            Found::Slot(_) => return Ok(false),
            Found::Nothing => {}
        }
        shared.env.clock.sleep(backoff.jittered(&*shared.env.random)).await;
    }
}
