//! Append and seal: owns the request, its checks before the engine, and the bounded retries when a stream was
//! closed under the request. The order of checks that P16 asks for is kept by the engine, in one step with the
//! hand-over to the WAL; what is checked here (limits, JSON) refuses requests that could never be accepted.

use std::sync::Arc;

use bytes::Bytes;
use kelda_engine::{AppendError as EngineError, Appended};
use kelda_format::{Offset, StreamId, StreamName, Timestamp};
use tokio::sync::Notify;

use crate::caller::{Caller, Operation};
use crate::producer::{ProducerClaim, check_claim, check_stream_seq};
use crate::service::{Inner, Service};
use crate::{
    Content, ContentError, Fact, Fault, Field, LookupError, NodeFault, Problem, ProducerError, content_type,
};

/// One atomic append: all records or none, at consecutive offsets.
#[derive(Clone, Debug, Default)]
pub struct AppendRequest {
    /// The records; may be empty only together with `seal`.
    pub content: Content,
    /// Whether the stream takes no more records afterwards.
    pub seal: bool,
    /// The content type of the request, compared with the stream's unless there is no content; `None` compares
    /// nothing.
    pub content_type: Option<String>,
    /// The idempotent producer that sends this.
    pub producer: Option<ProducerClaim>,
    /// Refuse unless the first record would get this offset.
    pub match_offset: Option<Offset>,
    /// The writer's own sequence; bytes that must be greater than the last.
    pub stream_seq: Option<Bytes>,
    /// Refuse unless the name stands for this stream.
    pub if_stream: Option<StreamId>,
}

/// What an append got; durable when it is returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// The stream that was appended to.
    pub stream: StreamId,
    /// Offset of the first record; absent for a duplicate that is too old for its result to be kept.
    pub first: Option<Offset>,
    /// The offset after the last record of this append; for such a duplicate, the tail.
    pub next: Offset,
    /// The time the records got; absent for a duplicate, whose time is not kept.
    pub timestamp: Option<Timestamp>,
    /// Whether this repeats an append that was accepted before, so that nothing was written.
    pub duplicate: bool,
    /// Whether the stream is sealed now.
    pub sealed: bool,
    /// The producer's epoch and its last accepted sequence.
    pub producer: Option<(u64, u64)>,
}

/// Why an append was refused, or what is known about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AppendError {
    /// The name gave no stream.
    #[error(transparent)]
    Lookup(#[from] LookupError),
    /// The content cannot be appended.
    #[error(transparent)]
    Content(#[from] ContentError),
    /// The producer or `Stream-Seq` is malformed.
    #[error(transparent)]
    Producer(#[from] ProducerError),
    /// The stream is sealed.
    #[error("the stream is sealed at offset {tail}")]
    Sealed {
        /// Its end.
        tail: Offset,
    },
    /// Another content type than the stream's.
    #[error("the stream holds {existing}, not {received}")]
    ContentType {
        /// The stream's.
        existing: String,
        /// The request's.
        received: String,
    },
    /// The tail is elsewhere.
    #[error("the tail is {tail}, not {asked}")]
    MatchOffset {
        /// Where it is.
        tail: Offset,
        /// What was asked for.
        asked: Offset,
    },
    /// `Stream-Seq` does not rise.
    #[error("stream sequence {received:?} is not greater than the last, {last:?}")]
    StreamSeq {
        /// The last one accepted.
        last: String,
        /// The one received.
        received: String,
    },
    /// A newer epoch of the producer has written.
    #[error("producer epoch {received} is over, {current} is in force")]
    StaleEpoch {
        /// The epoch in force.
        current: u64,
        /// The epoch received.
        received: u64,
    },
    /// A sequence is missing.
    #[error("producer sequence {received} leaves a gap, {expected} is next")]
    Gap {
        /// The next sequence.
        expected: u64,
        /// The sequence received.
        received: u64,
    },
    /// An epoch that does not begin at 0.
    #[error("producer sequence {received} cannot begin an epoch, 0 does")]
    ProducerStart {
        /// The sequence received.
        received: u64,
    },
    /// The node cannot now.
    #[error(transparent)]
    Node(#[from] NodeFault),
}

impl Fault for AppendError {
    fn problem(&self) -> Problem {
        match self {
            AppendError::Lookup(error) => error.problem(),
            AppendError::Content(error) => error.problem(),
            AppendError::Producer(error) => error.problem(),
            AppendError::Sealed { .. } => Problem::Sealed,
            AppendError::ContentType { .. } => Problem::ContentTypeMismatch,
            AppendError::MatchOffset { .. } => Problem::MatchOffset,
            AppendError::StreamSeq { .. } => Problem::StreamSeq,
            AppendError::StaleEpoch { .. } => Problem::StaleEpoch,
            AppendError::Gap { .. } => Problem::SequenceGap,
            AppendError::ProducerStart { .. } => Problem::ProducerStart,
            AppendError::Node(error) => error.problem(),
        }
    }

    fn fields(&self) -> Vec<Field> {
        match self {
            AppendError::Lookup(error) => error.fields(),
            AppendError::Content(error) => error.fields(),
            AppendError::Producer(error) => error.fields(),
            AppendError::Node(error) => error.fields(),
            AppendError::Sealed { tail } | AppendError::MatchOffset { tail, .. } => {
                vec![("next_offset", Fact::Offset(*tail))]
            }
            AppendError::ContentType { existing, .. } => vec![("content_type", Fact::Text(existing.clone()))],
            AppendError::StreamSeq { last, .. } => vec![("last_seq", Fact::Text(last.clone()))],
            AppendError::StaleEpoch { current, .. } => vec![("producer_epoch", Fact::Number(*current))],
            AppendError::Gap { expected, received } => {
                vec![("expected_seq", Fact::Number(*expected)), ("received_seq", Fact::Number(*received))]
            }
            AppendError::ProducerStart { .. } => vec![("expected_seq", Fact::Number(0))],
        }
    }
}

/// What an append needs to know of its stream, taken from one view.
struct Target {
    stream: StreamId,
    json: bool,
    /// The stream's content type and the request's, when they differ.
    mismatch: Option<(String, String)>,
}

impl Service {
    /// Appends records, seals, or both, and returns when that is durable.
    ///
    /// A seal without records succeeds on a sealed stream too. A repeat by the same producer with the same
    /// sequence is acknowledged without writing, also when the stream was sealed by it.
    ///
    /// # Errors
    /// [`AppendError`]; with [`NodeFault::OutcomeUnknown`] the append may or may not have happened, with every
    /// other error it has not.
    pub async fn append(
        &self,
        caller: &Caller,
        name: &StreamName,
        request: AppendRequest,
    ) -> Result<Receipt, AppendError> {
        self.append_in_turn(caller, name, request, &Notify::new()).await
    }

    /// Appends as [`Service::append`] does, and gives `placed` a permit as soon as what is appended later comes behind it,
    /// so that the next append of a writer can be on its way before this one is durable. None is given when it is refused.
    ///
    /// # Errors
    /// Those of [`Service::append`].
    pub async fn append_in_turn(
        &self,
        caller: &Caller,
        name: &StreamName,
        request: AppendRequest,
        placed: &Notify,
    ) -> Result<Receipt, AppendError> {
        let inner = &self.inner;
        if let Some(claim) = &request.producer {
            check_claim(claim)?;
        }
        if let Some(seq) = &request.stream_seq {
            check_stream_seq(seq)?;
        }
        let (target, used) = inner.target(caller, name, &request)?;
        // A body of another type is not cut: the engine refuses it in its turn, after the duplicate check.
        let (json, seal) = (target.json && target.mismatch.is_none(), request.seal);
        let batch = inner.cut(request.content, move |content| content.to_append(json, seal)).await??;
        let to_engine = kelda_engine::AppendRequest {
            batch,
            seal: request.seal,
            producer: request.producer,
            match_offset: request.match_offset,
            stream_seq: request.stream_seq,
            content_type_mismatch: target.mismatch.is_some(),
        };
        let receipt = inner
            .append_to(target.stream, &to_engine, placed)
            .await
            .map_err(|refused| refused.explain(name, &to_engine, target.mismatch))?;
        used.touch();
        Ok(receipt)
    }
}

/// Why the engine did not take an append.
pub(crate) enum Refused {
    /// A refusal for the caller to explain.
    Engine(EngineError),
    /// The node cannot now.
    Node(NodeFault),
}

impl Refused {
    fn explain(
        self,
        name: &StreamName,
        request: &kelda_engine::AppendRequest,
        mismatch: Option<(String, String)>,
    ) -> AppendError {
        let error = match self {
            Refused::Node(fault) => return fault.into(),
            Refused::Engine(error) => error,
        };
        let (epoch, seq) = request.producer.as_ref().map_or((0, 0), |claim| (claim.epoch, claim.seq));
        match error {
            EngineError::Sealed { tail } => AppendError::Sealed { tail },
            EngineError::ContentType => {
                let (existing, received) = mismatch.unwrap_or_default();
                AppendError::ContentType { existing, received }
            }
            EngineError::MatchOffset { tail } => {
                AppendError::MatchOffset { tail, asked: request.match_offset.unwrap_or_default() }
            }
            EngineError::StreamSeq { last } => {
                let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                let received = request.stream_seq.as_deref().map(text).unwrap_or_default();
                AppendError::StreamSeq { last: text(&last), received }
            }
            EngineError::StaleEpoch { current } => AppendError::StaleEpoch { current, received: epoch },
            EngineError::Gap { expected, received } => AppendError::Gap { expected, received },
            EngineError::BadProducerStart => AppendError::ProducerStart { received: seq },
            EngineError::Gone => LookupError::NotFound { name: name.clone() }.into(),
            EngineError::TooLarge { bytes, max } => ContentError::TooLarge { bytes, max }.into(),
            EngineError::Overloaded(what) => NodeFault::Overloaded { what: what.to_owned() }.into(),
            EngineError::DiskFull => NodeFault::DiskFull.into(),
            EngineError::OutcomeUnknown => NodeFault::OutcomeUnknown.into(),
            EngineError::Closed => {
                NodeFault::Unavailable { reason: "the stream keeps closing".to_owned() }.into()
            }
        }
    }
}

impl Inner {
    fn target(
        self: &Arc<Inner>,
        caller: &Caller,
        name: &StreamName,
        request: &AppendRequest,
    ) -> Result<(Target, crate::expiry::Use), LookupError> {
        let view = self.meta.view();
        let entry = self.find(&view, (caller, Operation::Append), name, request.if_stream)?;
        let received = request.content_type.as_deref().filter(|_| !request.content.is_empty());
        let mismatch = received
            .filter(|received| !content_type::same(received, &entry.content_type))
            .map(|received| (entry.content_type.clone(), received.to_owned()));
        let used = self.enter(entry)?;
        let json = content_type::is_json(&entry.content_type);
        Ok((Target { stream: entry.stream, json, mismatch }, used))
    }

    /// Appends to an internal stream, opening it as often as it turns out closed, within bounds.
    pub(crate) async fn append_to(
        &self,
        stream: StreamId,
        request: &kelda_engine::AppendRequest,
        placed: &Notify,
    ) -> Result<Receipt, Refused> {
        let mut patience = self.patience();
        loop {
            let open = self.open(stream, &mut patience).await.map_err(|error| match error {
                None => Refused::Engine(EngineError::Gone),
                Some(fault) => Refused::Node(fault),
            })?;
            match open.append_in_turn(request.clone(), placed).await {
                Ok(appended) => return Ok(receipt(stream, request, &appended)),
                Err(EngineError::Closed) if self.wait_again(&mut patience).await => {}
                Err(error) => return Err(Refused::Engine(error)),
            }
        }
    }
}

fn receipt(stream: StreamId, request: &kelda_engine::AppendRequest, appended: &Appended) -> Receipt {
    let producer = request.producer.as_ref().zip(appended.producer_seq);
    Receipt {
        stream,
        first: appended.exact.then_some(appended.first),
        next: appended.next,
        timestamp: (!appended.duplicate).then_some(appended.timestamp),
        duplicate: appended.duplicate,
        sealed: appended.sealed,
        producer: producer.map(|(claim, seq)| (claim.epoch, seq)),
    }
}
