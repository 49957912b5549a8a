//! Claiming an epoch: owns the question which epoch of a producer is in force, guarantees that asking writes nothing. Never
//! reuses an epoch.

use bytes::Bytes;
use hyper::Method;
use kelda_format::batch::Batch;
use kelda_format::limits::MAX_INTEGER;
use kelda_format::records::CONTENT_TYPE;

use crate::append;
use crate::connect::Kelda;
use crate::error::{Error, Problem};
use crate::random;
use crate::stream::path;

/// An epoch is claimed at chance among so many above the one in force, so that two runs that begin at once take different
/// ones and the higher fences the lower.
const SPREAD: u64 = 1 << 20;

/// An epoch above all that wrote to this stream under this id.
pub(super) async fn epoch(kelda: &Kelda, stream: &str, id: &str) -> Result<u64, Error> {
    let in_force = in_force(kelda, stream, id).await?;
    let epoch = in_force.map_or(0, |epoch| epoch + 1) + random::seed() % SPREAD;
    if epoch > MAX_INTEGER {
        let value = epoch.to_string();
        return Err(Error::Invalid {
            what: "producer epoch",
            value,
            expected: "another id: its epochs are used up",
        });
    }
    Ok(epoch)
}

/// The epoch in force. A request that leaves the largest gap in the lowest epoch is always refused, and the refusal says it.
async fn in_force(kelda: &Kelda, stream: &str, id: &str) -> Result<Option<u64>, Error> {
    let headers = [
        ("content-type", CONTENT_TYPE.to_owned()),
        ("producer-id", id.to_owned()),
        ("producer-epoch", "0".to_owned()),
        ("producer-seq", MAX_INTEGER.to_string()),
    ];
    // JSON, so that it is well-formed for a stream of any type.
    let batch = append::encode(&Batch::single(Bytes::from_static(b"null"))?);
    match kelda
        .transport
        .http("claim an epoch: set one with `ProducerBuilder::epoch`")?
        .call(Method::POST, &path(stream), &headers, batch)
        .await
    {
        Ok(_) => Err(Error::Protocol(format!("a gap in the sequence of producer {id:?} was accepted"))),
        Err(Error::Problem(problem)) if problem.code() == "stale-epoch" => {
            let epoch = number(&problem, "producer_epoch");
            epoch.map(Some).ok_or_else(|| Error::Protocol("stale-epoch without producer_epoch".to_owned()))
        }
        Err(Error::Problem(problem)) if problem.code() == "sequence-gap" => {
            Ok(number(&problem, "expected_seq").filter(|expected| *expected > 0).map(|_| 0))
        }
        Err(error) => Err(error),
    }
}

/// A number among a problem's fields, be it written as one or as text.
pub(super) fn number(problem: &Problem, field: &str) -> Option<u64> {
    let value = problem.fields.get(field)?;
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}
