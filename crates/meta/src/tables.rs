//! The only ways to change rows: own the agreement between rows and what is derived from them, for `apply` and
//! for loading snapshots alike. Never decide whether a change is legal.

use std::sync::Arc;

use kelda_format::rows::{
    DestroyReason, DestroyRow, EntryRow, EntryState, KeyRow, NodeRow, ObjectRefRow, ObjectRow, ProducerId,
    ProducerRow, ReservationRow, SessionRow, StreamRow, TransferRow,
};
use kelda_format::{ObjectId, Offset, SessionId, StreamId, StreamName, Timestamp};

use crate::State;
use crate::state::Derived;

impl Derived {
    fn hold(&mut self, session: SessionId, stream: StreamId) {
        if self.held.insert((session, stream)).is_none() {
            *self.held_count.entry(session).or_insert(0) += 1;
        }
    }

    fn release(&mut self, session: SessionId, stream: StreamId) {
        if self.held.remove(&(session, stream)).is_some() {
            let count = self.held_count.remove(&session).unwrap_or(0);
            if count > 1 {
                self.held_count.insert(session, count - 1);
            }
        }
    }

    fn add_live(&mut self, object: ObjectId, bytes: u64) {
        *self.live.entry(object).or_insert(0) += bytes;
    }

    fn add_fork(&mut self, parent: StreamId) {
        *self.forks.entry(parent).or_insert(0) += 1;
    }

    fn drop_fork(&mut self, parent: StreamId) {
        let count = self.forks.remove(&parent).unwrap_or(0);
        if count > 1 {
            self.forks.insert(parent, count - 1);
        }
    }
}

impl State {
    pub(crate) fn put_node(&mut self, row: NodeRow) {
        self.nodes.insert(row.node, Arc::new(row));
    }

    pub(crate) fn put_session(&mut self, row: SessionRow) {
        self.sessions.insert(row.id, Arc::new(row));
    }

    /// Stores a stream's row; `row.producers` and `row.bytes` are kept by the functions for those rows.
    pub(crate) fn put_stream(&mut self, row: StreamRow) {
        let id = row.id;
        let (owner, deadline) = (row.owner, row.deadline);
        let before = self.streams.insert(id, Arc::new(row));
        let (owner_before, deadline_before) =
            before.map_or((None, None), |before| (before.owner, before.deadline));
        if owner_before != owner {
            if let Some(session) = owner_before {
                self.derived.release(session, id);
            }
            if let Some(session) = owner {
                self.derived.hold(session, id);
            }
        }
        if deadline_before != deadline {
            if let Some(time) = deadline_before {
                self.derived.deadlines.remove(&(time, id));
            }
            if let Some(time) = deadline {
                self.derived.deadlines.insert((time, id));
            }
        }
    }

    /// Changes a stream's row. Does nothing when there is none.
    pub(crate) fn change_stream(&mut self, id: StreamId, change: impl FnOnce(&mut StreamRow)) {
        if let Some(row) = self.streams.get(&id) {
            let mut row = StreamRow::clone(row);
            change(&mut row);
            self.put_stream(row);
        }
    }

    /// Removes a stream's row and its derived rows, not its references and producers.
    pub(crate) fn remove_stream_row(&mut self, id: StreamId) {
        if let Some(row) = self.streams.remove(&id) {
            if let Some(session) = row.owner {
                self.derived.release(session, id);
            }
            if let Some(time) = row.deadline {
                self.derived.deadlines.remove(&(time, id));
            }
        }
    }

    pub(crate) fn put_entry(&mut self, row: EntryRow) {
        let row = Arc::new(row);
        let before = self.entries.insert(row.name.clone(), row.clone());
        if let Some(before) = before {
            self.entry_left(&before);
        }
        if let Some(parent) = row.parent {
            self.derived.add_fork(parent.stream);
        }
        if row.state == EntryState::SoftDeleted {
            self.derived.soft_deleted.insert(row.stream, row.name.clone());
        } else if row.retention.is_bound() {
            self.derived.bounded.insert(row.stream);
        }
    }

    pub(crate) fn remove_entry(&mut self, name: &StreamName) {
        if let Some(before) = self.entries.remove(name) {
            self.entry_left(&before);
        }
    }

    fn entry_left(&mut self, row: &EntryRow) {
        self.derived.bounded.remove(&row.stream);
        if let Some(parent) = row.parent {
            self.derived.drop_fork(parent.stream);
        }
        if row.state == EntryState::SoftDeleted {
            self.derived.soft_deleted.remove(&row.stream);
        }
    }

    pub(crate) fn put_producer(&mut self, row: ProducerRow) {
        self.producers.insert((row.stream, row.id.clone()), Arc::new(row));
    }

    pub(crate) fn remove_producers(&mut self, stream: StreamId) {
        let ids: Vec<ProducerId> = self.producers(stream).map(|row| row.id.clone()).collect();
        for id in ids {
            self.producers.remove(&(stream, id));
        }
    }

    /// Adds a reference and counts it (P14). The object's row has to be there.
    pub(crate) fn add_ref(&mut self, row: ObjectRefRow) {
        if let Some(object) = self.objects.get_mut(&row.object) {
            object.refs += 1;
        }
        self.put_ref(row);
    }

    /// Stores a reference that is counted already, as one of a snapshot is.
    pub(crate) fn put_ref(&mut self, row: ObjectRefRow) {
        self.derived.add_live(row.object, row.bytes);
        self.refs.insert((row.stream, row.base), row);
    }

    /// Drops a reference; an object that nothing refers to any more goes to the destroy queue (P14).
    pub(crate) fn drop_ref(&mut self, stream: StreamId, base: Offset, at: Timestamp) {
        let Some(row) = self.refs.remove(&(stream, base)) else { return };
        let Some(object) = self.objects.get_mut(&row.object) else { return };
        object.refs = object.refs.saturating_sub(1);
        if let Some(live) = self.derived.live.get_mut(&row.object) {
            *live = live.saturating_sub(row.bytes);
        }
        if object.refs == 0 {
            self.derived.live.remove(&row.object);
            self.objects.remove(&row.object);
            self.queue_destroy(row.object, at, DestroyReason::Unreferenced);
        }
    }

    /// Drops all references of a stream.
    pub(crate) fn drop_refs(&mut self, stream: StreamId, at: Timestamp) {
        let bases: Vec<Offset> = self.refs(stream).map(|row| row.base).collect();
        for base in bases {
            self.drop_ref(stream, base, at);
        }
    }

    pub(crate) fn put_object(&mut self, row: ObjectRow) {
        self.objects.insert(row.id, row);
    }

    pub(crate) fn queue_destroy(&mut self, object: ObjectId, queued_at: Timestamp, reason: DestroyReason) {
        self.destroy.insert(object, DestroyRow { object, queued_at, reason });
    }

    pub(crate) fn put_reservation(&mut self, row: ReservationRow) {
        self.reservations.insert(row.object, row);
    }

    pub(crate) fn put_transfer(&mut self, row: TransferRow) {
        self.transfers.insert(row.stream, row);
    }

    pub(crate) fn put_key_row(&mut self, row: KeyRow) {
        self.keys.insert((row.space, row.key.clone()), Arc::new(row));
    }

    /// The next version of an entry or key.
    pub(crate) fn take_version(&mut self) -> u64 {
        let version = self.numbers.next_version;
        self.numbers.next_version += 1;
        version
    }
}
