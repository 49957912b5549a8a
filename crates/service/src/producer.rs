//! Idempotent producers as callers name them: owns the limits of id, epoch and sequence. What an append of
//! one means is decided in the metadata crate, once, for appends and replay alike.

use kelda_format::limits::{MAX_INTEGER, MAX_PRODUCER_ID_BYTES, MAX_STREAM_SEQ_BYTES};

use crate::{Fact, Fault, Field, Problem};

pub use kelda_meta::producers::ProducerClaim;

/// A producer that cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProducerError {
    /// No id.
    #[error("the producer id is empty: 1 to {MAX_PRODUCER_ID_BYTES} bytes are right")]
    EmptyId,
    /// An id that is too long.
    #[error("the producer id has {bytes} bytes: at most {MAX_PRODUCER_ID_BYTES} are allowed")]
    LongId {
        /// Its length in bytes.
        bytes: usize,
    },
    /// Epoch or sequence beyond what JavaScript holds exactly.
    #[error("the producer {field} is {value}: at most {MAX_INTEGER} is allowed")]
    OutOfRange {
        /// `epoch` or `sequence`.
        field: &'static str,
        /// The value.
        value: u64,
    },
    /// A `Stream-Seq` that is empty or too long.
    #[error("the stream sequence has {bytes} bytes: 1 to {MAX_STREAM_SEQ_BYTES} are allowed")]
    StreamSeq {
        /// Its length in bytes.
        bytes: usize,
    },
}

impl Fault for ProducerError {
    fn problem(&self) -> Problem {
        match self {
            ProducerError::StreamSeq { .. } => Problem::InvalidHeader,
            _ => Problem::InvalidProducer,
        }
    }

    fn fields(&self) -> Vec<Field> {
        match self {
            ProducerError::OutOfRange { .. } => vec![("limit", Fact::Number(MAX_INTEGER))],
            _ => Vec::new(),
        }
    }
}

/// Checks what a caller claims.
///
/// # Errors
/// The first value that is out of its range.
pub fn check_claim(claim: &ProducerClaim) -> Result<(), ProducerError> {
    match claim.id.as_str().len() {
        0 => return Err(ProducerError::EmptyId),
        bytes if bytes > MAX_PRODUCER_ID_BYTES => return Err(ProducerError::LongId { bytes }),
        _ => {}
    }
    for (field, value) in [("epoch", claim.epoch), ("sequence", claim.seq)] {
        if value > MAX_INTEGER {
            return Err(ProducerError::OutOfRange { field, value });
        }
    }
    Ok(())
}

/// Checks a writer's `Stream-Seq`.
///
/// # Errors
/// When it is empty or too long.
pub fn check_stream_seq(seq: &[u8]) -> Result<(), ProducerError> {
    match seq.len() {
        1..=MAX_STREAM_SEQ_BYTES => Ok(()),
        bytes => Err(ProducerError::StreamSeq { bytes }),
    }
}
