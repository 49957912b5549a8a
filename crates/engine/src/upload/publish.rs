//! One finished segment file becomes a committed object: owns the three steps (reserve an id, adopt the file, propose
//! the commit) and their retries, for the uploader and for recovery alike. Guarantees that a crash between any two
//! leaves either the WAL segment or the commit, and that an object whose outcome is unknown is not deleted (P13). Never
//! removes a file.

use kelda_env::StoreError;
use kelda_format::ObjectId;
use kelda_format::command::NewObject;
use kelda_format::keys::data_key;
use kelda_format::rows::ObjectKind;

use super::commit::{Committer, Slots, Tried, Unpublished};
use super::plan::SegmentSummary;
use crate::retry::Backoff;

/// Publishes the segments of one WAL.
pub(crate) struct Publisher {
    pub(crate) committer: Committer,
}

/// A finished segment file: entries, index, footer, synced.
pub(crate) struct Finished<'a> {
    pub(crate) number: u64,
    pub(crate) path: &'a str,
    pub(crate) bytes: u64,
    pub(crate) summary: &'a SegmentSummary,
}

impl Publisher {
    /// Publishes a segment. Tries until it succeeds, is refused for good or told to stop.
    pub(crate) async fn publish(&self, finished: &Finished<'_>) -> Result<(), Unpublished> {
        loop {
            // What is said of streams that are gone needs no object.
            let streams_left = {
                let view = self.committer.shared.meta.view();
                finished.summary.streams().any(|(id, _)| view.stream(id).is_some())
            };
            let object = match streams_left {
                true => Some(self.adopt(finished).await?),
                false => None,
            };
            match self.commit(finished, object).await? {
                Tried::Committed => return Ok(()),
                Tried::NewId => {}
            }
        }
    }

    async fn adopt(&self, finished: &Finished<'_>) -> Result<ObjectId, Unpublished> {
        let shared = &self.committer.shared;
        let mut backoff = Backoff::new(&shared.config);
        let mut object = self.committer.reserve(1).await?;
        loop {
            let key = data_key(shared.identity.cluster, object);
            match shared.store.adopt(&*shared.env.disk, finished.path, &key).await {
                Ok(_) => return Ok(object),
                // P8, P13: whose bytes they are is not known, and ids are free.
                Err(StoreError::AlreadyExists { .. }) => object = self.committer.reserve(1).await?,
                Err(error @ (StoreError::SyncFailed { .. } | StoreError::BadKey { .. })) => {
                    return Err(Unpublished::Store(error.to_string()));
                }
                Err(error) => tracing::warn!(%error, "the store did not take a segment, trying again"),
            }
            self.committer.pause(backoff.jittered(&*shared.env.random)).await?;
        }
    }

    async fn commit(&self, finished: &Finished<'_>, object: Option<ObjectId>) -> Result<Tried, Unpublished> {
        let objects: Vec<NewObject> = object
            .map(|id| NewObject { id, kind: ObjectKind::Segment, bytes: finished.bytes })
            .into_iter()
            .collect();
        let slots = Slots { first: finished.number, next: finished.number + 1 };
        let parts = |view: &_| object.map(|id| finished.summary.parts(view, id)).unwrap_or_default();
        self.committer.commit(slots, &objects, parts).await
    }
}
