//! Reading slots: owns the requests that run ahead. Guarantees that slots come in order, each verified and of the log that is
//! recovered, and that a store which throttles or fails is asked again, without limit and with bounded concurrency. Never
//! takes an absent slot for the end: only a seal is that (P6).

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use kelda_env::TaskHandle;
use kelda_format::keys::wal_key;
use kelda_format::wal::{Seal, Slot};
use kelda_format::{DecodeError, SessionId};
use tokio::sync::oneshot;

use crate::error::StartError;
use crate::retry::Backoff;
use crate::session::Shared;

/// Slots that are asked for at once, and so held beside the one that is worked on: more than a writer has on its way, at
/// its default settings.
const AHEAD: usize = 16;

/// What lies in a slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// Entries.
    Slot(Slot),
    /// The end of the log.
    Seal(Seal),
    /// Nothing, when it was looked at.
    Nothing,
}

/// One request ahead; it ends when it is dropped.
struct Request {
    task: TaskHandle,
    answer: oneshot::Receiver<Result<Found, StartError>>,
}

impl Drop for Request {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The slots of one log in order.
pub(super) struct Slots<'a> {
    shared: &'a Arc<Shared>,
    session: SessionId,
    /// The slot that comes next, and the requests for it and those behind it.
    next: u64,
    ahead: VecDeque<Request>,
    /// What slots behind an empty one say was acknowledged when they were written.
    pub(super) acknowledged: u64,
}

impl<'a> Slots<'a> {
    /// The slots of the log of `session` from `start` on.
    pub(super) fn new(shared: &'a Arc<Shared>, session: SessionId, start: u64) -> Slots<'a> {
        Slots { shared, session, next: start, ahead: VecDeque::new(), acknowledged: 0 }
    }

    /// The number of the next slot and what lies there. When nothing does, it comes again at the next call.
    pub(super) async fn next(&mut self) -> Result<(u64, Found), StartError> {
        while self.ahead.len() < AHEAD {
            let number = self.next + self.ahead.len() as u64;
            let (answer, result) = oneshot::channel();
            let (shared, session) = (Arc::clone(self.shared), self.session);
            let task = self.shared.env.spawn("kelda-recovery-read", async move {
                // Whoever asked may have gone away.
                let _ = answer.send(read(&shared, session, number).await);
            });
            self.ahead.push_back(Request { task, answer: result });
        }
        let number = self.next;
        let Some(mut request) = self.ahead.pop_front() else { return Ok((number, Found::Nothing)) };
        let answer = (&mut request.answer).await;
        let found = answer.unwrap_or_else(|_| Err(StartError::Storage("a read was aborted".to_owned())))?;
        match found {
            Found::Nothing => self.look_behind().await,
            Found::Slot(_) | Found::Seal(_) => self.next += 1,
        }
        Ok((number, found))
    }

    /// Finishes what was asked for behind an empty slot. Nothing there counts but what it knows of the slots before; it may
    /// have been answered before the empty one was filled, so it is asked for again.
    async fn look_behind(&mut self) {
        for mut request in self.ahead.drain(..) {
            if let Ok(Ok(Found::Slot(slot))) = (&mut request.answer).await {
                self.acknowledged = self.acknowledged.max(slot.header.acknowledged);
            }
        }
    }
}

/// Reads one slot until it is known what lies there.
pub(super) async fn read(shared: &Shared, session: SessionId, slot: u64) -> Result<Found, StartError> {
    let key = wal_key(shared.identity.cluster, session, slot);
    let mut backoff = Backoff::new(&shared.config);
    loop {
        match shared.store.get(&key).await {
            Ok(bytes) => return decode(shared, session, slot, &key, &bytes),
            Err(error) if error.is_not_found() => return Ok(Found::Nothing),
            Err(error) => tracing::warn!(%error, "a slot could not be read, trying again"),
        }
        shared.env.clock.sleep(backoff.jittered(&*shared.env.random)).await;
    }
}

fn decode(
    shared: &Shared,
    session: SessionId,
    slot: u64,
    key: &str,
    bytes: &Bytes,
) -> Result<Found, StartError> {
    let unreadable = |error: DecodeError| match error.newer {
        Some(_) => StartError::Newer { file: key.to_owned(), detail: error.to_string() },
        None => damaged(key, error.at, error.to_string()),
    };
    let (found, of) = if Seal::is_one(bytes) {
        let seal = Seal::decode(bytes).map_err(unreadable)?;
        (Found::Seal(seal), (seal.cluster, seal.session, seal.slot))
    } else {
        let slot = Slot::decode(bytes).map_err(unreadable)?;
        let context = slot.header.context;
        let of = (context.cluster, context.session, slot.header.slot);
        (Found::Slot(slot), of)
    };
    if of == (shared.identity.cluster, session, slot) {
        return Ok(found);
    }
    let (cluster, of_session, of_slot) = of;
    let detail = format!("it is slot {of_slot} of session {of_session} of cluster {cluster}");
    Err(StartError::Foreign { file: key.to_owned(), detail })
}

/// The report of damage to an object of the log.
pub(super) fn damaged(key: &str, position: u64, detail: String) -> StartError {
    StartError::Corrupt { file: key.to_owned(), position, detail }
}
