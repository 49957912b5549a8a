//! One run of this node: owns what all parts of a session share (its WAL queue, its budgets of bytes, how far it is
//! committed, whether it ended). Guarantees that an ended session accepts and acknowledges nothing more (P2), never
//! ends without a reason that is logged.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use kelda_env::watch;
use kelda_env::{Env, Store};
use kelda_format::{SessionId, Timestamp};
use kelda_meta::Meta;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::config::{EngineConfig, Identity};
use crate::damage::DamageLog;
use crate::error::AppendError;
use crate::health::HealthCell;
use crate::hold::Holds;
use crate::maintenance::Upkeep;
use crate::objects::ObjectReader;
use crate::stream::OpenStream;
use crate::waiters::Waiters;
use crate::wal::{Reserved, Wal};

/// How often an append that waits for commits looks whether the segment being filled is in its way.
const UNCOMMITTED_LOOK: Duration = Duration::from_millis(20);

/// What outlives sessions: the outside, the settings, the reader of objects and the waiting readers.
pub(crate) struct Shared {
    pub(crate) env: Env,
    pub(crate) meta: Arc<dyn Meta>,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) config: EngineConfig,
    pub(crate) identity: Identity,
    pub(crate) health: Arc<HealthCell>,
    pub(crate) objects: ObjectReader,
    pub(crate) waiters: Waiters,
    pub(crate) damage: DamageLog,
    /// Whoever keeps the collector from deleting.
    pub(crate) holds: Holds,
    pub(crate) upkeep: Upkeep,
}

impl Shared {
    /// The time for records and commands.
    pub(crate) fn now(&self) -> Timestamp {
        self.upkeep.clock.now()
    }
}

/// One session.
pub(crate) struct Session {
    pub(crate) id: SessionId,
    pub(crate) shared: Arc<Shared>,
    pub(crate) wal: Wal,
    queue_space: Arc<Semaphore>,
    uncommitted: Arc<Semaphore>,
    /// How far it is committed: the first segment, or the first entry, that is not.
    committed: watch::Sender<u64>,
    /// How many segments were begun: their headers are synced.
    begun: watch::Sender<u64>,
    /// Of a log in the store: the WAL start, and how far the slots below it are deleted.
    wal_start: watch::Sender<u64>,
    deleted: AtomicU64,
    ended: watch::Sender<Option<Arc<str>>>,
}

impl Session {
    pub(crate) fn new(shared: Arc<Shared>, id: SessionId, wal: Wal) -> Session {
        let queue_space = Arc::new(Semaphore::new(permits(shared.config.wal_queue_bytes) as usize));
        let uncommitted = Arc::new(Semaphore::new(permits(shared.config.uncommitted_bytes) as usize));
        Session {
            id,
            shared,
            wal,
            queue_space,
            uncommitted,
            committed: watch::Sender::new(0),
            begun: watch::Sender::new(0),
            wal_start: watch::Sender::new(0),
            deleted: AtomicU64::new(0),
            ended: watch::Sender::new(None),
        }
    }

    /// Ends the session: nothing more is accepted or acknowledged (P2). Only the first reason counts.
    pub(crate) fn end(&self, reason: &str) {
        if self.stop(reason) {
            tracing::warn!(session = %self.id, reason, "session ended");
        }
    }

    /// The same for an end that was asked for, which nobody has to look at. Whether it had not ended before.
    pub(crate) fn stop(&self, reason: &str) -> bool {
        let first = self.ended.send_if_modified(|ended| {
            let first = ended.is_none();
            if first {
                *ended = Some(Arc::from(reason));
            }
            first
        });
        self.wal.end();
        self.queue_space.close();
        self.uncommitted.close();
        first
    }

    /// Why it ended, if it did.
    pub(crate) fn ended(&self) -> Option<Arc<str>> {
        self.ended.borrow().clone()
    }

    /// Resolves when the session has ended.
    pub(crate) async fn until_ended(&self) {
        let mut ended = self.ended.subscribe();
        // The sender lives in `self`, so this cannot fail while it is borrowed.
        let _ = ended.wait_for(Option::is_some).await;
    }

    /// Says that every segment (of a log in the store: every entry) before `next` is committed.
    pub(crate) fn set_committed(&self, next: u64) {
        self.committed.send_replace(next);
    }

    /// Resolves when segment or entry `number` is committed: true; or the session ended: false.
    pub(crate) async fn until_committed(&self, number: u64) -> bool {
        let mut committed = self.committed.subscribe();
        tokio::select! {
            biased;
            reached = committed.wait_for(|next| *next > number) => reached.is_ok(),
            () = self.until_ended() => false,
        }
    }

    /// Says that the commit which moved the WAL start of a log in the store to `slot` is applied.
    pub(crate) fn set_wal_start(&self, slot: u64) {
        self.wal_start.send_replace(slot);
    }

    /// Slots below the WAL start that are not known to be deleted.
    pub(crate) fn deletable(&self) -> Range<u64> {
        self.deleted.load(Ordering::SeqCst)..*self.wal_start.borrow()
    }

    /// Resolves with such slots when there are some; nothing when the session ended.
    pub(crate) async fn until_deletable(&self) -> Option<Range<u64>> {
        let mut wal_start = self.wal_start.subscribe();
        let deleted = self.deleted.load(Ordering::SeqCst);
        tokio::select! {
            biased;
            () = self.until_ended() => None,
            // The sender lives in `self`, so this cannot fail while it is borrowed.
            _ = wal_start.wait_for(|start| *start > deleted) => Some(self.deletable()),
        }
    }

    /// Says that the slots before `slot` are deleted.
    pub(crate) fn set_deleted(&self, slot: u64) {
        self.deleted.fetch_max(slot, Ordering::SeqCst);
    }

    /// Says that the header of segment `number` is synced.
    pub(crate) fn set_begun(&self, number: u64) {
        self.begun.send_replace(number + 1);
    }

    /// Whether the header of segment `number` is synced.
    pub(crate) fn has_begun(&self, number: u64) -> bool {
        *self.begun.borrow() > number
    }

    /// Resolves when the header of segment `number` is synced: true; or the session ended: false.
    pub(crate) async fn until_begun(&self, number: u64) -> bool {
        let mut begun = self.begun.subscribe();
        tokio::select! {
            biased;
            reached = begun.wait_for(|begun| *begun > number) => reached.is_ok(),
            () = self.until_ended() => false,
        }
    }

    /// Pauses between two tries; false when the session ended meanwhile.
    pub(crate) async fn pause(&self, duration: Duration) -> bool {
        tokio::select! {
            biased;
            () = self.until_ended() => false,
            () = self.shared.env.clock.sleep(duration) => true,
        }
    }

    /// Enters or leaves the state in which there is no space for more of the write-ahead log.
    pub(crate) fn set_disk_full(&self, full: bool) {
        self.wal.set_disk_full(full);
        self.shared.health.set_disk_full(full);
    }

    /// Bytes of one stream that may be in flight.
    pub(crate) fn stream_inflight(&self) -> usize {
        permits(self.shared.config.stream_inflight_bytes) as usize
    }

    /// Reserves space for an entry if there is some at once.
    pub(crate) fn try_reserve(&self, stream: &OpenStream, bytes: u64) -> Option<Reserved> {
        let config = &self.shared.config;
        let stream = Arc::clone(&stream.inflight)
            .try_acquire_many_owned(clamp(bytes, config.stream_inflight_bytes))
            .ok()?;
        let queue = Arc::clone(&self.queue_space)
            .try_acquire_many_owned(clamp(bytes, config.wal_queue_bytes))
            .ok()?;
        let uncommitted = Arc::clone(&self.uncommitted)
            .try_acquire_many_owned(clamp(bytes, config.uncommitted_bytes))
            .ok()?;
        Some(Reserved { queue, uncommitted, stream })
    }

    /// Reserves space for an entry, waiting for it up to `limit`; in the order of asking.
    pub(crate) async fn reserve(
        &self,
        stream: &OpenStream,
        bytes: u64,
        limit: Duration,
    ) -> Result<Reserved, AppendError> {
        let config = &self.shared.config;
        let all = async {
            let stream = acquire(&stream.inflight, clamp(bytes, config.stream_inflight_bytes)).await?;
            let uncommitted = self.acquire_uncommitted(clamp(bytes, config.uncommitted_bytes)).await?;
            let queue = acquire(&self.queue_space, clamp(bytes, config.wal_queue_bytes)).await?;
            Ok(Reserved { queue, uncommitted, stream })
        };
        match self.shared.env.timeout(limit, all).await {
            Ok(reserved) => reserved,
            Err(_) => Err(AppendError::Overloaded("the write-ahead log or the store behind it is slow")),
        }
    }

    /// Waits for what is uncommitted to become less. When what lies in the segment or range being filled is in the way,
    /// nothing else may ever fill it: then it is uploaded as it is.
    async fn acquire_uncommitted(&self, bytes: u32) -> Result<OwnedSemaphorePermit, AppendError> {
        let acquired = acquire(&self.uncommitted, bytes);
        tokio::pin!(acquired);
        loop {
            tokio::select! {
                biased;
                acquired = &mut acquired => return acquired,
                () = self.shared.env.clock.sleep(UNCOMMITTED_LOOK) => {}
            }
            let budget = u64::from(permits(self.shared.config.uncommitted_bytes));
            if self.wal.filled_bytes() + u64::from(bytes) > budget {
                self.wal.flush();
            }
        }
    }
}

async fn acquire(semaphore: &Arc<Semaphore>, bytes: u32) -> Result<OwnedSemaphorePermit, AppendError> {
    // Closed when the session ended.
    Arc::clone(semaphore).acquire_many_owned(bytes).await.map_err(|_| AppendError::Closed)
}

/// Semaphores count in `u32`; a budget above 4 GiB is cut to that.
fn permits(bytes: u64) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

/// An entry larger than the whole budget takes all of it.
fn clamp(bytes: u64, budget: u64) -> u32 {
    permits(bytes.min(budget))
}
