//! Every limit of the formats and of the protocols, each with its reason: owns the numbers, guarantees that
//! encoders refuse what decoders would, never holds a tunable (those are settings of the part they tune).

/// Bytes of a stream name: long enough for any path a human writes, short enough for an object key.
pub const MAX_NAME_BYTES: usize = 1024;

/// Bytes of one record's body. RabbitMQ's own ceiling of 128 MiB, so that what it can hold fits here.
pub const MAX_RECORD_BYTES: usize = 128 << 20;

/// Bytes of all bodies of one batch; a batch is one WAL entry that is held in memory as a whole.
pub const MAX_BATCH_BYTES: usize = 128 << 20;

/// Records of one batch: bounds the work done for one acknowledgement, and the walk to a record in a block.
pub const MAX_BATCH_RECORDS: usize = 10_000;

/// Records of one block; compaction joins batches, but a reader still walks a block's metadata from its start.
pub const MAX_BLOCK_RECORDS: usize = 65_536;

/// Bytes of the encoded headers of one record: headers describe a body, they do not replace it.
pub const MAX_HEADER_BLOCK_BYTES: usize = 64 << 10;

/// Bytes of one header's name: the ceiling of an AMQP short string, so that every name can be delivered there.
pub const MAX_HEADER_NAME_BYTES: usize = 255;

/// How deep tables and arrays may nest in a header value; decoding recurses, so this bounds the stack.
pub const MAX_HEADER_DEPTH: usize = 16;

/// Bytes of all record metadata (headers included) of one batch or block. Held in memory with the bodies, and
/// room for 512 records with the largest header blocks.
pub const MAX_BATCH_META_BYTES: usize = 32 << 20;

/// Bytes of the optional summary of a block: it exists to be cheaper to read than the block.
pub const MAX_SUMMARY_BYTES: usize = 1 << 20;

/// Values that are kept of an extent for filters; one with more is never skipped. As many as short records of it there are.
pub const MAX_SUMMARY_VALUES: usize = 4096;

/// Bytes of a producer id: an id is a name, and up to [`MAX_PRODUCERS_PER_STREAM`] of them live in metadata.
pub const MAX_PRODUCER_ID_BYTES: usize = 256;

/// Bytes of a writer's `Stream-Seq`: one is kept per stream in metadata.
pub const MAX_STREAM_SEQ_BYTES: usize = 256;

/// Producers remembered per stream; beyond, the longest idle is forgotten. Bounds a stream's metadata.
pub const MAX_PRODUCERS_PER_STREAM: usize = 10_000;

/// Results remembered per producer: as many requests as a pipelining client has in flight and may repeat.
pub const PRODUCER_RESULTS_KEPT: usize = 8;

/// Milliseconds (7 days) after which an idle producer may be forgotten: longer than a weekend's outage.
pub const PRODUCER_IDLE_MS: u64 = 7 * 24 * 60 * 60 * 1000;

/// How many sequences ahead of the expected one a request may be and still wait for its predecessors.
pub const PRODUCER_GAP_AHEAD: u64 = 64;

/// Milliseconds such a request waits: several network round trips, far below a client's timeout.
pub const PRODUCER_GAP_WAIT_MS: u64 = 250;

/// Bytes of a content type: longer than any registered one with parameters.
pub const MAX_CONTENT_TYPE_BYTES: usize = 256;

/// The largest number accepted where a client may write one that JavaScript has to hold exactly: 2^53 - 1.
pub const MAX_INTEGER: u64 = (1 << 53) - 1;

/// Sections of one WAL entry: a batch with everything that travels with it needs four.
pub const MAX_ENTRY_SECTIONS: usize = 1024;

/// Bytes of a WAL entry's section area (everything but record metadata and bodies): bounds what is read and
/// checked before the lengths in it can be trusted.
pub const MAX_ENTRY_HEAD_BYTES: usize = 4 << 20;

/// Bytes of a queue's state change in a WAL entry; a larger one is split over entries.
pub const MAX_QUEUE_STATE_BYTES: usize = 1 << 20;

/// Bytes of an object's index: an object of the segment size with the smallest extents stays far below.
pub const MAX_INDEX_BYTES: usize = 64 << 20;

/// Bytes up to which neighbouring blocks of one stream share an extent: one page of a read from the store.
pub const EXTENT_TARGET_BYTES: u64 = 64 << 10;

/// Bytes of other streams' entries an extent may span between two of its own blocks, since every reader of
/// the extent reads them too.
pub const EXTENT_GAP_BYTES: u64 = 4 << 10;

/// Bytes of one argument name or value of a registry entry, as AMQP's declare may carry them.
pub const MAX_ARGUMENT_BYTES: usize = 4096;

/// Arguments of one registry entry.
pub const MAX_ARGUMENTS: usize = 64;

/// Commands of one metadata log entry: what one flush packs together.
pub const MAX_COMMANDS_PER_ENTRY: usize = 256;

/// Bytes of one metadata log entry, so that a reader can refuse before it allocates.
pub const MAX_LOG_ENTRY_BYTES: usize = 64 << 20;

/// Something a client sent that exceeds a limit of this file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LimitError {
    /// One body over [`MAX_RECORD_BYTES`].
    #[error("record of {found} bytes, at most {MAX_RECORD_BYTES} allowed")]
    RecordBytes {
        /// Bytes of the body, as far as known.
        found: u64,
    },
    /// All bodies together over [`MAX_BATCH_BYTES`].
    #[error("batch of {found} bytes, at most {MAX_BATCH_BYTES} allowed")]
    BatchBytes {
        /// Bytes of the bodies, as far as known.
        found: u64,
    },
    /// More records than [`MAX_BATCH_RECORDS`].
    #[error("batch of {found} records, at most {MAX_BATCH_RECORDS} allowed")]
    BatchRecords {
        /// Records, as far as known.
        found: u64,
    },
    /// Metadata of all records over [`MAX_BATCH_META_BYTES`].
    #[error("batch with {found} bytes of headers and times, at most {MAX_BATCH_META_BYTES} allowed")]
    BatchMetaBytes {
        /// Bytes of encoded metadata, as far as known.
        found: u64,
    },
    /// Encoded headers of one record over [`MAX_HEADER_BLOCK_BYTES`].
    #[error("record with {found} bytes of headers, at most {MAX_HEADER_BLOCK_BYTES} allowed")]
    HeaderBlockBytes {
        /// Bytes of the encoded headers.
        found: u64,
    },
    /// A header's name over [`MAX_HEADER_NAME_BYTES`].
    #[error("header name of {found} bytes, at most {MAX_HEADER_NAME_BYTES} allowed")]
    HeaderNameBytes {
        /// Bytes of the name.
        found: u64,
    },
    /// Tables and arrays nested deeper than [`MAX_HEADER_DEPTH`].
    #[error("header value nested deeper than {MAX_HEADER_DEPTH} levels")]
    HeaderDepth,
    /// A short string over 255 bytes.
    #[error("short string of {found} bytes in a header, at most 255 allowed")]
    ShortStringBytes {
        /// Bytes of the short string.
        found: u64,
    },
}
