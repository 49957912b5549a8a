//! The fields of an idempotent producer.

use axum::http::HeaderMap;
use kelda_format::limits::MAX_INTEGER;
use kelda_service::{Problem, ProducerClaim, ProducerId};

use super::{digits, one};
use crate::http::fields;
use crate::http::refusal::Refusal;

/// Who sends this request and which of its requests it is; absent when none of the three fields is.
///
/// # Errors
/// Only some of the three are there, or one has a value that it does not take.
pub fn producer(headers: &HeaderMap) -> Result<Option<ProducerClaim>, Refusal> {
    let names = [&fields::PRODUCER_ID, &fields::PRODUCER_EPOCH, &fields::PRODUCER_SEQ];
    let [id, epoch, seq] = [one(headers, names[0])?, one(headers, names[1])?, one(headers, names[2])?];
    let refuse = |detail: String| Err(Refusal::new(Problem::InvalidProducer, detail));
    let (Some(id), Some(epoch), Some(seq)) = (id, epoch, seq) else {
        if id.is_none() && epoch.is_none() && seq.is_none() {
            return Ok(None);
        }
        let missing = names.iter().zip([id, epoch, seq]).filter(|(_, value)| value.is_none());
        let missing: Vec<_> = missing.map(|(name, _)| fields::title(name)).collect();
        return refuse(format!(
            "Producer-Id, Producer-Epoch and Producer-Seq go together; missing: {}",
            missing.join(", ")
        ));
    };
    let number =
        |name, text| digits(text, MAX_INTEGER).map_err(|detail| format!("{}: {detail}", fields::title(name)));
    match (number(names[1], epoch), number(names[2], seq)) {
        // The id's length is the service's to check.
        (Ok(epoch), Ok(seq)) => Ok(Some(ProducerClaim { id: ProducerId::new(id), epoch, seq })),
        (Err(detail), _) | (_, Err(detail)) => refuse(detail),
    }
}
