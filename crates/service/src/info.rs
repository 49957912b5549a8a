//! What a stream is, in one answer: owns the assembly of registry entry, internal stream and what the engine
//! knows of the tail. Never opens a stream for it.

use kelda_engine::StreamStatus;
use kelda_format::rows::{EntryRow, Expiry, Retention, StreamKind};
use kelda_format::{Epoch, Offset, SessionId, StreamId, StreamName, Timestamp};
use kelda_meta::State;

use crate::NodeFault;
use crate::service::Inner;

/// Everything a caller may know about a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamInfo {
    /// Its name.
    pub name: StreamName,
    /// Its id: the incarnation of the name.
    pub stream: StreamId,
    /// Stream or queue.
    pub kind: StreamKind,
    /// Content type as it was created.
    pub content_type: String,
    /// When it is removed as a whole.
    pub expiry: Expiry,
    /// When that will be if nobody uses it until then.
    pub deadline: Option<Timestamp>,
    /// The retention in force.
    pub retention: Retention,
    /// Declare arguments as given.
    pub arguments: Vec<(String, String)>,
    /// The first offset held.
    pub start: Offset,
    /// The durable tail: the offset that the next record gets.
    pub next: Offset,
    /// Whether `next` and `sealed` are certain. Only in lists they may not be, of a stream that another session
    /// holds, or one that ended and is not recovered yet (P19).
    pub tail_known: bool,
    /// Whether it takes no more records, ever.
    pub sealed: bool,
    /// The epoch of the last open; absent until first opened.
    pub epoch: Option<Epoch>,
    /// The session that holds it open.
    pub owner: Option<SessionId>,
    /// Bytes held.
    pub bytes: u64,
    /// Time of the first record held.
    pub oldest: Option<Timestamp>,
    /// Time of the last record, kept when all are trimmed; absent until there was one.
    pub newest: Option<Timestamp>,
    /// When it was created.
    pub created: Timestamp,
}

impl StreamInfo {
    /// Refuses to speak of a tail that is not known (P19).
    pub(crate) fn certain(self, inner: &Inner) -> Result<StreamInfo, NodeFault> {
        if self.tail_known { Ok(self) } else { Err(inner.tail_unknown(self.stream)) }
    }
}

impl Inner {
    /// What the stream of a live name is once its tail is known, which waits for a session that is being
    /// replaced; `Err(None)` when the stream is gone.
    pub(crate) async fn certain_info(
        &self,
        name: &StreamName,
        stream: StreamId,
    ) -> Result<StreamInfo, Option<NodeFault>> {
        let mut patience = self.patience();
        loop {
            let info = {
                let view = self.meta.view();
                let entry = view.entry(name).filter(|entry| entry.stream == stream);
                entry.and_then(|entry| self.info(&view, entry)).ok_or(None)?
            };
            match info.certain(self) {
                Ok(info) => return Ok(info),
                Err(NodeFault::Unavailable { .. }) if self.wait_again(&mut patience).await => {}
                Err(fault) => return Err(Some(fault)),
            }
        }
    }

    /// What an entry's stream is; `None` when the stream went away since the view was taken.
    pub(crate) fn info(&self, view: &State, entry: &EntryRow) -> Option<StreamInfo> {
        let status: StreamStatus = self.engine.status(entry.stream)?;
        Some(StreamInfo {
            name: entry.name.clone(),
            stream: entry.stream,
            kind: entry.kind,
            content_type: entry.content_type.clone(),
            expiry: entry.expiry,
            deadline: self.deadline(entry),
            retention: entry.retention,
            arguments: entry.arguments.clone(),
            start: status.start,
            next: status.tail,
            tail_known: status.tail_known,
            sealed: status.sealed,
            epoch: status.epoch,
            owner: view.stream(entry.stream).and_then(|row| row.owner),
            bytes: status.bytes,
            oldest: status.oldest_timestamp,
            newest: (status.tail > Offset::ZERO).then_some(status.last_timestamp),
            created: entry.created,
        })
    }
}
