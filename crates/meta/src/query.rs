//! Questions to the state: own nothing, guarantee that none costs more than it returns (besides logarithms),
//! never change anything.

use std::ops::Bound;

use kelda_format::rows::ProducerId;
use kelda_format::rows::{
    DestroyRow, EntryRow, KeyRow, KeySpace, NodeRow, ObjectRefRow, ObjectRow, ProducerRow, ReservationRow,
    Retention, SessionRow, SessionState, StreamRow, TransferRow,
};
use kelda_format::{NodeId, ObjectId, Offset, SessionId, StreamId, StreamName, Timestamp};

use crate::State;

/// How far a session is with its life, also when its row is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionStatus {
    /// It never registered.
    Unknown,
    /// Its row is there.
    Known(SessionState),
    /// It ended long ago, with everything committed; its row is gone.
    Forgotten,
}

/// A page of a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListPage<'a> {
    /// The entries, in byte order of their names.
    pub entries: Vec<&'a EntryRow>,
    /// Whether more follow.
    pub more: bool,
}

impl State {
    /// The entry of a name, whatever its state.
    #[must_use]
    pub fn entry(&self, name: &StreamName) -> Option<&EntryRow> {
        self.entries.get(name).map(|row| &**row)
    }

    /// The entry that a stream lives or lived under, if it still has one.
    #[must_use]
    pub fn entry_of(&self, stream: StreamId) -> Option<&EntryRow> {
        let name = match self.stream(stream) {
            Some(row) => &row.name,
            None => self.derived.soft_deleted.get(&stream)?,
        };
        self.entry(name)
    }

    /// A stream that is not deleted.
    #[must_use]
    pub fn stream(&self, stream: StreamId) -> Option<&StreamRow> {
        self.streams.get(&stream).map(|row| &**row)
    }

    /// Whether a stream existed and is deleted.
    #[must_use]
    pub fn is_gone(&self, stream: StreamId) -> bool {
        stream.0 < self.numbers.next_stream && stream.0 > 0 && !self.streams.contains_key(&stream)
    }

    /// All streams that are not deleted, by id.
    pub fn streams(&self) -> impl Iterator<Item = &StreamRow> {
        self.streams.values().map(|row| &**row)
    }

    /// How many streams are not deleted.
    #[must_use]
    pub fn stream_count(&self) -> usize {
        self.streams.len()
    }

    /// Up to `limit` entries whose names begin with `prefix` and come after `start_after`, in byte order. The
    /// soft-deleted ones are left out.
    #[must_use]
    pub fn list(&self, prefix: &str, start_after: Option<&str>, limit: usize) -> ListPage<'_> {
        let from = match start_after {
            Some(after) if after >= prefix => Bound::Excluded(after),
            _ => Bound::Included(prefix),
        };
        let mut found = self
            .entries
            .range::<_, str>((from, Bound::Unbounded))
            .map(|(_, row)| &**row)
            .take_while(|row| row.name.as_str().starts_with(prefix))
            .filter(|row| row.state != kelda_format::rows::EntryState::SoftDeleted);
        let entries: Vec<&EntryRow> = found.by_ref().take(limit).collect();
        let more = found.next().is_some();
        ListPage { entries, more }
    }

    /// The references of a stream, in offset order.
    pub fn refs(&self, stream: StreamId) -> impl DoubleEndedIterator<Item = &ObjectRefRow> {
        self.refs.range((stream, Offset::ZERO)..=(stream, Offset(u64::MAX))).map(|(_, row)| row)
    }

    /// The reference that holds an offset.
    #[must_use]
    pub fn object_at(&self, stream: StreamId, offset: Offset) -> Option<&ObjectRefRow> {
        let (_, row) = self.refs.range((stream, Offset::ZERO)..=(stream, offset)).next_back()?;
        (offset < row.end).then_some(row)
    }

    /// The references that hold offsets from `from` to before `until`, in offset order.
    pub fn refs_between(
        &self,
        stream: StreamId,
        from: Offset,
        until: Offset,
    ) -> impl Iterator<Item = &ObjectRefRow> {
        let first = self.object_at(stream, from).map_or(from, |row| row.base);
        self.refs.range((stream, first)..(stream, until.max(first))).map(|(_, row)| row)
    }

    /// The first reference whose last record is at or after `time`.
    #[must_use]
    pub fn ref_for_time(&self, stream: StreamId, time: Timestamp) -> Option<&ObjectRefRow> {
        let mut found = None;
        let (mut low, mut high) = (self.refs(stream).next()?.base, self.refs(stream).next_back()?.end);
        while low < high {
            let row = self.object_at(stream, Offset(low.0 + (high.0 - low.0) / 2))?;
            if row.last_timestamp >= time {
                found = Some(row);
                high = row.base;
            } else {
                low = row.end;
            }
        }
        found
    }

    /// The producers of a stream, by id.
    pub fn producers(&self, stream: StreamId) -> impl Iterator<Item = &ProducerRow> {
        self.producers
            .range((stream, ProducerId::new(""))..)
            .take_while(move |((of, _), _)| *of == stream)
            .map(|(_, row)| &**row)
    }

    /// One producer of a stream.
    #[must_use]
    pub fn producer(&self, stream: StreamId, id: &ProducerId) -> Option<&ProducerRow> {
        self.producers.get(&(stream, id.clone())).map(|row| &**row)
    }

    /// A node.
    #[must_use]
    pub fn node(&self, node: NodeId) -> Option<&NodeRow> {
        self.nodes.get(&node).map(|row| &**row)
    }

    /// All nodes, by id.
    pub fn nodes(&self) -> impl Iterator<Item = &NodeRow> {
        self.nodes.values().map(|row| &**row)
    }

    /// A session whose row is there. Rows of sessions that ended long ago are not: see
    /// [`State::session_status`].
    #[must_use]
    pub fn session(&self, session: SessionId) -> Option<&SessionRow> {
        self.sessions.get(&session).map(|row| &**row)
    }

    /// All sessions whose rows are there, by id.
    pub fn sessions(&self) -> impl Iterator<Item = &SessionRow> {
        self.sessions.values().map(|row| &**row)
    }

    /// How far a session is with its life.
    #[must_use]
    pub fn session_status(&self, session: SessionId) -> SessionStatus {
        match (self.session(session), self.node(session.node)) {
            (Some(row), _) => SessionStatus::Known(row.state),
            (None, Some(node)) if session.epoch.0 > 0 && session.epoch <= node.session_epoch => {
                SessionStatus::Forgotten
            }
            _ => SessionStatus::Unknown,
        }
    }

    /// The session of a node that may propose and append.
    #[must_use]
    pub fn live_session(&self, node: NodeId) -> Option<&SessionRow> {
        let epoch = self.node(node)?.session_epoch;
        self.session(SessionId { node, epoch }).filter(|row| row.state == SessionState::Live)
    }

    /// The streams that a session holds, by id.
    pub fn held_by(&self, session: SessionId) -> impl Iterator<Item = StreamId> {
        self.derived
            .held
            .range((session, StreamId(0))..=(session, StreamId(u64::MAX)))
            .map(|(_, stream)| *stream)
    }

    /// How many streams a session holds.
    #[must_use]
    pub fn held_count(&self, session: SessionId) -> u64 {
        self.derived.held_count.get(&session).copied().unwrap_or(0)
    }

    /// Streams whose persisted deadline is at or before `at`, the longest due first.
    pub fn due(&self, at: Timestamp) -> impl Iterator<Item = &StreamRow> {
        self.derived
            .deadlines
            .range(..=(at, StreamId(u64::MAX)))
            .filter_map(|(_, stream)| self.stream(*stream))
    }

    /// The streams whose retention bounds what they keep, by id, from `from` on.
    pub fn bounded(&self, from: StreamId) -> impl Iterator<Item = StreamId> {
        self.derived.bounded.range(from..).copied()
    }

    /// What bounds a stream; nothing in it when nothing does, or the stream is gone.
    #[must_use]
    pub fn retention(&self, stream: StreamId) -> Retention {
        self.entry_of(stream).map(|entry| entry.retention).unwrap_or_default()
    }

    /// Streams that are not deleted, by id, from `from` on.
    pub fn streams_from(&self, from: StreamId) -> impl Iterator<Item = &StreamRow> {
        self.streams.range(from..).map(|(_, row)| &**row)
    }

    /// Bytes of an object that streams refer to. A range that a fork shares counts once for each, so that an object may
    /// have more than its length, and one without references has none.
    #[must_use]
    pub fn live_bytes(&self, object: ObjectId) -> u64 {
        self.derived.live.get(&object).copied().unwrap_or(0)
    }

    /// How many forks of a stream have an entry.
    #[must_use]
    pub fn fork_count(&self, stream: StreamId) -> u64 {
        self.derived.forks.get(&stream).copied().unwrap_or(0)
    }

    /// An object that some stream refers to.
    #[must_use]
    pub fn object(&self, object: ObjectId) -> Option<&ObjectRow> {
        self.objects.get(&object)
    }

    /// All objects that streams refer to, by id.
    pub fn objects(&self) -> impl Iterator<Item = &ObjectRow> {
        self.objects.values()
    }

    /// All reservations, by object.
    pub fn reservations(&self) -> impl Iterator<Item = &ReservationRow> {
        self.reservations.values()
    }

    /// Whether an object's id is reserved and the object not committed.
    #[must_use]
    pub fn is_reserved(&self, object: ObjectId) -> bool {
        self.reservations.contains_key(&object)
    }

    /// Whether an object waits in the destroy queue.
    #[must_use]
    pub fn is_to_destroy(&self, object: ObjectId) -> bool {
        self.destroy.contains_key(&object)
    }

    /// The destroy queue, by object.
    pub fn objects_to_destroy(&self) -> impl Iterator<Item = &DestroyRow> {
        self.destroy.values()
    }

    /// The destroy queue, by object, from `from` on.
    pub fn objects_to_destroy_from(&self, from: ObjectId) -> impl Iterator<Item = &DestroyRow> {
        self.destroy.range(from..).map(|(_, row)| row)
    }

    /// The pending transfer of a stream.
    #[must_use]
    pub fn transfer(&self, stream: StreamId) -> Option<&TransferRow> {
        self.transfers.get(&stream)
    }

    /// All pending transfers, by stream.
    pub fn transfers(&self) -> impl Iterator<Item = &TransferRow> {
        self.transfers.values()
    }

    /// A key.
    #[must_use]
    pub fn key(&self, space: KeySpace, key: &[u8]) -> Option<&KeyRow> {
        self.keys.get(&(space, bytes::Bytes::copy_from_slice(key))).map(|row| &**row)
    }

    /// The keys of a space that begin with `prefix`, in byte order.
    pub fn keys_with(&self, space: KeySpace, prefix: bytes::Bytes) -> impl Iterator<Item = &KeyRow> {
        self.keys
            .range((space, prefix.clone())..)
            .take_while(move |((of, key), _)| *of == space && key.starts_with(&prefix))
            .map(|(_, row)| &**row)
    }

    /// The keys of a space, in byte order.
    pub fn keys(&self, space: KeySpace) -> impl Iterator<Item = &KeyRow> {
        self.keys
            .range((space, bytes::Bytes::new())..)
            .take_while(move |((of, _), _)| *of == space)
            .map(|(_, row)| &**row)
    }
}
