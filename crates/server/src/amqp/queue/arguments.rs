//! The arguments that a stream queue is declared with.
//!
//! Owns which there are, what they may be and how two declarations compare: as given, not by meaning. Guarantees that a
//! stream that was made over HTTP has arguments as well: the canonical spelling of its retention. Pure.

use kelda_format::Value;
use kelda_service::{Retention, StreamInfo};

use super::span;
use crate::amqp::reply::{self, Refusal};
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
/// What other types of queues have.
const FOREIGN: [&str; 15] = [
    "x-message-ttl",
    "x-max-priority",
    "x-dead-letter-exchange",
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

/// Checks the arguments of a new queue; `queue` is how errors name it.
pub fn check(arguments: &Table, queue: &str) -> Result<Declared, Refusal> {
    let invalid = |name: &str, why: &str| {
        reply::precondition_failed(format!("invalid arg '{name}' for {queue}: {why}"))
    };
    match arguments.value(TYPE) {
        Some(Value::Text(kind)) if kind == "stream" => {}
        None => {
            let stray = [MAX_AGE, SEGMENT_BYTES, CLUSTER_SIZE]
                .into_iter()
                .find(|name| arguments.value(name).is_some());
            return Err(match stray {
                Some(name) => of_type(name, queue, "rabbit_classic_queue"),
                None => reply::not_implemented(format!(
                    "{queue}: only queues of x-queue-type stream are served yet"
                )),
            });
        }
        Some(Value::Text(kind)) if kind == "classic" || kind == "quorum" => {
            return Err(reply::not_implemented(format!(
                "{queue}: only queues of x-queue-type stream are served yet"
            )));
        }
        Some(Value::Text(kind)) => {
            return Err(invalid(TYPE, &format!("\"unsupported queue type '{kind}'\"")));
        }
        Some(other) => return Err(invalid(TYPE, &unacceptable(other))),
    }
    if let Some(name) = FOREIGN.into_iter().find(|name| arguments.value(name).is_some()) {
        return Err(of_type(name, queue, "rabbit_stream_queue"));
    }
    let mut retention = Retention::default();
    if let Some(value) = arguments.value(MAX_AGE) {
        let Value::Text(age) = value else { return Err(invalid(MAX_AGE, &unacceptable(value))) };
        let ms = span::parse(age).ok_or_else(|| invalid(MAX_AGE, "invalid_max_age"))?;
        retention.max_age_ms = Some(ms.min(kelda_format::limits::MAX_INTEGER));
    }
    let number = |name: &str| -> Result<Option<u64>, Refusal> {
        let Some(value) = arguments.value(name) else { return Ok(None) };
        let number = integer(value)
            .ok_or_else(|| invalid(name, &format!("\"expected integer, got {}\"", type_name(value))))?;
        match number {
            ..0 => Err(invalid(name, &format!("{{value_negative,{number}}}"))),
            0 if name == CLUSTER_SIZE => Err(invalid(name, "{value_zero,0}")),
            MAX_SEGMENT_BYTES.. if name == SEGMENT_BYTES && number > MAX_SEGMENT_BYTES => {
                Err(reply::precondition_failed(format!("Exceeded max value for {name}")))
            }
            _ => Ok(u64::try_from(number).ok().map(|number| number.min(kelda_format::limits::MAX_INTEGER))),
        }
    };
    retention.max_bytes = number(MAX_BYTES)?.map(|bytes| bytes.max(1));
    retention.segment_bytes = number(SEGMENT_BYTES)?.map(|bytes| bytes.max(1));
    number(CLUSTER_SIZE)?;
    match arguments.value(LOCATOR) {
        None => {}
        Some(Value::Text(place)) if LOCATORS.contains(&place.as_str()) => {}
        Some(Value::Text(_)) => return Err(invalid(LOCATOR, "invalid_queue_locator_arg")),
        Some(other) => return Err(invalid(LOCATOR, &unacceptable(other))),
    }
    let kept =
        KEPT.into_iter().filter_map(|name| Some((name.to_owned(), text(arguments.value(name)?)))).collect();
    Ok(Declared { kept, retention })
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
                TEXTS.contains(&name) == integer(wants).is_none() && text(wants) == has
            }
            _ => false,
        };
        if same {
            continue;
        }
        let of_type = if TEXTS.contains(&name) { "longstr" } else { "long" };
        let words = match (has, wants) {
            (Some(has), Some(wants)) => format!("received '{}' but current is '{has}'", text(wants)),
            (Some(has), None) => {
                format!("received none but current is the value '{has}' of type '{of_type}'")
            }
            (None, wants) => {
                let wants = wants.map(text).unwrap_or_default();
                format!("received the value '{wants}' of type '{of_type}' but current is none")
            }
        };
        return Err(reply::precondition_failed(format!("inequivalent arg '{name}' for {queue}: {words}")));
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

fn text(value: &Value) -> String {
    match value {
        Value::Text(text) | Value::ShortString(text) => text.clone(),
        Value::Bytes(bytes) | Value::LongString(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Value::Bool(value) => value.to_string(),
        other => integer(other).map_or_else(|| type_name(other).to_owned(), |number| number.to_string()),
    }
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
