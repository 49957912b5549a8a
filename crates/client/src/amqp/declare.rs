//! Declaring streams over AMQP: owns how limits become arguments. Guarantees that nothing is stamped that was not asked for,
//! and that what AMQP cannot say is refused. Never changes a queue that exists.

use lapin::options::{QueueDeclareOptions, QueueDeleteOptions};
use lapin::types::{AMQPValue, FieldTable};

use super::{Amqp, Use, queue};
use crate::error::Error;
use crate::stream::StreamHead;
use crate::stream_limits::{StreamArguments, StreamLimits};

const QUEUE_TYPE: &str = "x-queue-type";
const STREAM: &str = "stream";

impl Amqp {
    /// Whether there is a queue of this name, whatever its kind.
    pub(crate) async fn exists(&self, name: &str) -> Result<bool, Error> {
        let name = queue(name)?;
        let looked = self.again(|| async {
            let channel = self.channel(Use::Reading).await?;
            let passive = QueueDeclareOptions { passive: true, ..QueueDeclareOptions::default() };
            self.answer(channel.queue_declare(name.clone(), passive, FieldTable::default())).await
        });
        match looked.await {
            Ok(_) => Ok(true),
            Err(error) if error.code() == Some("not-found") => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Declares a stream.
    pub(crate) async fn declare(&self, name: &str, limits: &StreamLimits) -> Result<StreamHead, Error> {
        let (arguments, queue) = (arguments(limits)?, queue(name)?);
        // The answer to a declaration does not say whether it made the queue.
        let created = !self.exists(name).await?;
        let declared = self.again(|| async {
            let channel = self.channel(Use::Reading).await?;
            let durable = QueueDeclareOptions { durable: true, ..QueueDeclareOptions::default() };
            self.answer(channel.queue_declare(queue.clone(), durable, arguments.clone())).await
        });
        declared.await?;
        Ok(StreamHead { name: name.to_owned(), created, ..StreamHead::default() })
    }

    /// Deletes a queue.
    pub(crate) async fn delete(&self, name: &str) -> Result<(), Error> {
        if !self.exists(name).await? {
            return Err(super::refusal::of("not-found", 404, &format!("no queue {name:?}")));
        }
        let channel = self.channel(Use::Reading).await?;
        self.answer(channel.queue_delete(queue(name)?, QueueDeleteOptions::default())).await.map(drop)
    }
}

/// The arguments of a declaration.
fn arguments(limits: &StreamLimits) -> Result<FieldTable, Error> {
    // What is wrong over HTTP is wrong here.
    limits.headers()?;
    if let Some(what) = limits.beyond_amqp() {
        return Err(Error::Unsupported { what, transport: "AMQP" });
    }
    let mut arguments = FieldTable::default();
    arguments.insert(QUEUE_TYPE.into(), AMQPValue::LongString(STREAM.into()));
    if let Some(age) = limits.max_age_text()? {
        arguments.insert(StreamArguments::MAX_AGE.into(), AMQPValue::LongString(age.into()));
    }
    let (max_bytes, segment_bytes) = limits.byte_limits();
    for (name, value) in
        [(StreamArguments::MAX_LENGTH_BYTES, max_bytes), (StreamArguments::SEGMENT_BYTES, segment_bytes)]
    {
        let Some(value) = value else { continue };
        let Ok(number) = i64::try_from(value) else {
            let expected = "at most 9223372036854775807";
            return Err(Error::Invalid { what: name, value: value.to_string(), expected });
        };
        arguments.insert(name.into(), AMQPValue::LongLongInt(number));
    }
    Ok(arguments)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::stream_limits::{days, hours};

    fn age(limits: StreamLimits) -> Option<AMQPValue> {
        arguments(&limits).ok()?.inner().get(StreamArguments::MAX_AGE).cloned()
    }

    #[test]
    fn an_age_travels_in_its_canonical_spelling_or_exactly_as_given() {
        let text = |text: &str| Some(AMQPValue::LongString(text.into()));
        assert_eq!(age(StreamLimits::new().max_age(hours(1))), text("1h"));
        assert_eq!(age(StreamLimits::new().max_age(days(7))), text("7D"));
        assert_eq!(age(StreamLimits::new().max_age(Duration::from_secs(5_400))), text("90m"));
        assert_eq!(age(StreamLimits::new().max_age_raw("3600s")), text("3600s"));
    }

    #[test]
    fn nothing_is_stamped_that_was_not_asked_for() {
        let names = |limits: StreamLimits| {
            let table = arguments(&limits).unwrap_or_default();
            table.inner().keys().map(|name| name.as_str().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(names(StreamLimits::new()), [QUEUE_TYPE]);
        assert_eq!(names(StreamLimits::new().max_bytes(5)), [StreamArguments::MAX_LENGTH_BYTES, QUEUE_TYPE]);
    }

    #[test]
    fn what_amqp_cannot_say_is_refused() {
        for limits in [
            StreamLimits::new().content_type("application/json"),
            StreamLimits::new().ttl(days(1)),
            StreamLimits::new().expires_at(std::time::SystemTime::UNIX_EPOCH),
        ] {
            assert!(matches!(arguments(&limits), Err(Error::Unsupported { .. })), "{limits:?}");
        }
        assert!(matches!(arguments(&StreamLimits::new().max_bytes(0)), Err(Error::Invalid { .. })));
        assert!(matches!(arguments(&StreamLimits::new().max_bytes(u64::MAX)), Err(Error::Invalid { .. })));
    }
}
