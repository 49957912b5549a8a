//! What requests carry: owns the bodies, made once and shared by all requests. Guarantees bodies that no compression makes
//! small, and stamps that say when a record was sent. Never knows a connection.

use bytes::Bytes;
use kelda_client::encode_bodies;
use kelda_env::Random;

use super::args::Form;
use crate::exit::Failure;

/// Bytes of a stamp: as many digits as 64 bits need.
pub const STAMP_BYTES: usize = 20;

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// The bodies of all requests of a workload.
#[derive(Clone, Debug)]
pub enum Payload {
    /// Always the same.
    Fixed(Bytes),
    /// One record which begins with the time it is sent at.
    Stamped(Bytes),
}

impl Payload {
    /// The body of a request that is sent at a moment, in nanoseconds of monotonic time.
    pub fn at(&self, nanos: u64) -> Bytes {
        match self {
            Payload::Fixed(bytes) => bytes.clone(),
            Payload::Stamped(filling) => {
                let mut body = format!("{nanos:020}").into_bytes();
                body.extend_from_slice(&filling[STAMP_BYTES..]);
                body.into()
            }
        }
    }
}

/// The stamps of records that came one after the other, each of `record_bytes`.
pub fn stamps(records: &[u8], record_bytes: usize) -> Result<impl Iterator<Item = u64> + '_, String> {
    if !records.len().is_multiple_of(record_bytes) {
        return Err(format!("{} bytes came, which are no whole records of {record_bytes}", records.len()));
    }
    let stamp = |record: &[u8]| std::str::from_utf8(&record[..STAMP_BYTES]).ok()?.parse::<u64>().ok();
    let all: Option<Vec<u64>> = records.chunks_exact(record_bytes).map(stamp).collect();
    all.map(Vec::into_iter).ok_or_else(|| "a record came that does not begin with its time".to_owned())
}

/// One record of printable bytes.
pub fn record(random: &dyn Random, bytes: usize) -> Bytes {
    let mut record = vec![0; bytes];
    random.fill(&mut record);
    record.iter_mut().for_each(|byte| *byte = ALPHABET[usize::from(*byte & 63)]);
    record.into()
}

/// The body of a request with `count` records, and its content type.
pub fn batch(
    random: &dyn Random,
    form: Form,
    count: u32,
    record_bytes: usize,
) -> Result<(Bytes, &'static str), Failure> {
    let records: Vec<Bytes> = (0..count).map(|_| record(random, record_bytes)).collect();
    Ok(match form {
        Form::Raw => (records.concat().into(), "application/octet-stream"),
        Form::Binary => {
            (encode_bodies(records.iter().map(|record| &record[..]))?, kelda_client::CONTENT_TYPE)
        }
        Form::Json => (json(&records), "application/vnd.kelda.records+json"),
    })
}

fn json(records: &[Bytes]) -> Bytes {
    let mut body = br#"{"records":["#.to_vec();
    for (index, record) in records.iter().enumerate() {
        body.extend_from_slice(if index == 0 { br#"{"body":""# } else { br#",{"body":""# });
        body.extend_from_slice(record);
        body.extend_from_slice(br#""}"#);
    }
    body.extend_from_slice(b"]}");
    body.into()
}

#[cfg(test)]
mod tests {
    use kelda_env::RealRandom;

    use super::*;

    #[test]
    fn stamps_come_back() {
        // Letters only: a digit behind a stamp would make another stamp.
        let payload = Payload::Stamped(Bytes::from_static(&[b'x'; 33]));
        let both = [payload.at(7), payload.at(u64::MAX)].concat();
        assert_eq!(both.len(), 66);
        assert_eq!(stamps(&both, 33).unwrap().collect::<Vec<_>>(), [7, u64::MAX]);
        assert!(stamps(&both[1..], 33).is_err(), "no whole record");
        assert!(stamps(&both[1..34], 33).is_err(), "no stamp at its start");
    }

    #[test]
    fn a_json_batch_is_json() {
        let (body, _) = batch(&RealRandom, Form::Json, 3, 10).unwrap();
        let value: serde_json::Value = serde_json::from_slice(&body).unwrap();
        let records = value["records"].as_array().unwrap();
        assert_eq!(records.len(), 3);
        assert!(records.iter().all(|record| record["body"].as_str().unwrap().len() == 10));
    }
}
