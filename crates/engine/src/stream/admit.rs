//! May this append be accepted? One pure decision over what is known of the stream: owns the order of the checks
//! (P16), guarantees that the retry of a closing append finds its original before it finds the seal, never changes
//! anything.

use bytes::Bytes;
use kelda_format::Offset;
use kelda_format::limits::PRODUCER_GAP_AHEAD;
use kelda_format::rows::ProducerResult;
use kelda_meta::producers::Verdict;

use crate::error::AppendError;
use crate::types::AppendRequest;

/// What the decision depends on: the stream as accepted so far, durable or not.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Standing<'a> {
    /// The offset that the next record gets.
    pub(crate) next: Offset,
    /// Whether the stream is sealed.
    pub(crate) sealed: bool,
    /// The last `Stream-Seq`.
    pub(crate) stream_seq: Option<&'a Bytes>,
}

/// The decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    /// Accept it.
    Accept,
    /// It repeats an accepted append: answer with that one's result once it is durable (P15).
    Duplicate {
        /// What is kept of the original.
        result: Option<ProducerResult>,
        /// The producer's last accepted sequence; none for a repeated seal without a producer.
        seq: Option<u64>,
    },
    /// Its predecessors may be on their way: wait a little, then decide again.
    AwaitPredecessor {
        /// The sequence that would be accepted now.
        expected: u64,
    },
    /// Refuse it.
    Refuse(AppendError),
}

/// Decides. `verdict` is the producer table's, for an append that names a producer. The order is P16's: duplicate,
/// sealed, content type, then the producer's other verdicts, match-offset and `Stream-Seq`.
pub(crate) fn admit(standing: Standing<'_>, request: &AppendRequest, verdict: Option<&Verdict>) -> Admission {
    if let Some(Verdict::Duplicate { result, seq }) = verdict {
        return Admission::Duplicate { result: *result, seq: Some(*seq) };
    }
    if standing.sealed {
        let only_seals = request.seal && request.batch.is_empty() && request.producer.is_none();
        if only_seals {
            return Admission::Duplicate { result: None, seq: None };
        }
        return Admission::Refuse(AppendError::Sealed { tail: standing.next });
    }
    if request.content_type_mismatch {
        return Admission::Refuse(AppendError::ContentType);
    }
    match (verdict, &request.producer) {
        (Some(Verdict::StaleEpoch { current }), _) => {
            return Admission::Refuse(AppendError::StaleEpoch { current: *current });
        }
        (Some(Verdict::BadStart), _) => return Admission::Refuse(AppendError::BadProducerStart),
        (Some(Verdict::Gap { expected }), Some(claim)) => {
            return gap(*expected, claim.seq);
        }
        _ => {}
    }
    if request.match_offset.is_some_and(|offset| offset != standing.next) {
        return Admission::Refuse(AppendError::MatchOffset { tail: standing.next });
    }
    match (standing.stream_seq, &request.stream_seq) {
        (Some(last), Some(seq)) if seq <= last => {
            Admission::Refuse(AppendError::StreamSeq { last: last.clone() })
        }
        _ => Admission::Accept,
    }
}

fn gap(expected: u64, received: u64) -> Admission {
    if received.saturating_sub(expected) <= PRODUCER_GAP_AHEAD {
        Admission::AwaitPredecessor { expected }
    } else {
        Admission::Refuse(AppendError::Gap { expected, received })
    }
}

#[cfg(test)]
mod tests;
