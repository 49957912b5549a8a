//! Where a consumer starts: the argument `x-stream-offset`.
//!
//! Owns every form of it. Pure.

use kelda_format::{Offset, Timestamp, Value};
use kelda_service::StartAt;

use super::arguments::{integer, type_name};
use super::span;
use crate::amqp::reply::{self, Refusal};
use crate::amqp::term;

/// The argument.
pub const NAME: &str = "x-stream-offset";

/// Reads it; `queue` is how errors name the queue. An exact offset may lie anywhere.
pub fn parse(value: Option<&Value>, queue: &str) -> Result<StartAt, Refusal> {
    let Some(value) = value else { return Ok(StartAt::Next) };
    if let Some(number) = integer(value) {
        return Ok(u64::try_from(number).map_or(StartAt::First, |offset| StartAt::Offset(Offset(offset))));
    }
    let text = match value {
        Value::Timestamp(seconds) => return Ok(StartAt::Time(Timestamp(seconds.saturating_mul(1_000)))),
        Value::Text(_) | Value::ShortString(_) | Value::Bytes(_) | Value::LongString(_) => term::plain(value),
        other => return Err(invalid(queue, &format!("{{unacceptable_type,{}}}", type_name(other)))),
    };
    match text.as_str() {
        "first" => Ok(StartAt::First),
        "last" => Ok(StartAt::Last),
        "next" => Ok(StartAt::Next),
        text => span::parse(text).map(|ms| StartAt::Ago { ms }).ok_or_else(|| {
            invalid(queue, &format!("{{invalid_stream_offset_arg,{{longstr,{}}}}}", term::value(value)))
        }),
    }
}

fn invalid(queue: &str, why: &str) -> Refusal {
    reply::precondition_failed(format!("invalid arg '{NAME}' for {queue}: {why}"))
}
