//! Commands about objects: reservation, commit, compaction, destruction.

use bytes::Bytes;

use crate::rows::{ObjectKind, ProducerId, ProducerRow};
use crate::wire::wire_struct;
use crate::{Epoch, ObjectId, Offset, SessionId, StreamId, Timestamp};

wire_struct! {
    /// Hands out object ids.
    pub struct ReserveObjects {
        /// To whom.
        pub session: SessionId,
        /// How many; at least 1.
        pub count: u32,
        /// Now.
        pub at: Timestamp,
    }

    /// An object that a command brings in, under a reserved id.
    #[derive(Copy)]
    pub struct NewObject {
        /// The reserved id.
        pub id: ObjectId,
        /// How it is laid out.
        pub kind: ObjectKind,
        /// Its length.
        pub bytes: u64,
    }

    /// A range of a stream in an object that the same command brings in.
    #[derive(Copy)]
    pub struct ObjectRef {
        /// The first offset.
        pub base: Offset,
        /// The offset after the last.
        pub end: Offset,
        /// The object.
        pub object: ObjectId,
        /// The time of the first record.
        pub first_timestamp: Timestamp,
        /// The time of the last record.
        pub last_timestamp: Timestamp,
        /// The bytes of the range in the object.
        pub bytes: u64,
    }

    /// What a commit does to one stream (P10).
    pub struct CommitPart {
        /// The stream.
        pub stream: StreamId,
        /// The epoch under which the records were written.
        pub epoch: Epoch,
        /// The committed tail before.
        pub expected_end: Offset,
        /// The committed tail after; equal to the one before when only a seal or other state is committed.
        pub end: Offset,
        /// The time of the last record (P18).
        pub last_timestamp: Timestamp,
        /// Whether the stream is sealed at `end` (P16).
        pub sealed: bool,
        /// The writer's `Stream-Seq` as of `end`, when it changed.
        pub stream_seq: Option<Bytes>,
        /// The state of a queue as of `end`, when it changed.
        pub checkpoint: Option<Bytes>,
        /// The sliding deadline as the owner knows it, when it is to be persisted.
        pub deadline: Option<Timestamp>,
        /// The producers that are forgotten, before `producers` is applied.
        pub forget: Vec<ProducerId>,
        /// The rows of the producers that changed, as of exactly `end` (P15).
        pub producers: Vec<ProducerRow>,
        /// The objects that hold `expected_end..end`, in order.
        pub refs: Vec<ObjectRef>,
    }

    /// Commits one contiguous range of slots of one WAL (P7, P10).
    pub struct CommitObjects {
        /// Who proposes it, and reserved the objects.
        pub session: SessionId,
        /// Whose WAL it commits; another session's only when that one is fenced.
        pub wal: SessionId,
        /// The WAL start before.
        pub expect_wal_start: u64,
        /// The WAL start after; greater.
        pub wal_start: u64,
        /// The objects that it brings in.
        pub objects: Vec<NewObject>,
        /// One part per stream.
        pub parts: Vec<CommitPart>,
        /// Now.
        pub at: Timestamp,
    }

    /// A reference that compaction replaces.
    #[derive(Copy)]
    pub struct CompactInput {
        /// The base offset of the reference.
        pub base: Offset,
        /// The object it refers to.
        pub object: ObjectId,
    }

    /// What a compaction does to one stream.
    pub struct CompactPart {
        /// The stream.
        pub stream: StreamId,
        /// The stream id under which the new objects know the records.
        pub source: StreamId,
        /// The references to replace: consecutive ones, in order.
        pub inputs: Vec<CompactInput>,
        /// What replaces them: the same range, except that what was trimmed may be left out.
        pub refs: Vec<ObjectRef>,
    }

    /// Replaces objects by others with the same records.
    pub struct CompactObjects {
        /// Who proposes it, and reserved the objects.
        pub session: SessionId,
        /// The objects that it brings in.
        pub objects: Vec<NewObject>,
        /// One part per stream.
        pub parts: Vec<CompactPart>,
        /// Now.
        pub at: Timestamp,
    }

    /// Takes objects whose bytes are deleted off the destroy queue.
    pub struct CleanObjects {
        /// Who deleted them.
        pub session: SessionId,
        /// Which.
        pub objects: Vec<ObjectId>,
    }

    /// Gives up reservations that were made too long ago; their objects go to the destroy queue.
    pub struct ExpireReservations {
        /// Whose; everybody's when absent.
        pub owner: Option<SessionId>,
        /// Those made before this time.
        pub before: Timestamp,
        /// Now; not before `before`.
        pub at: Timestamp,
    }
}
