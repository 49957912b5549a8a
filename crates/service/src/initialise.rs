//! The middle of a creation with content: owns the way of an entry from initialising to live.
//!
//! Guarantees that an entry becomes live only after its content and seal are durable; that they are the first
//! entry of the stream or are not written; and that what was never durable leaves nothing behind. Called with the
//! name's lane held, so nobody else is at the same entry: one node has one lane per name, and another node's
//! stream is not ours to open.

use std::time::Duration;

use kelda_engine::AppendError as EngineError;
use kelda_format::command::PutEntry;
use kelda_format::rows::{EntryRow, EntryState};
use kelda_format::{Batch, Offset, StreamId, StreamName};
use kelda_meta::ProposeError;
use tokio::sync::Notify;

use crate::NodeFault;
use crate::append::{Receipt, Refused};
use crate::create::{Attempt, CreateError, Created, Wanted};
use crate::service::Inner;

/// How long a creation waits for the durability of an earlier attempt's content.
const CONTENT_WAIT: Duration = Duration::from_secs(2);

impl Inner {
    /// Completes, or clears away, a creation that did not finish.
    pub(crate) async fn settle(&self, wanted: &Wanted, entry: &EntryRow) -> Result<Attempt, CreateError> {
        match self.is_durable(entry.stream).await? {
            None => return Ok(None),
            Some(true) => {
                self.enliven(&wanted.name, entry.stream).await?;
                return Ok(None);
            }
            Some(false) => {}
        }
        if wanted.config.differences(entry).is_empty() {
            return self.fill(wanted, entry.stream).await;
        }
        // Nothing of it was ever acknowledged or durable, so it is as if it had never been asked for.
        self.discard(entry.stream).await?;
        Ok(None)
    }

    /// Whether content or seal of an unfinished creation is durable; `None` when the stream is gone.
    pub(crate) async fn is_durable(&self, stream: StreamId) -> Result<Option<bool>, NodeFault> {
        let durable = |inner: &Inner| {
            inner.engine.status(stream).map(|status| status.tail > Offset::ZERO || status.sealed)
        };
        // What is there stays there. What is not may still be on its way until the stream is open here: then
        // the WAL of an earlier session is recovered, and nobody else may write.
        match durable(self) {
            Some(false) => match self.open(stream, &mut self.patience()).await {
                Ok(_) => Ok(durable(self)),
                Err(None) => Ok(None),
                Err(Some(fault)) => Err(fault),
            },
            known => Ok(known),
        }
    }

    /// Makes content and seal durable, then the entry live.
    pub(crate) async fn fill(&self, wanted: &Wanted, stream: StreamId) -> Result<Attempt, CreateError> {
        let mut receipt = None;
        if wanted.has_content() {
            let batch = wanted.batch.clone().unwrap_or_else(Batch::empty);
            let mut request = kelda_engine::AppendRequest::new(batch);
            request.seal = wanted.seal == Some(true);
            // Whatever happened before, the content is the first of the stream or is not written.
            request.match_offset = Some(Offset::ZERO);
            match self.append_to(stream, &request, &Notify::new()).await {
                Ok(appended) => receipt = Some(appended),
                Err(Refused::Engine(EngineError::OutcomeUnknown | EngineError::Gone)) => return Ok(None),
                Err(Refused::Engine(EngineError::MatchOffset { .. } | EngineError::Sealed { .. })) => {
                    // An earlier attempt's content is on its way; the next look finds it durable.
                    self.engine.wait(stream, Offset::ZERO, CONTENT_WAIT).await;
                    return Ok(None);
                }
                Err(refused) => {
                    let fault = refused.into_create();
                    // When this fails too, it is cleared up later.
                    let _ = self.discard(stream).await;
                    return Err(fault);
                }
            }
        }
        self.enliven(&wanted.name, stream).await?;
        Ok(self.created(wanted, stream, receipt))
    }

    /// The answer to the request that created.
    pub(crate) fn created(&self, wanted: &Wanted, stream: StreamId, receipt: Option<Receipt>) -> Attempt {
        let view = self.meta.view();
        let entry = view.entry(&wanted.name)?;
        let live = entry.state == EntryState::Live && entry.stream == stream;
        let mut info = self.info(&view, entry).filter(|_| live)?;
        if let Some(receipt) = &receipt {
            // Certain, even if the session ended since.
            (info.tail_known, info.sealed) = (true, info.sealed || receipt.sealed);
            info.next = info.next.max(receipt.next);
        }
        Some(Created { new: true, info, receipt })
    }

    /// Makes an initialising entry live; one that is gone or live already is left alone.
    pub(crate) async fn enliven(&self, name: &StreamName, stream: StreamId) -> Result<(), NodeFault> {
        let command = {
            let view = self.meta.view();
            let entry =
                view.entry(name).filter(|e| e.stream == stream && e.state == EntryState::Initialising);
            entry.map(|entry| PutEntry {
                name: name.clone(),
                stream,
                expected_version: entry.version,
                state: Some(EntryState::Live),
                expiry: None,
                retention: None,
                arguments: None,
                at: self.now(),
            })
        };
        let Some(command) = command else { return Ok(()) };
        match self.meta.propose(command.into()).await {
            // Rejected: the entry changed since the view; the caller looks again.
            Ok(_) | Err(ProposeError::Rejected(_)) => Ok(()),
            Err(ProposeError::Unavailable(reason)) => Err(NodeFault::Unavailable { reason }),
            Err(ProposeError::Full(_)) => Err(NodeFault::DiskFull),
            Err(ProposeError::Unknown(_)) => Err(NodeFault::OutcomeUnknown),
        }
    }

    /// Removes a stream that was never live.
    pub(crate) async fn discard(&self, stream: StreamId) -> Result<(), NodeFault> {
        self.deadlines.forget(stream);
        match self.engine.delete(stream).await {
            Ok(()) => Ok(()),
            Err(error) => self.end_fault(error).map_or(Ok(()), Err),
        }
    }
}
