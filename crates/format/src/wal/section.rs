//! The typed sections of a WAL entry: owns their types and payloads, guarantees that an unknown type is an
//! error and never skipped, never decides what a section does to a stream.

use bytes::Bytes;

use crate::block::{BLOCK_HEADER_BYTES, Block};
use crate::ids::{ClusterId, Epoch, Offset, StreamId, Timestamp};
use crate::limits::{MAX_PRODUCER_ID_BYTES, MAX_QUEUE_STATE_BYTES, MAX_STREAM_SEQ_BYTES};
use crate::wire::{DecodeError, Reader, Wire, varint_len};
use crate::wire_struct;

/// Bytes of a section's fixed header.
pub(super) const SECTION_HEADER_BYTES: usize = 24;

pub(super) const RECORDS: u8 = 1;
const PRODUCER: u8 = 2;
const SEAL: u8 = 3;
const STREAM_SEQ: u8 = 4;
const QUEUE_STATE: u8 = 5;
const FORGET_PRODUCER: u8 = 6;

wire_struct! {
    /// What an idempotent producer's accepted request does to its row.
    pub struct ProducerChange {
        /// The producer, at most 256 bytes.
        pub id: String,
        /// Its epoch.
        pub epoch: u64,
        /// The sequence that was accepted.
        pub seq: u64,
        /// Offset of the first record it wrote (the tail when it wrote none).
        pub first_offset: Offset,
        /// Records it wrote.
        pub count: u32,
        /// When the owner accepted it.
        pub at: Timestamp,
    }
}

impl ProducerChange {
    fn encoded_len(&self) -> usize {
        let fields = [
            self.id.len() as u64,
            self.epoch,
            self.seq,
            self.first_offset.0,
            u64::from(self.count),
            self.at.0,
        ];
        self.id.len() + fields.into_iter().map(varint_len).sum::<usize>()
    }
}

/// One thing that happened to a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Section {
    /// Records in their place.
    Records(Block),
    /// An idempotent producer's request was accepted.
    Producer(ProducerChange),
    /// The stream takes no more records.
    Seal,
    /// The writer's `Stream-Seq`, at most 256 bytes.
    StreamSeq(Bytes),
    /// A change of a queue's delivery state, opaque here, at most 1 MiB.
    QueueState(Bytes),
    /// The producer with this id was forgotten.
    ForgetProducer(String),
}

/// A section and the stream and epoch that it belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamSection {
    /// The stream.
    pub stream: StreamId,
    /// The epoch it was accepted under.
    pub epoch: Epoch,
    /// What happened.
    pub section: Section,
}

impl Section {
    pub(super) fn type_byte(&self) -> u8 {
        match self {
            Section::Records(_) => RECORDS,
            Section::Producer(_) => PRODUCER,
            Section::Seal => SEAL,
            Section::StreamSeq(_) => STREAM_SEQ,
            Section::QueueState(_) => QUEUE_STATE,
            Section::ForgetProducer(_) => FORGET_PRODUCER,
        }
    }

    /// Bytes of what [`Section::put_payload`] appends.
    pub(super) fn payload_len(&self) -> usize {
        match self {
            Section::Records(_) => RECORDS_PAYLOAD_BYTES,
            Section::Producer(change) => change.encoded_len(),
            Section::Seal => 0,
            Section::StreamSeq(bytes) | Section::QueueState(bytes) => bytes.len(),
            Section::ForgetProducer(id) => id.len(),
        }
    }

    /// Appends what of the section lies in the section area.
    pub(super) fn put_payload(&self, out: &mut Vec<u8>, cluster: ClusterId) {
        match self {
            Section::Records(block) => out.extend_from_slice(&block.header.encode(cluster)),
            Section::Producer(change) => {
                assert!(change.id.len() <= MAX_PRODUCER_ID_BYTES, "producer id of {} bytes", change.id.len());
                change.put(out);
            }
            Section::Seal => {}
            Section::StreamSeq(seq) => {
                assert!(seq.len() <= MAX_STREAM_SEQ_BYTES, "stream seq of {} bytes", seq.len());
                out.extend_from_slice(seq);
            }
            Section::QueueState(state) => {
                assert!(state.len() <= MAX_QUEUE_STATE_BYTES, "queue state of {} bytes", state.len());
                out.extend_from_slice(state);
            }
            Section::ForgetProducer(id) => {
                assert!(id.len() <= MAX_PRODUCER_ID_BYTES, "producer id of {} bytes", id.len());
                out.extend_from_slice(id.as_bytes());
            }
        }
    }

    /// Reads a payload of a type other than records; `None` when the type is unknown.
    pub(super) fn get_payload(kind: u8, payload: &Bytes) -> Result<Option<Section>, DecodeError> {
        const WHAT: &str = "WAL section";
        let mut reader = Reader::of_shared(payload, WHAT);
        let at_most = |max: usize| match payload.len() {
            len if len <= max => Ok(()),
            len => Err(DecodeError::new(WHAT, 0, format!("{len} bytes, at most {max} allowed"))),
        };
        let section = match kind {
            PRODUCER => {
                let change = ProducerChange::get(&mut reader)?;
                if change.id.len() > MAX_PRODUCER_ID_BYTES {
                    return Err(reader.error(format!("producer id of {} bytes", change.id.len())));
                }
                Section::Producer(change)
            }
            SEAL => Section::Seal,
            STREAM_SEQ => {
                at_most(MAX_STREAM_SEQ_BYTES)?;
                Section::StreamSeq(reader.shared(payload.len())?)
            }
            QUEUE_STATE => {
                at_most(MAX_QUEUE_STATE_BYTES)?;
                Section::QueueState(reader.shared(payload.len())?)
            }
            FORGET_PRODUCER => {
                at_most(MAX_PRODUCER_ID_BYTES)?;
                let id = std::str::from_utf8(reader.take(payload.len())?)
                    .map_err(|error| reader.error(format!("producer id is not UTF-8: {error}")))?;
                Section::ForgetProducer(id.to_owned())
            }
            _ => return Ok(None),
        };
        reader.finish()?;
        Ok(Some(section))
    }
}

/// Bytes of a records section's payload.
pub(super) const RECORDS_PAYLOAD_BYTES: usize = BLOCK_HEADER_BYTES;
