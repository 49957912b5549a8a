//! The records of a page while it comes: owns the frame that is not whole yet. Guarantees that what is given does not depend
//! on where the transfer was cut into parts, and that a page which ends within a frame is an error. Never holds more bytes
//! together than a frame and a part, so that a record keeps no whole page in memory.

use bytes::{Bytes, BytesMut};
use kelda_format::StoredRecord;
use kelda_format::records::Frame;

use crate::error::Error;

/// Takes the parts of a page.
#[derive(Default)]
pub(crate) struct Frames {
    entries: Vec<(u64, StoredRecord)>,
    /// What came of the next frame.
    begun: BytesMut,
    /// Bytes of the frame before: the next one is often as large.
    usual: usize,
}

impl Frames {
    /// Takes what comes next.
    pub(crate) fn take(&mut self, part: Bytes) -> Result<(), Error> {
        let bytes = if self.begun.is_empty() {
            part
        } else {
            self.begun.extend_from_slice(&part);
            std::mem::take(&mut self.begun).freeze()
        };
        let mut at = 0;
        while let Some((frame, next)) =
            Frame::decode(&bytes, at).map_err(|error| Error::Protocol(error.to_string()))?
        {
            self.entries.extend(frame.records().map(|record| (record.offset.0, record)));
            (self.usual, at) = (next - at, next);
        }
        if at == bytes.len() {
            return Ok(());
        }
        // What is not decoded yet is nobody else's, and is filled on where it is.
        self.begun = if at == 0 {
            bytes.try_into_mut().unwrap_or_else(|shared| self.begin(&shared))
        } else {
            self.begin(&bytes[at..])
        };
        Ok(())
    }

    fn begin(&self, rest: &[u8]) -> BytesMut {
        let mut begun = BytesMut::with_capacity(self.usual.max(rest.len()));
        begun.extend_from_slice(rest);
        begun
    }

    /// All records, when the last frame is whole.
    pub(crate) fn end(self) -> Result<Vec<(u64, StoredRecord)>, Error> {
        if self.begun.is_empty() {
            Ok(self.entries)
        } else {
            Err(Error::Protocol("the last frame is cut short".to_owned()))
        }
    }
}

#[cfg(test)]
mod tests {
    use kelda_format::batch::Batch;
    use kelda_format::block::Block;
    use kelda_format::records::encode_read;
    use kelda_format::{Offset, Record, StreamId, Timestamp};

    use super::*;

    /// A page of three frames with so many records each.
    fn page() -> Vec<u8> {
        let (mut page, mut at) = (Vec::new(), 40);
        for count in [3, 1, 5] {
            let records: Vec<Record> = (0..count).map(|n| Record::new(format!("{at} and {n}"))).collect();
            let batch = Batch::from_records(&records).unwrap();
            let block = Block::place(&batch, StreamId(7), Offset(at), Timestamp(1_000));
            page.extend(encode_read(&block).concat());
            at += count;
        }
        page
    }

    fn read(parts: &[&[u8]]) -> Result<Vec<(u64, StoredRecord)>, Error> {
        let mut frames = Frames::default();
        for part in parts {
            frames.take(Bytes::copy_from_slice(part))?;
        }
        frames.end()
    }

    #[test]
    fn where_a_page_is_cut_makes_no_difference() {
        let page = page();
        let whole = read(&[&page]).unwrap();
        assert_eq!(whole.iter().map(|(offset, _)| *offset).collect::<Vec<_>>(), (40..49).collect::<Vec<_>>());
        for first in 0..=page.len() {
            let second = first + (page.len() - first) / 3;
            let parts = [&page[..first], &page[first..second], &page[second..]];
            assert_eq!(read(&parts).unwrap(), whole, "cut at {first} and {second}");
        }
        let bytes: Vec<&[u8]> = page.chunks(1).collect();
        assert_eq!(read(&bytes).unwrap(), whole);
    }

    #[test]
    fn a_page_that_ends_within_a_frame_is_an_error() {
        let page = page();
        let errors = (0..page.len()).filter(|end| read(&[&page[..*end]]).is_err()).count();
        assert_eq!(errors, page.len() - 3, "all but nothing, one frame and two");
    }
}
