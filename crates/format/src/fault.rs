//! The finer reasons of rejections: what is wrong with one part of a commit, and which limit was exceeded.

use crate::wire::wire_enum;
use crate::{ObjectId, Offset, StreamId, Timestamp};

wire_enum! {
    /// What is wrong with the part of a commit or compaction that concerns one stream.
    #[derive(Copy, thiserror::Error)]
    pub enum PartFault {
        /// A second part of the same stream.
        #[error("it is the second part of the stream")]
        1 => Twice,
        /// The stream is sealed, and the part goes on or unseals it.
        #[error("the stream is sealed at {end}")]
        2 => Sealed {
            /// Where.
            end: Offset,
        },
        /// The references are not contiguous.
        #[error("references have to go on at offset {expected}, {found} found")]
        3 => NotContiguous {
            /// The offset that has to come.
            expected: Offset,
            /// The offset that came.
            found: Offset,
        },
        /// A reference is empty or goes back.
        #[error("the reference at {base} ends at {end}")]
        4 => EmptyRef {
            /// Its base.
            base: Offset,
            /// Its end.
            end: Offset,
        },
        /// Times go back.
        #[error("time {found} comes after time {last}")]
        5 => TimeBack {
            /// The time before.
            last: Timestamp,
            /// The time after.
            found: Timestamp,
        },
        /// A reference to an object that the command does not bring in.
        #[error("object {object} is referenced but not among the objects of the command")]
        6 => ForeignObject {
            /// The object.
            object: ObjectId,
        },
        /// A producer row of another stream, or listed twice.
        #[error("producer row {index} is of another stream, or the second of its producer")]
        7 => ForeignProducer {
            /// Its position in the part.
            index: u32,
        },
        /// A producer row that goes back behind the one that is stored.
        #[error("producer row {index} goes back from epoch {epoch}, sequence {seq}")]
        8 => ProducerBack {
            /// Its position in the part.
            index: u32,
            /// The epoch that is stored.
            epoch: u64,
            /// The sequence that is stored.
            seq: u64,
        },
        /// A producer row that is not as of the new committed tail (P15).
        #[error("producer row {index} reaches {next_offset}, beyond the committed tail {end}")]
        9 => ProducerBeyond {
            /// Its position in the part.
            index: u32,
            /// Where it reaches.
            next_offset: Offset,
            /// The committed tail.
            end: Offset,
        },
        /// A producer row that contradicts itself or is too large.
        #[error("producer row {index} has an id of a wrong length or results out of order")]
        10 => ProducerMalformed {
            /// Its position in the part.
            index: u32,
        },
        /// More producers than a stream may have.
        #[error("the stream would have {count} producers, at most {max} allowed")]
        11 => TooManyProducers {
            /// How many there would be.
            count: u64,
            /// How many are allowed.
            max: u64,
        },
        /// An input of a compaction that is not referenced any more (P13).
        #[error("object {object} is not referenced at {base} any more")]
        12 => InputGone {
            /// The base offset.
            base: Offset,
            /// The object.
            object: ObjectId,
        },
        /// A compaction that does not replace all of what it removes.
        #[error("the inputs cover {start} to {end}, and what replaces them does not")]
        13 => NotReplaced {
            /// Where the inputs start.
            start: Offset,
            /// Where they end.
            end: Offset,
        },
        /// A part without references where there have to be some.
        #[error("it has no references")]
        14 => NoRefs,
        /// A reference to more bytes than an object can have.
        #[error("the reference at {base} is to {bytes} bytes, more than an object can have")]
        15 => RefBytes {
            /// Its base.
            base: Offset,
            /// Its bytes.
            bytes: u64,
        },
        /// A compaction to a source that is neither the stream nor that of an input.
        #[error("the new objects would know the records under {found}, which no input does")]
        16 => ForeignSource {
            /// The source.
            found: StreamId,
        },
    }

    /// What a limit is about.
    #[derive(Copy)]
    pub enum Limited {
        /// Bytes of a content type.
        1 => ContentTypeBytes,
        /// Milliseconds of a sliding expiry.
        2 => TtlMs,
        /// Arguments of a declaration.
        3 => Arguments,
        /// Bytes of the name or value of an argument.
        4 => ArgumentBytes,
        /// Object ids of one reservation.
        5 => ReservedObjects,
        /// Slots of a node.
        6 => Slots,
        /// Bytes of a node's address.
        7 => AddressBytes,
        /// Bytes of a `Stream-Seq`.
        8 => StreamSeqBytes,
        /// Bytes of a checkpoint.
        9 => CheckpointBytes,
        /// Bytes of a key.
        10 => KeyBytes,
        /// Bytes of a value.
        11 => ValueBytes,
        /// Objects of one command.
        12 => Objects,
        /// Bytes of an object.
        13 => ObjectBytes,
    }
}
