//! Which stream a queue is and where a consumer begins: owns what a Kelda tells beyond AMQP, in the tag that it chooses for
//! a consumer. Guarantees that another server, which knows nothing of it, is taken as saying nothing.

use kelda_format::StreamId;
use lapin::options::{BasicConsumeOptions, BasicQosOptions};
use lapin::types::{AMQPValue, FieldTable, ShortString};
use lapin::{Channel, Consumer};

use super::{Amqp, Use, queue};
use crate::error::Error;
use crate::message::UNKNOWN;
use crate::start::StartAt;

/// Asks a Kelda to tell the place in the consumer's tag; other servers ignore it.
const TELL: &str = "x-kelda-position";
/// How such a tag begins: `kelda.{stream id}.{offset}.{chance}`.
const TOLD: &str = "kelda.";
/// The consumer argument that says where to start.
const START: &str = "x-stream-offset";

/// What a Kelda tells of a consumer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) stream_id: StreamId,
    /// The offset that the consumer begins at.
    pub(super) offset: u64,
}

impl Place {
    fn of(tag: &str) -> Option<Place> {
        let mut parts = tag.strip_prefix(TOLD)?.split('.');
        let stream_id = StreamId(parts.next()?.parse().ok()?);
        Some(Place { stream_id, offset: parts.next()?.parse().ok()? })
    }
}

/// A consumer of a queue, on a channel of its own.
pub(super) struct Subscription {
    pub(super) channel: Channel,
    pub(super) consumer: Consumer,
    pub(super) place: Option<Place>,
}

impl Amqp {
    /// Starts a consumer that may have so many entries out.
    pub(super) async fn subscribe(
        &self,
        name: &ShortString,
        start: StartAt,
        prefetch: u16,
    ) -> Result<Subscription, Error> {
        let channel = self.channel(Use::Reading).await?;
        self.answer(channel.basic_qos(prefetch, BasicQosOptions::default())).await?;
        let mut arguments = FieldTable::default();
        arguments.insert(START.into(), offset_argument(start)?);
        arguments.insert(TELL.into(), AMQPValue::Boolean(true));
        // The server chooses the tag.
        let options = BasicConsumeOptions::default();
        let consume = channel.basic_consume(name.clone(), ShortString::default(), options, arguments);
        let consumer = self.answer(consume).await?;
        let place = Place::of(consumer.tag().as_str());
        Ok(Subscription { channel, consumer, place })
    }

    /// Which stream the name stands for, as far as the server tells: [`UNKNOWN`] of a server that is no Kelda.
    ///
    /// # Errors
    /// The problem `not-found` when there is none; what the server says of a queue that is no stream.
    pub(crate) async fn identify(&self, name: &str) -> Result<StreamId, Error> {
        let name = queue(name)?;
        let subscription = self.again(|| self.subscribe(&name, StartAt::Next, 1)).await?;
        Ok(subscription.place.map_or(UNKNOWN, |place| place.stream_id))
    }
}

/// Where to start, as a consumer says it.
fn offset_argument(start: StartAt) -> Result<AMQPValue, Error> {
    let text = |text: &str| Ok(AMQPValue::LongString(text.into()));
    match start {
        StartAt::First => text("first"),
        StartAt::Last => text("last"),
        StartAt::Next => text("next"),
        StartAt::Offset(offset) => match i64::try_from(offset) {
            Ok(offset) => Ok(AMQPValue::LongLongInt(offset)),
            Err(_) => {
                let expected = "at most 9223372036854775807 over AMQP";
                Err(Error::Invalid { what: "offset", value: offset.to_string(), expected })
            }
        },
        StartAt::Tail(_) => Err(Error::Unsupported { what: "start so many records back", transport: "AMQP" }),
        // Whole seconds, rounded down: rather a record too many than one too few.
        StartAt::Time(time) => Ok(AMQPValue::Timestamp(time.0 / 1_000)),
        // Rounded up, for the same reason.
        StartAt::Back(back) => {
            text(&format!("{}s", back.as_millis().div_ceil(1_000).clamp(1, MAX_BACK_SECONDS)))
        }
    }
}

/// 36,500 days.
const MAX_BACK_SECONDS: u128 = 36_500 * 86_400;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use kelda_format::Timestamp;

    use super::*;

    #[test]
    fn only_a_kelda_tells_a_place() {
        let place = |id, offset| Some(Place { stream_id: StreamId(id), offset });
        assert_eq!(Place::of("kelda.7.42.x9"), place(7, 42));
        assert_eq!(Place::of("kelda.7.42"), place(7, 42));
        for other in ["amq.ctag-abc", "kelda.", "kelda.7", "kelda.x.1", "kelda.7.-1.x", ""] {
            assert_eq!(Place::of(other), None, "{other}");
        }
    }

    #[test]
    fn each_start_is_spelled_as_consumers_say_it() {
        let text = |text: &str| AMQPValue::LongString(text.into());
        for (start, expected) in [
            (StartAt::First, text("first")),
            (StartAt::Last, text("last")),
            (StartAt::Next, text("next")),
            (StartAt::Offset(5), AMQPValue::LongLongInt(5)),
            (StartAt::Time(Timestamp(1_999)), AMQPValue::Timestamp(1)),
            (StartAt::Back(Duration::from_millis(1_001)), text("2s")),
            (StartAt::Back(Duration::ZERO), text("1s")),
            (StartAt::Back(Duration::MAX), text("3153600000s")),
        ] {
            assert_eq!(offset_argument(start).ok(), Some(expected), "{start:?}");
        }
        assert!(matches!(offset_argument(StartAt::Offset(u64::MAX)), Err(Error::Invalid { .. })));
    }
}
