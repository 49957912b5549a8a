//! The arguments that a stream queue is declared with.
//!
//! Owns which there are, what they may be and how two declarations compare: as given, not by meaning. Guarantees that a
//! stream that was made over HTTP has arguments as well: the canonical spelling of its retention. Pure.

use kelda_format::Value;
use kelda_format::limits::MAX_INTEGER;
use kelda_service::{Retention, StreamInfo};

use super::span;
use crate::amqp::reply::{self, Refusal};
use crate::amqp::term;
use crate::amqp::wire::Table;

const TYPE: &str = "x-queue-type";
const MAX_AGE: &str = "x-max-age";
const MAX_BYTES: &str = "x-max-length-bytes";
const SEGMENT_BYTES: &str = "x-stream-max-segment-size-bytes";
const LOCATOR: &str = "x-queue-leader-locator";
const CLUSTER_SIZE: &str = "x-initial-cluster-size";

/// What is kept and compared, in the order of comparison.
const KEPT: [&str; 6] = [TYPE, MAX_BYTES, MAX_AGE, SEGMENT_BYTES, LOCATOR, CLUSTER_SIZE];
/// Those of them that are texts; the others are numbers.
const TEXTS: [&str; 3] = [TYPE, MAX_AGE, LOCATOR];
/// Where the leader of a stream may be asked to be.
const LOCATORS: [&str; 4] = ["client-local", "balanced", "least-leaders", "random"];
/// The largest segment that RabbitMQ takes.
const MAX_SEGMENT_BYTES: i128 = 3_000_000_000;
/// Where other types of queues send what they drop.
const DEAD_LETTERS: &str = "x-dead-letter-exchange";
/// What this type of queues is called in errors.
pub const STREAM_QUEUE: &str = "rabbit_stream_queue";
/// What other types of queues have.
const FOREIGN: [&str; 16] = [
    "x-message-ttl",
    "x-max-priority",
    DEAD_LETTERS,
    "x-dead-letter-routing-key",
    "x-expires",
    "x-max-length",
    "x-overflow",
    "x-queue-mode",
    "x-queue-version",
    "x-single-active-consumer",
    "x-queue-master-locator",
    "x-delivery-limit",
    "x-max-in-memory-length",
    "x-max-in-memory-bytes",
    "x-quorum-initial-group-size",
    "x-dead-letter-strategy",
];

/// What a new stream queue is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declared {
    /// The arguments as they are kept.
    pub kept: Vec<(String, String)>,
    /// What they mean.
    pub retention: Retention,
}

/// Checks the arguments of a new queue; `queue` is how errors name it. What is wrong with a value is told before what has no
/// place here.
pub fn check(arguments: &Table, queue: &str) -> Result<Declared, Refusal> {
    if let Some(value) = arguments.value(DEAD_LETTERS)
        && string(value).is_none()
    {
        let kind = type_name(value);
        let text = format!("invalid type '{kind}' for arg '{DEAD_LETTERS}' in {queue}");
        return Err(reply::precondition_failed(text));
    }
    is_stream(arguments, queue)?;
    let max_bytes = number(arguments, MAX_BYTES, queue)?;
    let max_age_ms = arguments.value(MAX_AGE).map(|value| {
        let age = string(value).ok_or_else(|| invalid(MAX_AGE, queue, &unacceptable(value)))?;
        span::parse(&age).ok_or_else(|| invalid(MAX_AGE, queue, "invalid_max_age"))
    });
    let max_age_ms = max_age_ms.transpose()?.map(|ms| ms.min(MAX_INTEGER));
    let segment_bytes = number(arguments, SEGMENT_BYTES, queue)?;
    if number(arguments, CLUSTER_SIZE, queue)? == Some(0) {
        return Err(invalid(CLUSTER_SIZE, queue, "{value_zero,0}"));
    }
    if let Some(value) = arguments.value(LOCATOR) {
        let place = string(value).ok_or_else(|| invalid(LOCATOR, queue, &unacceptable(value)))?;
        if !LOCATORS.contains(&place.as_str()) {
            return Err(invalid(LOCATOR, queue, "invalid_queue_locator_arg"));
        }
    }
    if let Some(header) = arguments.0.iter().find(|header| FOREIGN.contains(&header.name.as_str())) {
        return Err(of_type(&header.name, queue, STREAM_QUEUE));
    }
    let retention = Retention {
        max_age_ms,
        max_bytes: max_bytes.map(|bytes| bytes.max(1)),
        segment_bytes: segment_bytes.map(|bytes| bytes.max(1)),
    };
    let kept =
        KEPT.into_iter().filter_map(|name| Some((name.to_owned(), term::plain(arguments.value(name)?))));
    Ok(Declared { kept: kept.collect(), retention })
}

/// Checks what is only looked at when all else of a declaration is right.
pub fn check_sizes(arguments: &Table) -> Result<(), Refusal> {
    match arguments.value(SEGMENT_BYTES).and_then(integer) {
        Some(number) if number > MAX_SEGMENT_BYTES => {
            Err(reply::precondition_failed(format!("Exceeded max value for {SEGMENT_BYTES}")))
        }
        _ => Ok(()),
    }
}

/// Whether the queue is to be a stream.
///
/// # Errors
/// It is not.
pub fn is_stream(arguments: &Table, queue: &str) -> Result<(), Refusal> {
    let not_yet =
        || reply::not_implemented(format!("{queue}: only queues of x-queue-type stream are served yet"));
    let Some(value) = arguments.value(TYPE) else {
        let mut stray = [MAX_AGE, SEGMENT_BYTES, CLUSTER_SIZE].into_iter();
        let stray = stray.find(|name| arguments.value(name).is_some());
        return Err(stray.map_or_else(not_yet, |name| of_type(name, queue, "rabbit_classic_queue")));
    };
    match string(value).as_deref() {
        Some("stream") => Ok(()),
        Some("classic" | "quorum") => Err(not_yet()),
        Some(kind) => Err(invalid(TYPE, queue, &format!("\"unsupported queue type '{kind}'\""))),
        None => Err(invalid(TYPE, queue, &unacceptable(value))),
    }
}

fn invalid(name: &str, queue: &str, why: &str) -> Refusal {
    reply::precondition_failed(format!("invalid arg '{name}' for {queue}: {why}"))
}

/// A number that is not negative.
fn number(arguments: &Table, name: &str, queue: &str) -> Result<Option<u64>, Refusal> {
    let Some(value) = arguments.value(name) else { return Ok(None) };
    let number = integer(value)
        .ok_or_else(|| invalid(name, queue, &format!("\"expected integer, got {}\"", type_name(value))))?;
    let right = u64::try_from(number);
    let right = right.map_err(|_| invalid(name, queue, &format!("{{value_negative,{number}}}")))?;
    Ok(Some(right.min(MAX_INTEGER)))
}

/// A string, which need not be UTF-8.
fn string(value: &Value) -> Option<String> {
    matches!(value, Value::Text(_) | Value::LongString(_)).then(|| term::plain(value))
}

/// Compares a declaration with the queue that is there.
pub fn compare(arguments: &Table, existing: &StreamInfo, queue: &str) -> Result<(), Refusal> {
    let current = current(existing);
    for name in KEPT {
        let has = current.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
        let wants = arguments.value(name);
        let same = match (has, wants) {
            (None, None) => true,
            (Some(has), Some(wants)) => {
                let number = integer(wants).is_some() || matches!(wants, Value::Timestamp(_));
                TEXTS.contains(&name) != number && term::plain(wants) == has
            }
            _ => false,
        };
        if !same {
            let kind = if TEXTS.contains(&name) { "longstr" } else { "long" };
            let words = term::inequivalent(name, queue, has.map(|has| (has, kind)), wants);
            return Err(reply::precondition_failed(words));
        }
    }
    Ok(())
}

/// The arguments of a stream that is there.
fn current(existing: &StreamInfo) -> Vec<(String, String)> {
    if !existing.arguments.is_empty() {
        return existing.arguments.clone();
    }
    canonical(&existing.retention)
}

/// The arguments that mean this retention, each in one spelling.
pub fn canonical(retention: &Retention) -> Vec<(String, String)> {
    let mut list = vec![(TYPE.to_owned(), "stream".to_owned())];
    list.extend(retention.max_bytes.map(|bytes| (MAX_BYTES.to_owned(), bytes.to_string())));
    list.extend(retention.max_age_ms.map(|ms| (MAX_AGE.to_owned(), span::format(ms))));
    list.extend(retention.segment_bytes.map(|bytes| (SEGMENT_BYTES.to_owned(), bytes.to_string())));
    list
}

/// An argument that queues of this type do not have.
pub fn of_type(name: &str, queue: &str, kind: &str) -> Refusal {
    reply::precondition_failed(format!("invalid arg '{name}' for {queue} of queue type {kind}"))
}

fn unacceptable(value: &Value) -> String {
    format!("{{unacceptable_type,{}}}", type_name(value))
}

/// A number of any width.
pub fn integer(value: &Value) -> Option<i128> {
    Some(match value {
        Value::I8(value) => (*value).into(),
        Value::U8(value) => (*value).into(),
        Value::I16(value) => (*value).into(),
        Value::U16(value) => (*value).into(),
        Value::I32(value) => (*value).into(),
        Value::U32(value) => (*value).into(),
        Value::I64(value) => (*value).into(),
        Value::U64(value) => (*value).into(),
        _ => return None,
    })
}

/// The names of types in RabbitMQ's errors.
pub fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Bool(_) => "bool",
        Value::I8(_) => "byte",
        Value::U8(_) => "unsignedbyte",
        Value::I16(_) => "short",
        Value::U16(_) => "unsignedshort",
        Value::I32(_) => "signedint",
        Value::U32(_) => "unsignedint",
        Value::I64(_) | Value::U64(_) => "long",
        Value::F32(_) => "float",
        Value::F64(_) => "double",
        Value::Decimal { .. } => "decimal",
        Value::Timestamp(_) => "timestamp",
        Value::Void => "void",
        Value::Table(_) => "table",
        Value::Array(_) => "array",
        Value::Bytes(_) => "binary",
        Value::Text(_) | Value::ShortString(_) | Value::LongString(_) => "longstr",
    }
}
