//! The destroy queue: owns deleting what is in it. Guarantees that an object leaves the queue only after it was seen to be
//! gone, and that a store which says "deleted" and does not delete is named and asked again, ever less often. Never deletes
//! what is not in the queue.

use std::time::Duration;

use futures::stream::{self, StreamExt};
use kelda_format::ObjectId;
use kelda_format::command::CleanObjects;
use kelda_format::keys::data_key;

use super::{Stubborn, plan};
use crate::engine::Inner;
use crate::propose::propose;

/// Objects of one request, and of one command afterwards.
const OBJECTS_AT_A_TIME: usize = 512;

/// Looks at the store in flight.
const LOOKS_AT_ONCE: usize = 16;

/// Longest pause before an object that did not go is deleted again.
const LONGEST_PAUSE: Duration = Duration::from_secs(60 * 60);

/// An object of the queue and its key.
type Queued = (ObjectId, String);

impl Inner {
    /// Collects garbage, unless the clock is not right; `asked` when somebody waits for a whole round.
    pub(crate) async fn collect_garbage(&self, asked: bool) {
        if self.shared.upkeep.clock.fault().is_some() {
            return;
        }
        self.expire_reservations().await;
        self.destroy_queued().await;
        self.sweep_if_due(asked).await;
    }

    /// Deletes what has been in the queue for long enough.
    async fn destroy_queued(&self) {
        let mut from = ObjectId(0);
        loop {
            let Some((due, next)) = self.next_due(from) else { return };
            from = next;
            if due.is_empty() {
                continue;
            }
            if self.shared.holds.is_held() {
                return;
            }
            let keys: Vec<String> = due.iter().map(|(_, key)| key.clone()).collect();
            if let Err(error) = self.shared.store.delete_many(&keys).await {
                tracing::warn!(%error, objects = keys.len(), "the store did not delete, later again");
                return;
            }
            let gone = self.verify(due).await;
            if !gone.is_empty() && !self.clean(gone).await {
                return;
            }
        }
    }

    /// The next objects of the queue that are due, from `from` on, and where to go on. `None` at the end of the queue.
    fn next_due(&self, from: ObjectId) -> Option<(Vec<Queued>, ObjectId)> {
        let shared = &self.shared;
        let view = shared.meta.view();
        let (now, monotonic) = (shared.now(), shared.env.clock.monotonic());
        let grace = shared.config.maintenance.destroy_grace;
        let mut stubborn = shared.upkeep.garbage.stubborn.lock();
        stubborn.retain(|object, _| view.is_to_destroy(*object));
        let rows: Vec<_> = view.objects_to_destroy_from(from).take(OBJECTS_AT_A_TIME).collect();
        let next = ObjectId(rows.last()?.object.0 + 1);
        let waits = |object| stubborn.get(&object).is_some_and(|it| it.again > monotonic);
        let due = rows.iter().filter(|row| plan::is_due(row, now, grace) && !waits(row.object));
        Some((due.map(|row| (row.object, data_key(view.cluster(), row.object))).collect(), next))
    }

    /// Looks whether what was deleted is gone; returns what is.
    async fn verify(&self, deleted: Vec<Queued>) -> Vec<ObjectId> {
        let looks = stream::iter(deleted).map(|(object, key)| async move {
            let there = self.shared.store.head(&key).await.map(|info| info.is_some());
            (object, key, there)
        });
        let looks: Vec<_> = looks.buffered(LOOKS_AT_ONCE).collect().await;
        let mut gone = Vec::new();
        for (object, key, there) in looks {
            match there {
                Ok(false) => gone.push(object),
                Ok(true) => self.stays(object, key),
                Err(error) => tracing::debug!(%error, "it is not known whether an object was deleted"),
            }
        }
        gone
    }

    /// Remembers an object that is there although the store said that it deleted it.
    fn stays(&self, object: ObjectId, key: String) {
        let shared = &self.shared;
        let first = shared.config.maintenance.garbage_interval;
        let mut stubborn = shared.upkeep.garbage.stubborn.lock();
        let pause = stubborn.get(&object).map_or(first, |it| (it.pause * 2).min(LONGEST_PAUSE));
        if pause == first {
            tracing::error!(key, "the store says that it deleted an object, and it is still there");
        }
        let again = shared.env.clock.monotonic() + pause;
        stubborn.insert(object, Stubborn { key, again, pause });
    }

    /// Takes objects that are gone off the queue.
    async fn clean(&self, objects: Vec<ObjectId>) -> bool {
        let session = self.current.load().session.id;
        match propose(&self.shared, CleanObjects { session, objects }).await {
            Ok(_) => true,
            Err(failure) => {
                tracing::debug!(?failure, "deleted objects stay in the queue, later again");
                false
            }
        }
    }
}
