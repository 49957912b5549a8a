//! What a range of a stream comes to: owns the requests that find its end and the sum, guarantees that it is only an
//! estimate for people, except [`offset_of`]. Never reads the records of a range.

use std::time::Duration;

use kelda_client::{Kelda, RangeReader, ReadOptions, StartAt};

use crate::args::Edge;
use crate::exit::Failure;
use crate::stream;

/// A range of at least so many records is a large one,
const LARGE_RECORDS: u64 = 10_000;
/// and so is one of about so many bytes.
const LARGE_BYTES: u64 = 16 << 20;

/// The end of what is to be read, and how large records are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    end: u64,
    record_bytes: u64,
}

/// Asks where a read ends that is about to begin.
pub async fn plan(kelda: &Kelda, name: &str, until: Option<&Edge>) -> Result<Range, Failure> {
    let head = kelda.head(name).await.map_err(|error| Failure::about(name, error))?;
    let until = match until {
        None => head.next_offset,
        Some(Edge::Offset(offset)) => *offset,
        Some(edge) => offset_of(kelda, name, edge).await?.0,
    };
    let held = head.next_offset.saturating_sub(stream::number(&head, "kelda-start-offset"));
    let record_bytes = stream::number(&head, "kelda-bytes").checked_div(held).unwrap_or(0);
    Ok(Range { end: until.min(head.next_offset), record_bytes })
}

impl Range {
    /// The records from `first` on, when they are many.
    pub fn large(&self, first: u64, count: Option<u64>) -> Option<u64> {
        let records = self.end.saturating_sub(first).min(count.unwrap_or(u64::MAX));
        let bytes = records.saturating_mul(self.record_bytes);
        (records >= LARGE_RECORDS || bytes >= LARGE_BYTES).then_some(records)
    }
}

/// The offset of the first record at or after an edge, or the tail, and the identity of the stream.
pub async fn offset_of(kelda: &Kelda, name: &str, edge: &Edge) -> Result<(u64, Option<String>), Failure> {
    let start = match edge {
        Edge::Offset(offset) => return Ok((*offset, None)),
        Edge::Time(time) => StartAt::Time(*time),
        Edge::Ago(back) => StartAt::Back(*back),
    };
    let options = ReadOptions { start, until: None, count: Some(1), follow: false, patience: Duration::ZERO };
    let mut reader = RangeReader::new(kelda, name, options);
    let first = reader.next().await.map_err(|error| Failure::about(name, error))?;
    let offset = first.map(|record| record.offset.0).or(reader.position());
    let offset = offset.ok_or_else(|| Failure::local("the server did not say where the stream ends"))?;
    Ok((offset, reader.stream_id().map(str::to_owned)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_records_or_many_bytes_are_a_large_range() {
        let small = Range { end: 20_000, record_bytes: 10 };
        assert_eq!(small.large(0, None), Some(20_000));
        assert_eq!(small.large(15_000, None), None, "few and small");
        assert_eq!(small.large(0, Some(9_999)), None);
        assert_eq!(small.large(30_000, None), None, "past the end");
        assert_eq!(Range { end: 16, record_bytes: 1 << 20 }.large(0, None), Some(16), "few and heavy");
    }
}
