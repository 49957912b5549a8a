//! Rows of objects: own what is known of files in the object store, from their reservation to their
//! destruction, and of pending transfers.

use crate::wire::{wire_enum, wire_struct};
use crate::{Epoch, ObjectId, Offset, SessionId, StreamId, Timestamp, TransferId};

wire_enum! {
    /// How an object is laid out.
    #[derive(Copy)]
    pub enum ObjectKind {
        /// A sealed WAL segment with an index.
        1 => Segment,
        /// Blocks in stream order with an index.
        2 => Packed,
    }
}

wire_struct! {
    /// An immutable file in the object store that some stream refers to.
    #[derive(Copy)]
    pub struct ObjectRow {
        /// Its id.
        pub id: ObjectId,
        /// How it is laid out.
        pub kind: ObjectKind,
        /// Its length.
        pub bytes: u64,
        /// How many references there are to it (P14); at least 1.
        pub refs: u32,
    }

    /// A range of a stream and the object that holds it.
    #[derive(Copy)]
    pub struct ObjectRefRow {
        /// The stream.
        pub stream: StreamId,
        /// The first offset.
        pub base: Offset,
        /// The offset after the last.
        pub end: Offset,
        /// The object, which may hold more of the stream than this range.
        pub object: ObjectId,
        /// The stream under which the object's index knows the records: another one than `stream` in a fork.
        pub source: StreamId,
        /// The time of the first record, or less.
        pub first_timestamp: Timestamp,
        /// The time of the last record, or more.
        pub last_timestamp: Timestamp,
        /// The bytes of the range in the object, an estimate for a fork that shares part of a range.
        pub bytes: u64,
    }

    /// An object id that was handed out and not committed yet.
    #[derive(Copy)]
    pub struct ReservationRow {
        /// The id.
        pub object: ObjectId,
        /// Whose.
        pub session: SessionId,
        /// When it was reserved.
        pub at: Timestamp,
    }
}

wire_enum! {
    /// Why an object is in the destroy queue.
    #[derive(Copy)]
    pub enum DestroyReason {
        /// It was committed, and nothing refers to it any more.
        1 => Unreferenced,
        /// Its reservation expired; the object may not exist.
        2 => Expired,
    }
}

wire_struct! {
    /// An object whose bytes are to be deleted.
    #[derive(Copy)]
    pub struct DestroyRow {
        /// The object.
        pub object: ObjectId,
        /// Since when.
        pub queued_at: Timestamp,
        /// Why.
        pub reason: DestroyReason,
    }

    /// A pending transfer of ownership (P4).
    #[derive(Copy)]
    pub struct TransferRow {
        /// Its id; never reused.
        pub id: TransferId,
        /// The stream.
        pub stream: StreamId,
        /// The session that holds it and drains.
        pub source: SessionId,
        /// The session that opens it afterwards.
        pub target: SessionId,
        /// The epoch that the source holds.
        pub epoch: Epoch,
        /// When it started.
        pub started: Timestamp,
    }
}
