//! Publishers that number their messages, and those that mean one life of a stream.
//!
//! Owns the headers by which a message that is published again is told from a new one, and why such a message is refused.
//! Guarantees that a message has all of the numbers or none. Pure.

use kelda_format::limits::{MAX_INTEGER, MAX_PRODUCER_ID_BYTES};
use kelda_format::rows::ProducerId;
use kelda_format::{StreamId, Value};
use kelda_service::{AppendError, Fault, LookupError, ProducerClaim};

use super::queue::arguments::integer;
use super::reply::{self, Refusal};
use super::wire::Table;

/// Who publishes.
const ID: &str = "x-kelda-producer-id";
/// Its epoch.
const EPOCH: &str = "x-kelda-producer-epoch";
/// The number of the message.
const SEQ: &str = "x-kelda-producer-seq";

/// That no other run has numbered a message so.
const NEW: &str = "x-kelda-producer-new";
/// The stream that the queue has to be.
const STREAM: &str = "x-kelda-stream-id";

/// What a message says of its publisher.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claim {
    /// What it is numbered with.
    pub producer: Option<ProducerClaim>,
    /// Whether it was never sent before, so that it cannot be a repetition.
    pub is_new: bool,
    /// The stream that is meant, which another of the same name is not.
    pub stream: Option<StreamId>,
}

/// Whether a header is for the node, and not for those who read.
pub fn is_for_the_node(name: &str) -> bool {
    matches!(name, ID | EPOCH | SEQ | NEW | STREAM)
}

/// Whether a message with these headers is numbered.
pub fn is_numbered(headers: &Table) -> bool {
    headers.value(SEQ).is_some()
}

/// Why a publisher cannot go on as it does: another has taken over, a message before is missing, the stream is another one,
/// or, when the message is numbered, the node cannot store it now, so that those behind it leave a gap. A `basic.nack` would
/// not tell which.
pub fn refusal(error: &AppendError, is_numbered: bool) -> Option<Refusal> {
    let text = match error {
        AppendError::StaleEpoch { current, received } => {
            format!("stale-epoch: producer_epoch {current} is in force, the message has {received}")
        }
        AppendError::Gap { expected, received } => {
            format!("sequence-gap: expected_seq {expected}, the message has {received}")
        }
        AppendError::ProducerStart { received } => {
            format!("producer-start: an epoch begins with sequence 0, the message has {received}")
        }
        AppendError::Lookup(LookupError::OtherStream { asked, current, .. }) => {
            format!("stream-id-mismatch: stream_id {current} has the name now, the message is for {asked}")
        }
        AppendError::Node(fault) if is_numbered => {
            return Some(reply::resource_error(format!("{}: {fault}", fault.code())));
        }
        _ => return None,
    };
    Some(reply::precondition_failed(text))
}

/// The refusal of a message that is said to be new and has a number that was used.
pub fn in_use() -> Refusal {
    reply::precondition_failed("epoch-in-use: another run has used this number in this epoch")
}

/// What a message says of its publisher.
///
/// # Errors
/// One of the numbers is missing while another is there, or a header has a value that cannot be.
pub fn claim(headers: Option<&Table>) -> Result<Claim, Refusal> {
    let Some(headers) = headers else { return Ok(Claim::default()) };
    let is_new = match headers.value(NEW) {
        None => false,
        Some(Value::Bool(is_new)) => *is_new,
        Some(_) => return Err(reply::precondition_failed(format!("header '{NEW}': a boolean is right"))),
    };
    let stream = match headers.value(STREAM) {
        None => None,
        Some(value) => Some(stream(value)?),
    };
    Ok(Claim { producer: numbers(headers)?, is_new, stream })
}

fn stream(value: &Value) -> Result<StreamId, Refusal> {
    let id = match value {
        Value::Text(text) | Value::ShortString(text) => text.parse().ok(),
        _ => None,
    };
    id.map(StreamId).ok_or_else(|| {
        reply::precondition_failed(format!("header '{STREAM}': the id of a stream, as a text, is right"))
    })
}

fn numbers(headers: &Table) -> Result<Option<ProducerClaim>, Refusal> {
    let (id, epoch, seq) = (headers.value(ID), headers.value(EPOCH), headers.value(SEQ));
    if id.is_none() && epoch.is_none() && seq.is_none() {
        return Ok(None);
    }
    let id = match id {
        Some(Value::Text(id) | Value::ShortString(id)) if (1..=MAX_PRODUCER_ID_BYTES).contains(&id.len()) => {
            ProducerId::new(id)
        }
        _ => {
            let text = format!("header '{ID}': a text of 1 to {MAX_PRODUCER_ID_BYTES} bytes is right");
            return Err(reply::precondition_failed(text));
        }
    };
    let number = |name: &str, value: Option<&Value>| {
        let number = value.and_then(integer).and_then(|number| u64::try_from(number).ok());
        number.filter(|number| *number <= MAX_INTEGER).ok_or_else(|| {
            let text = format!("header '{name}': an integer of 0 to {MAX_INTEGER} is right");
            reply::precondition_failed(text)
        })
    };
    Ok(Some(ProducerClaim { id, epoch: number(EPOCH, epoch)?, seq: number(SEQ, seq)? }))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use kelda_format::Header;

    use super::*;

    #[test]
    fn a_message_has_all_of_the_headers_or_none() {
        let id = || Header::new(ID, Value::Text("p".to_owned()));
        let all = Table(vec![id(), Header::new(EPOCH, Value::I8(2)), Header::new(SEQ, Value::I64(7))]);
        let got = claim(Some(&all)).unwrap().producer.unwrap();
        assert_eq!((got.id.as_str(), got.epoch, got.seq), ("p", 2, 7));
        let none = Table(vec![Header::new("x-other", Value::Bool(true))]);
        assert_eq!((claim(Some(&none)), claim(None)), (Ok(Claim::default()), Ok(Claim::default())));
        for (at, wrong) in [
            (0, Value::Text(String::new())),
            (0, Value::Text("x".repeat(MAX_PRODUCER_ID_BYTES + 1))),
            (0, Value::I8(1)),
            (1, Value::I8(-1)),
            (2, Value::Text("7".to_owned())),
            (2, Value::I64(i64::try_from(MAX_INTEGER).unwrap() + 1)),
        ] {
            let mut list = all.clone();
            list.0[at].value = wrong.clone();
            assert_eq!(claim(Some(&list)).unwrap_err().code, 406, "{wrong:?}");
            list.0.remove(at);
            assert_eq!(claim(Some(&list)).unwrap_err().code, 406, "without {at}");
        }
    }

    #[test]
    fn what_is_new_and_which_stream_is_meant_are_checked() {
        let table = |name, value| Table(vec![Header::new(name, value)]);
        let got = |name, value| claim(Some(&table(name, value)));
        let stream = Claim { stream: Some(StreamId(7)), ..Claim::default() };
        assert_eq!(got(STREAM, Value::Text("7".to_owned())), Ok(stream));
        assert!(got(NEW, Value::Bool(true)).unwrap().is_new && !got(NEW, Value::Bool(false)).unwrap().is_new);
        for (name, wrong) in [
            (STREAM, Value::I64(7)),
            (STREAM, Value::Text("x".to_owned())),
            (NEW, Value::Text("true".to_owned())),
        ] {
            assert_eq!(got(name, wrong.clone()).unwrap_err().code, 406, "{name} {wrong:?}");
        }
    }

    #[test]
    fn a_refusal_says_what_a_publisher_needs_to_know() {
        let disk = AppendError::Node(kelda_service::NodeFault::DiskFull);
        let said = refusal(&disk, true).unwrap();
        assert_eq!(said.code, 506);
        assert!(said.text.contains("disk-full: "), "{}", said.text);
        assert!(refusal(&disk, false).is_none(), "one message that is not stored holds up no other");
        for is_numbered in [true, false] {
            let content = AppendError::Content(kelda_service::ContentError::EmptyBody);
            assert!(refusal(&content, is_numbered).is_none(), "it can never be stored: a nack");
        }
    }
}
