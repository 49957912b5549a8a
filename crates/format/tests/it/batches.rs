//! Batches: limits, checksums, and bodies that are not copied.

use bytes::Bytes;
use kelda_format::limits::{MAX_BATCH_BYTES, MAX_BATCH_META_BYTES, MAX_BATCH_RECORDS, MAX_RECORD_BYTES};
use kelda_format::wire::crc;
use kelda_format::{Batch, BatchBuilder, Header, Headers, LimitError, Record, Value};

use crate::samples;

#[test]
fn a_batch_gives_its_records_back() {
    let batch = samples::batch();
    assert_eq!(batch.records().collect::<Vec<_>>(), samples::record_list());
    assert_eq!(batch.count(), 3);
    assert_eq!(batch.byte_len(), (batch.meta().len() + batch.body().len()) as u64);
    assert_eq!((batch.meta_crc(), batch.body_crc()), (crc(batch.meta()), crc(batch.body())));
    assert_eq!(&batch.body()[..], b"firstthird, with everything");
}

#[test]
fn a_single_body_is_shared() {
    let body = Bytes::from(vec![7; 1000]);
    for batch in
        [Batch::single(body.clone()).unwrap(), Batch::from_records(&[Record::new(body.clone())]).unwrap()]
    {
        assert_eq!(batch.body().as_ptr(), body.as_ptr());
        assert_eq!(batch.meta().len(), 3);
    }
}

#[test]
fn nothing_added_is_the_empty_batch() {
    assert_eq!(BatchBuilder::new().finish(), Batch::empty());
    assert_eq!(Batch::from_records(&[]).unwrap(), Batch::empty());
    assert!(Batch::empty().is_empty());
}

#[test]
fn limits_are_exact_and_leave_the_batch_as_it_was() {
    let body = Bytes::from(vec![0; MAX_RECORD_BYTES + 1]);
    let found = MAX_RECORD_BYTES as u64 + 1;
    assert_eq!(Batch::single(body.clone()), Err(LimitError::RecordBytes { found }));
    assert!(Batch::single(body.slice(1..)).is_ok());
    let mut builder = BatchBuilder::new();
    builder.push(&body[..MAX_BATCH_BYTES - 1], &Headers::none(), None).unwrap();
    let before = builder.byte_len();
    let found = MAX_BATCH_BYTES as u64 + 1;
    assert_eq!(builder.push(b"ab", &Headers::none(), None), Err(LimitError::BatchBytes { found }));
    assert_eq!((builder.byte_len(), builder.count()), (before, 1));
    builder.push(b"a", &Headers::none(), None).unwrap();
}

#[test]
fn records_and_metadata_are_bounded() {
    let mut builder = BatchBuilder::new();
    for _ in 0..MAX_BATCH_RECORDS {
        builder.push(b"", &Headers::none(), None).unwrap();
    }
    let found = MAX_BATCH_RECORDS as u64 + 1;
    assert_eq!(builder.push(b"", &Headers::none(), None), Err(LimitError::BatchRecords { found }));
    assert_eq!(builder.finish().count() as usize, MAX_BATCH_RECORDS);
    let headers = Headers::new(&[Header::new("h", Value::Bytes(vec![0; 60_000].into()))]).unwrap();
    let mut builder = BatchBuilder::new();
    let error = loop {
        if let Err(error) = builder.push(b"", &headers, None) {
            break error;
        }
    };
    assert!(matches!(error, LimitError::BatchMetaBytes { found } if found > MAX_BATCH_META_BYTES as u64));
    assert_eq!(builder.count() as usize, MAX_BATCH_META_BYTES / (headers.encoded().len() + 5));
}
