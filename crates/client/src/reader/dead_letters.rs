//! Copies of entries that could not be handled: owns what a copy says of its original and where it goes. Guarantees that a
//! copy has the body and the headers of the original and names its place; at least once, never exactly. Never touches the
//! original.

use futures::future::BoxFuture;
use kelda_format::batch::Batch;
use kelda_format::{Header, Headers, LimitError, Record, StoredRecord, Value};

use super::end::FailureCause;
#[cfg(feature = "amqp")]
use crate::amqp::{Amqp, AmqpTarget};
use crate::append;
use crate::backoff::Backoff;
use crate::connect::Kelda;
use crate::envelope::dead;
use crate::error::Error;
use crate::message::Origin;
use crate::retry::RetryPolicy;
use crate::stream_limits::StreamLimits;
use crate::timer::{self, Stopwatch};

/// Bytes of the reason in a copy; what is longer is cut.
const MAX_REASON_BYTES: usize = 4096;

/// Where copies are written to.
pub(crate) trait Target: Send + Sync + 'static {
    /// Writes one copy, in one try.
    fn write(&self, copy: Record) -> BoxFuture<'_, Result<(), Error>>;
}

/// The stream beside a stream.
pub(crate) struct DeadLetters {
    target: Box<dyn Target>,
    retry: RetryPolicy,
}

impl DeadLetters {
    pub(crate) fn new(target: Box<dyn Target>, retry: RetryPolicy) -> DeadLetters {
        DeadLetters { target, retry }
    }

    /// Declares the target, with the content type of the source unless another is set.
    pub(crate) async fn open(
        kelda: &Kelda,
        name: &str,
        limits: StreamLimits,
        source_type: &str,
        retry: RetryPolicy,
    ) -> Result<DeadLetters, Error> {
        let limits = match limits.content_type_set() {
            None => limits.content_type(source_type),
            Some(_) => limits,
        };
        kelda.declare_stream(name, limits).await?;
        let target = HttpTarget { kelda: kelda.clone(), name: name.to_owned() };
        Ok(DeadLetters::new(Box::new(target), retry))
    }

    /// Over AMQP: takes the queue of this name as it is, or declares it as a stream.
    #[cfg(feature = "amqp")]
    pub(crate) async fn open_queue(
        kelda: &Kelda,
        amqp: &Amqp,
        name: &str,
        limits: StreamLimits,
        retry: RetryPolicy,
    ) -> Result<DeadLetters, Error> {
        if !amqp.exists(name).await? {
            kelda.declare_stream(name, limits).await?;
        }
        Ok(DeadLetters::new(Box::new(AmqpTarget::new(amqp, name)?), retry))
    }

    /// The copy of an entry.
    ///
    /// # Errors
    /// When the headers of the original leave no room for those of the copy.
    pub(crate) fn copy(
        &self,
        origin: &Origin,
        record: &StoredRecord,
        cause: &FailureCause,
    ) -> Result<Record, LimitError> {
        let mut reason = cause.to_string();
        let end = (0..=MAX_REASON_BYTES.min(reason.len())).rev().find(|at| reason.is_char_boundary(*at));
        reason.truncate(end.unwrap_or_default());
        let mut headers: Vec<Header> = record.record.headers.iter().collect();
        headers.extend(
            [
                (dead::STREAM, Value::Text(origin.stream.clone())),
                (dead::STREAM_ID, Value::U64(origin.stream_id.0)),
                (dead::OFFSET, Value::U64(record.offset.0)),
                (dead::TIMESTAMP, Value::U64(record.timestamp.0)),
                (dead::REASON, Value::Text(reason)),
            ]
            .map(|(name, value)| Header::new(name, value)),
        );
        Ok(Record { headers: Headers::new(&headers)?, ..record.record.clone() })
    }

    /// Writes a copy, again after failures that pass.
    pub(crate) async fn write(&self, copy: Record) -> Result<(), Error> {
        let mut backoff = Backoff::of(self.retry);
        loop {
            let began = Stopwatch::start();
            match self.target.write(copy.clone()).await {
                Err(error) if error.is_retryable() || error.is_lost_connection() => {
                    backoff.spend(began.elapsed());
                    let Some(pause) = backoff.pause() else { return Err(error) };
                    timer::sleep(pause).await;
                }
                other => return other,
            }
        }
    }
}

struct HttpTarget {
    kelda: Kelda,
    name: String,
}

impl Target for HttpTarget {
    fn write(&self, copy: Record) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async move {
            let encoded = append::encode(&Batch::from_records(&[copy])?);
            self.kelda.append_once(&self.name, encoded).await.map(drop)
        })
    }
}

#[cfg(test)]
mod tests {
    use kelda_format::{Offset, StreamId, Timestamp};

    use super::*;

    struct Nowhere;

    impl Target for Nowhere {
        fn write(&self, _: Record) -> BoxFuture<'_, Result<(), Error>> {
            Box::pin(std::future::ready(Ok(())))
        }
    }

    fn record(headers: &[Header]) -> StoredRecord {
        let record = Record { headers: Headers::new(headers).unwrap_or_default(), ..Record::new("body") };
        StoredRecord { offset: Offset(9), timestamp: Timestamp(5), record }
    }

    fn origin() -> Origin {
        let (stream, content_type) = ("events".to_owned(), "text/plain".to_owned());
        Origin { stream, stream_id: StreamId(3), content_type }
    }

    #[test]
    fn a_copy_has_the_original_and_says_where_it_was_and_why() {
        let letters = DeadLetters::new(Box::new(Nowhere), RetryPolicy::never());
        let own = Header::new("kind", Value::U8(1));
        let cause = FailureCause::Panic("ü".repeat(4_000));
        let copy = letters.copy(&origin(), &record(std::slice::from_ref(&own)), &cause).unwrap_or_default();
        assert_eq!(copy.body, "body");
        let headers: Vec<Header> = copy.headers.iter().collect();
        assert_eq!(headers[0], own);
        let value = |name: &str| copy.headers.get(name);
        assert_eq!(value(dead::STREAM), Some(Value::Text("events".to_owned())));
        assert_eq!((value(dead::STREAM_ID), value(dead::OFFSET)), (Some(Value::U64(3)), Some(Value::U64(9))));
        assert_eq!(value(dead::TIMESTAMP), Some(Value::U64(5)));
        let reason = value(dead::REASON);
        let sound =
            |text: &str| text.starts_with("the handler panicked: ü") && text.len() <= MAX_REASON_BYTES;
        assert!(matches!(&reason, Some(Value::Text(text)) if sound(text)), "{reason:?}");
    }

    #[test]
    fn headers_that_leave_no_room_are_an_error() {
        let letters = DeadLetters::new(Box::new(Nowhere), RetryPolicy::never());
        let full = Header::new("x", Value::Bytes(vec![0; 65_500].into()));
        let copied = letters.copy(&origin(), &record(&[full]), &FailureCause::Dropped);
        assert!(matches!(copied, Err(LimitError::HeaderBlockBytes { .. })), "{copied:?}");
    }
}
