//! Rows of streams and of the names they live under: own what is known of a stream besides its objects and
//! producers.

use bytes::Bytes;

use crate::wire::{wire_enum, wire_struct};
use crate::{Epoch, Offset, SessionId, StreamId, StreamName, Timestamp};

wire_enum! {
    /// What a stream is to its users.
    #[derive(Copy)]
    pub enum StreamKind {
        /// A stream: records stay when they are read.
        1 => Stream,
        /// A queue: competing consumers with acknowledgement over an internal stream.
        2 => Queue,
    }

    /// How far a registry entry is with its life.
    #[derive(Copy)]
    pub enum EntryState {
        /// Created with content that is not durable yet; a repeat of the creation completes it.
        1 => Initialising,
        /// In use.
        2 => Live,
        /// Deleted while forks of it live: the name answers 410 and the stream's row is gone.
        3 => SoftDeleted,
    }

    /// When a stream is removed as a whole.
    #[derive(Copy)]
    pub enum Expiry {
        /// Never.
        1 => Never,
        /// So many milliseconds after the last read or write.
        2 => Sliding {
            /// Milliseconds without use; at least 1.
            ttl_ms: u64,
        },
        /// At this time.
        3 => At(time: Timestamp),
    }
}

wire_struct! {
    /// An internal stream: its epoch, its committed range and who holds it.
    pub struct StreamRow {
        /// Its id; never reused.
        pub id: StreamId,
        /// The name it lives under.
        pub name: StreamName,
        /// What it is to its users.
        pub kind: StreamKind,
        /// The epoch of the last open; absent until first opened.
        pub epoch: Option<Epoch>,
        /// The session that holds it open.
        pub owner: Option<SessionId>,
        /// The first readable offset.
        pub start: Offset,
        /// The committed tail.
        pub end: Offset,
        /// The time of the last committed record, kept when trimmed empty (P18).
        pub last_timestamp: Timestamp,
        /// Takes no more records, ever.
        pub sealed: bool,
        /// The sum of `bytes` over its object references.
        pub bytes: u64,
        /// How many producer rows it has.
        pub producers: u32,
        /// The writer's last `Stream-Seq`, as of the committed tail.
        pub stream_seq: Option<Bytes>,
        /// The state of a queue as of the committed tail.
        pub checkpoint: Option<Bytes>,
        /// When it expires at the earliest, as far as persisted; absent when it never does.
        pub deadline: Option<Timestamp>,
    }

    /// Where a fork left its parent.
    #[derive(Copy)]
    pub struct ForkPoint {
        /// The parent.
        pub stream: StreamId,
        /// The first offset that is the fork's own.
        pub offset: Offset,
    }

    /// What bounds a stream; an absent value does not bound it.
    #[derive(Copy, Default)]
    pub struct Retention {
        /// Milliseconds that a record is kept.
        pub max_age_ms: Option<u64>,
        /// Bytes that are kept.
        pub max_bytes: Option<u64>,
        /// Bytes per segment, the unit in which retention removes.
        pub segment_bytes: Option<u64>,
    }

    /// A registry entry: what a name stands for.
    pub struct EntryRow {
        /// The name.
        pub name: StreamName,
        /// The internal stream, which is also the incarnation of the name.
        pub stream: StreamId,
        /// What it is to its users.
        pub kind: StreamKind,
        /// How far it is with its life.
        pub state: EntryState,
        /// Where it left its parent, for a fork.
        pub parent: Option<ForkPoint>,
        /// The content type of the stream; at most 256 bytes.
        pub content_type: String,
        /// When the stream is removed as a whole.
        pub expiry: Expiry,
        /// The retention in force.
        pub retention: Retention,
        /// The arguments of the declaration, as given, in their order.
        pub arguments: Vec<(String, String)>,
        /// When it was created.
        pub created: Timestamp,
        /// Grows with every change of this row; unique over all entries and keys.
        pub version: u64,
    }
}

impl Retention {
    /// Whether it bounds what a stream keeps; the size of a segment alone does not.
    #[must_use]
    pub fn is_bound(&self) -> bool {
        self.max_age_ms.is_some() || self.max_bytes.is_some()
    }
}
