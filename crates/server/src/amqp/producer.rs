//! Publishers that number their messages.
//!
//! Owns the headers by which a message that is published again is told from a new one. Guarantees that a message has all of them
//! or none. Pure.

use kelda_format::Value;
use kelda_format::limits::{MAX_INTEGER, MAX_PRODUCER_ID_BYTES};
use kelda_format::rows::ProducerId;
use kelda_service::{AppendError, ProducerClaim};

use super::queue::arguments::integer;
use super::reply::{self, Refusal};
use super::wire::Table;

/// Who publishes.
const ID: &str = "x-kelda-producer-id";
/// Its epoch.
const EPOCH: &str = "x-kelda-producer-epoch";
/// The number of the message.
const SEQ: &str = "x-kelda-producer-seq";

/// Whether a header is for the node, and not for those who read.
pub fn is_for_the_node(name: &str) -> bool {
    matches!(name, ID | EPOCH | SEQ)
}

/// Why a publisher that numbers its messages cannot go on as it does: another has taken over, or a message before is missing.
/// A `basic.nack` would not tell it which.
pub fn refusal(error: &AppendError) -> Option<Refusal> {
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
        _ => return None,
    };
    Some(reply::precondition_failed(text))
}

/// What a message says of its publisher.
///
/// # Errors
/// One of the headers is missing while another is there, or has a value that cannot be.
pub fn claim(headers: Option<&Table>) -> Result<Option<ProducerClaim>, Refusal> {
    let Some(headers) = headers else { return Ok(None) };
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
        let got = claim(Some(&all)).unwrap().unwrap();
        assert_eq!((got.id.as_str(), got.epoch, got.seq), ("p", 2, 7));
        let none = Table(vec![Header::new("x-other", Value::Bool(true))]);
        assert_eq!((claim(Some(&none)), claim(None)), (Ok(None), Ok(None)));
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
}
