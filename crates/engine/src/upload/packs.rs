//! One range of slots becomes committed objects: owns the packing, the ids, the uploads and the commit, for the uploader and
//! for recovery alike. Guarantees that objects are uploaded under reserved ids only, that the producer table of a commit is
//! as of its end (P15), and that an object whose outcome is unknown is sent again and never deleted (P13). Never deletes a
//! slot.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use futures::future::try_join_all;
use kelda_env::StoreError;
use kelda_format::command::NewObject;
use kelda_format::keys::data_key;
use kelda_format::rows::ObjectKind;
use kelda_format::{Codec, ObjectId, StreamId};
use parking_lot::Mutex;

use super::commit::{Committer, Slots, Tried, Unpublished};
use super::lease::Lease;
use crate::pack::{self, Packed};
use crate::retry::Backoff;
use crate::wal::store::range::Contents;

/// A stream with this part of a segment in a range gets an object of its own.
const OWN_PART: u64 = 4;

/// Publishes the ranges of one WAL.
pub(crate) struct Packer {
    committer: Committer,
    lease: Mutex<Lease>,
}

/// The objects of a range, uploaded and not committed.
#[derive(Debug, Default)]
pub(crate) struct Uploaded {
    objects: Vec<NewObject>,
    /// Where the records of each stream are, and how many bytes they take there.
    placed: BTreeMap<StreamId, (ObjectId, u64)>,
}

impl Packer {
    pub(crate) fn new(committer: Committer) -> Packer {
        Packer { committer, lease: Mutex::default() }
    }

    /// Uploads and commits a range. Tries until it succeeds, is refused for good or told to stop.
    pub(crate) async fn publish(&self, slots: Slots, contents: &Arc<Contents>) -> Result<(), Unpublished> {
        let uploaded = self.upload(contents).await?;
        self.commit(slots, contents, uploaded).await
    }

    /// Uploads the records of a range, as far as their streams are there.
    pub(crate) async fn upload(&self, contents: &Arc<Contents>) -> Result<Uploaded, Unpublished> {
        let packs = self.pack(contents).await?;
        let ids = self.take_ids(packs.len()).await?;
        let puts = ids.iter().zip(&packs).map(|(id, packed)| self.put(*id, packed.body.clone()));
        try_join_all(puts).await?;
        let mut uploaded = Uploaded::default();
        for (id, packed) in ids.into_iter().zip(packs) {
            let bytes = packed.body.len() as u64;
            uploaded.objects.push(NewObject { id, kind: ObjectKind::Packed, bytes });
            uploaded.placed.extend(packed.streams.into_iter().map(|(stream, bytes)| (stream, (id, bytes))));
        }
        Ok(uploaded)
    }

    /// Commits a range whose objects are uploaded; uploads them anew when their reservations are gone (P13).
    pub(crate) async fn commit(
        &self,
        slots: Slots,
        contents: &Arc<Contents>,
        mut uploaded: Uploaded,
    ) -> Result<(), Unpublished> {
        loop {
            let placed = &uploaded.placed;
            let parts = |view: &_| contents.summary.parts_in(view, |id, _| placed.get(&id).copied());
            match self.committer.commit(slots, &uploaded.objects, parts).await? {
                Tried::Committed => return Ok(()),
                Tried::NewId => {}
            }
            self.lease.lock().clear();
            uploaded = self.upload(contents).await?;
        }
    }

    /// Makes the objects, where it holds up nobody.
    async fn pack(&self, contents: &Arc<Contents>) -> Result<Vec<Packed>, Unpublished> {
        let shared = &self.committer.shared;
        let view = shared.meta.view();
        let own_bytes = shared.config.segment_bytes / OWN_PART;
        // What is said of streams that are gone needs no object.
        let streams = contents
            .summary
            .streams()
            .filter(|(id, summary)| summary.base.is_some() && view.stream(*id).is_some());
        let objects = pack::share(streams.map(|(id, summary)| (id, summary.bytes)), own_bytes);
        if objects.is_empty() {
            return Ok(Vec::new());
        }
        let (cluster, contents) = (shared.identity.cluster, Arc::clone(contents));
        let packed = shared.env.blocking("kelda-pack", move || {
            let of = |id: StreamId| (id, contents.blocks.get(&id).map_or(&[][..], Vec::as_slice));
            objects
                .into_iter()
                .map(|streams| pack::pack(cluster, Codec::None, streams.into_iter().map(of)))
                .collect()
        });
        packed.await.map_err(|end| Unpublished::Store(format!("objects could not be packed: {end}")))
    }

    async fn take_ids(&self, count: usize) -> Result<Vec<ObjectId>, Unpublished> {
        loop {
            let clock = &self.committer.shared.env.clock;
            let taken = self.lease.lock().take(count, clock.monotonic());
            match taken {
                Ok(ids) => return Ok(ids),
                Err(missing) => {
                    // Before the proposal: the reservation is not older than that.
                    let now = clock.monotonic();
                    let first = self.committer.reserve(missing).await?;
                    self.lease.lock().add(first, missing, now);
                }
            }
        }
    }

    /// Creates an object under a reserved id. The id is this session's alone and its bytes never change, so after any
    /// outcome that is not known the same bytes are sent again.
    async fn put(&self, id: ObjectId, body: Bytes) -> Result<(), Unpublished> {
        let shared = &self.committer.shared;
        let key = data_key(shared.identity.cluster, id);
        let mut backoff = Backoff::new(&shared.config);
        loop {
            match shared.store.put(&key, body.clone()).await {
                Ok(()) => return Ok(()),
                Err(error @ (StoreError::SyncFailed { .. } | StoreError::BadKey { .. })) => {
                    return Err(Unpublished::Store(error.to_string()));
                }
                Err(error) => tracing::warn!(%error, "the store did not take an object, trying again"),
            }
            self.committer.pause(backoff.jittered(&*shared.env.random)).await?;
        }
    }
}
