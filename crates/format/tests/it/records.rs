//! Records over HTTP: frames in a stream of bytes that arrives in pieces, and what a writer may send.

use bytes::Bytes;
use kelda_format::limits::MAX_BATCH_RECORDS;
use kelda_format::records::{self, FRAME_HEADER_BYTES, Frame, FrameWalk, RecordsError};
use kelda_format::wire::crc;
use kelda_format::{LimitError, Offset};

use crate::samples;

#[test]
fn frames_come_out_as_soon_as_they_are_complete() {
    let whole = samples::read_frames();
    let mut sizes = Vec::new();
    let mut received = Vec::new();
    let mut at = 0;
    for (count, byte) in whole.iter().enumerate() {
        received.push(*byte);
        let bytes = Bytes::copy_from_slice(&received);
        if let Some((frame, next)) = Frame::decode(&bytes, at).unwrap() {
            assert_eq!(next, count + 1, "not a byte later than needed");
            sizes.push((frame.base(), frame.end()));
            at = next;
        }
    }
    assert_eq!(sizes, [(Offset(1000), Offset(1005)), (Offset(1005), Offset(1006))]);
    assert_eq!(Frame::decode(&whole.into(), at), Ok(None));
}

#[test]
fn offsets_times_and_headers_arrive() {
    let bytes = Bytes::from(samples::read_frames());
    let (frame, _) = Frame::decode(&bytes, 0).unwrap().unwrap();
    assert_eq!(frame.records().collect::<Vec<_>>(), samples::block().records().collect::<Vec<_>>());
}

#[test]
fn a_writer_sends_exactly_one_frame_of_its_own_kind() {
    let write = samples::write_frame();
    assert_eq!(records::decode_write(&write.clone().into()), Ok(samples::batch()));
    let twice = [write.clone(), write.clone()].concat();
    for bytes in [vec![], write[..write.len() - 1].to_vec(), twice, samples::read_frames()] {
        assert!(matches!(records::decode_write(&bytes.into()), Err(RecordsError::Malformed(_))));
    }
    assert!(Frame::decode(&write.into(), 0).is_err());
}

#[test]
fn a_writer_shares_its_body_with_the_batch() {
    let bytes = Bytes::from(samples::write_frame());
    let batch = records::decode_write(&bytes).unwrap();
    assert!(bytes.as_ptr_range().contains(&batch.body().as_ptr()));
}

#[test]
fn checksums_may_be_left_out_by_a_writer_but_not_be_wrong() {
    let bytes = samples::write_frame_without_checksums();
    assert_eq!(records::decode_write(&bytes.clone().into()), Ok(samples::batch()));
    for field in [36, 40, 44] {
        let mut wrong = bytes.clone();
        wrong[field] = 1;
        assert!(records::decode_write(&wrong.into()).is_err());
    }
    let mut read = samples::read_frames();
    read[6] = 0;
    assert!(Frame::decode(&read.into(), 0).is_err(), "a reader always gets them");
}

#[test]
fn the_server_assigns_offsets_and_times() {
    for field in [8, 16] {
        let mut bytes = samples::write_frame_without_checksums();
        bytes[field] = 1;
        let error = records::decode_write(&bytes.into()).unwrap_err();
        assert!(error.to_string().contains("where the server assigns them"), "{error}");
    }
    // A record that claims to be later than the first: flags 1, empty body, 5 ms.
    let mut bytes = samples::write_frame_without_checksums();
    let meta = [0, 0, 1, 0, 5];
    bytes.truncate(FRAME_HEADER_BYTES);
    bytes[24] = 2;
    bytes[28..36].copy_from_slice(&[5, 0, 0, 0, 0, 0, 0, 0]);
    bytes.extend(meta);
    let error = records::decode_write(&bytes.into()).unwrap_err();
    assert!(error.to_string().contains("no place yet"), "{error}");
}

#[test]
fn times_that_decrease_are_refused() {
    let frame = |second: u8, third: u8| {
        let mut bytes = records::encode_read(&samples::sixth())[0].to_vec();
        let meta = [0, 0, 1, 0, second, 1, 0, third];
        bytes[24..36].copy_from_slice(&[3, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0]);
        bytes[36..40].copy_from_slice(&crc(&meta).to_le_bytes());
        bytes[40..44].fill(0);
        let sum = crc(&bytes[..44]);
        bytes[44..48].copy_from_slice(&sum.to_le_bytes());
        bytes.extend(meta);
        Frame::decode(&bytes.into(), 0)
    };
    assert!(frame(5, 5).is_ok());
    let error = frame(5, 4).unwrap_err();
    assert!(error.to_string().contains("decrease"), "{error}");
}

#[test]
fn limits_are_told_apart_from_nonsense() {
    let mut bytes = samples::write_frame_without_checksums();
    let found = MAX_BATCH_RECORDS as u64 + 1;
    bytes[24..28].copy_from_slice(&(MAX_BATCH_RECORDS as u32 + 1).to_le_bytes());
    let limit = RecordsError::Limit(LimitError::BatchRecords { found });
    assert_eq!(records::decode_write(&bytes.into()), Err(limit));
}

#[test]
fn hostile_lengths_are_refused_before_they_are_waited_for() {
    for field in [24, 28, 32] {
        let mut bytes = samples::write_frame_without_checksums();
        bytes[field..field + 4].copy_from_slice(&u32::MAX.to_le_bytes());
        assert!(records::decode_write(&bytes.into()).is_err());
    }
}

#[test]
fn the_example_of_the_documentation_is_right() {
    let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/formats.md");
    let page = std::fs::read_to_string(page).unwrap();
    let (_, example) = page.split_once("The smallest append").unwrap();
    let (_, example) = example.split_once("```text\n").unwrap();
    let (hex, _) = example.split_once("```").unwrap();
    let bytes: Vec<u8> = hex.split_whitespace().map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect();
    let batch = records::decode_write(&bytes.into()).unwrap();
    assert_eq!(batch.records().collect::<Vec<_>>(), [kelda_format::Record::new("hi")]);
}

#[test]
fn a_walk_counts_what_the_frames_hold_in_pieces_of_any_size() {
    let whole = samples::read_frames();
    let all: Vec<_> = {
        let bytes = Bytes::from(whole.clone());
        let (first, next) = Frame::decode(&bytes, 0).unwrap().unwrap();
        let (second, _) = Frame::decode(&bytes, next).unwrap().unwrap();
        first.records().chain(second.records()).collect()
    };
    let bodies: usize = all.iter().map(|stored| stored.record.body.len()).sum();
    for size in 1..=whole.len() {
        let mut walk = FrameWalk::default();
        whole.chunks(size).for_each(|piece| walk.feed(piece).unwrap());
        let found = (walk.records(), walk.body_bytes(), walk.is_whole());
        assert_eq!(found, (all.len() as u64, bodies as u64, true), "pieces of {size}");
    }
}

#[test]
fn a_walk_sees_cuts_gaps_and_other_frames() {
    let whole = samples::read_frames();
    for cut in [1, FRAME_HEADER_BYTES - 1, FRAME_HEADER_BYTES, whole.len() - 1] {
        let mut walk = FrameWalk::default();
        walk.feed(&whole[..cut]).unwrap();
        assert!(!walk.is_whole(), "cut after {cut}");
    }
    let mut twice = FrameWalk::default();
    twice.feed(&whole).unwrap();
    assert!(twice.feed(&whole).is_err(), "the offsets go back");
    assert!(FrameWalk::default().feed(&samples::write_frame()).is_err(), "a frame of a write");
}
