//! One fixed value of every layout, with every feature of it in use.

use bytes::Bytes;
use kelda_format::backup::Manifest;
use kelda_format::block::Block;
use kelda_format::fuzzing::{CLUSTER, CONTEXT};
use kelda_format::ids::{NodeId, SessionEpoch, SessionId};
use kelda_format::object::{IndexBuilder, ObjectIndex, ObjectSource, PackedWriter};
use kelda_format::summary::VALUE_HEADER;
use kelda_format::wal::{
    Grouping, ProducerChange, Seal, Section, SegmentHeader, SlotHeader, StreamSection, encode_entry,
};
use kelda_format::{
    Batch, Codec, Epoch, Header, Headers, ObjectId, Offset, Record, StreamId, Timestamp, Value, records,
};

pub const STREAM: StreamId = StreamId(0x1234);
pub const TIME: Timestamp = Timestamp(1_750_000_000_123);

/// A header of every type, nested ones included, one name twice.
pub fn header_list() -> Vec<Header> {
    let nested = vec![
        Header::new("inner", Value::Array(vec![Value::Void, Value::Bool(false), Value::U8(9)])),
        Header::new("bytes", Value::Bytes(Bytes::from_static(&[0, 255]))),
    ];
    [
        Value::Bytes(Bytes::from_static(b"\x00raw\xff")),
        Value::Text("größe".to_owned()),
        Value::LongString(Bytes::from_static(b"\xfe\xff")),
        Value::ShortString("short".to_owned()),
        Value::Bool(true),
        Value::I8(-8),
        Value::U8(200),
        Value::I16(-1600),
        Value::U16(60_000),
        Value::I32(-320_000),
        Value::U32(4_000_000_000),
        Value::I64(-64),
        Value::U64(u64::MAX),
        Value::F32(1.5),
        Value::F64(-0.25),
        Value::Decimal { scale: 2, value: 31_415 },
        Value::Timestamp(1_750_000_000),
        Value::Void,
        Value::Table(nested),
        Value::Array(vec![Value::Text("a".to_owned()), Value::I32(1)]),
    ]
    .into_iter()
    .enumerate()
    .map(|(index, value)| {
        Header::new(if index < 2 { "twice".to_owned() } else { format!("h{index}") }, value)
    })
    .collect()
}

pub fn record_list() -> Vec<Record> {
    vec![
        Record::new(&b"first"[..]),
        Record::new(Bytes::new()),
        Record {
            body: Bytes::from_static(b"third, with everything"),
            headers: Headers::new(&header_list()).unwrap(),
            producer_timestamp: Some(Timestamp(1_749_999_999_999)),
        },
    ]
}

pub fn batch() -> Batch {
    Batch::from_records(&record_list()).unwrap()
}

/// Five records at three times, with a summary.
pub fn block() -> Block {
    let first = Block::place(&batch(), STREAM, Offset(1000), TIME);
    let second = Block::place(&single("fourth"), STREAM, Offset(1003), TIME.plus_ms(7));
    let third = Block::place(&single("fifth"), STREAM, Offset(1004), TIME.plus_ms(300));
    Block::join(&[first, second, third]).unwrap().with_summary(Bytes::from_static(b"summary"))
}

/// What follows [`block`].
pub fn sixth() -> Block {
    Block::place(&single("sixth"), STREAM, Offset(1005), TIME.plus_ms(900))
}

/// A block that both compressors make smaller.
pub fn compressible_block() -> Block {
    let records: Vec<Record> = (0..40).map(|index| Record::new(format!("line {index} of a log\n"))).collect();
    Block::place(&Batch::from_records(&records).unwrap(), STREAM, Offset(5), TIME)
}

pub fn single(body: &str) -> Batch {
    Batch::single(Bytes::copy_from_slice(body.as_bytes())).unwrap()
}

pub fn encode_block(block: &Block, codec: Codec) -> Vec<u8> {
    let mut out = Vec::new();
    block.encode_into(&mut out, CLUSTER, codec);
    out
}

pub fn section(stream: StreamId, section: Section) -> StreamSection {
    StreamSection { stream, epoch: Epoch(4), section }
}

pub fn records_section(stream: StreamId, base: u64, body: &str) -> StreamSection {
    section(stream, Section::Records(Block::place(&single(body), stream, Offset(base), TIME)))
}

/// Every type of section, of two streams.
pub fn sections() -> Vec<StreamSection> {
    vec![
        section(STREAM, Section::Records(block())),
        section(STREAM, Section::Producer(producer_change())),
        section(STREAM, Section::StreamSeq(Bytes::from_static(b"seq-17"))),
        section(STREAM, Section::ForgetProducer("old".to_owned())),
        section(STREAM, Section::Seal),
        records_section(StreamId(9), 77, "of another stream"),
        section(StreamId(9), Section::QueueState(Bytes::from_static(b"\x01state"))),
    ]
}

pub fn producer_change() -> ProducerChange {
    ProducerChange {
        id: "producer-1".to_owned(),
        epoch: 3,
        seq: 300,
        first_offset: Offset(1000),
        count: 5,
        at: TIME,
    }
}

pub fn segment_header() -> SegmentHeader {
    SegmentHeader { context: CONTEXT, number: 12, first_group: 34 }
}

pub fn entry(group: u64, synced_group: u64, in_group: u64, sections: &[StreamSection]) -> Vec<u8> {
    let parts = encode_entry(&CONTEXT, Grouping { group, synced_group, in_group }, sections);
    let bytes = parts.bufs.concat();
    assert_eq!(bytes.len() as u64, parts.len);
    assert_eq!(bytes.len() as u64, kelda_format::wal::entry_len(sections));
    bytes
}

/// A segment of three entries, two of one group, and a synced mark; with where each begins.
pub fn segment() -> (Vec<u8>, Vec<usize>) {
    let mut bytes = segment_header().encode().to_vec();
    let mut starts = Vec::new();
    let entries: [(u64, u64, Vec<StreamSection>); 4] = [
        (34, 33, sections()),
        (35, 34, vec![records_section(StreamId(9), 78, "more")]),
        (35, 34, vec![section(STREAM, Section::Records(sixth())), section(STREAM, Section::Seal)]),
        (36, 35, vec![]),
    ];
    let mut group_start = (0, 0);
    for (group, synced, sections) in entries {
        if group_start.0 != group {
            group_start = (group, bytes.len());
        }
        starts.push(bytes.len());
        bytes.extend(entry(group, synced, (bytes.len() - group_start.1) as u64, &sections));
    }
    (bytes, starts)
}

pub fn slot_header() -> SlotHeader {
    SlotHeader { context: CONTEXT, slot: 33, acknowledged: 29 }
}

/// The sections of the entries of [`slot`].
pub fn slot_entries() -> Vec<Vec<StreamSection>> {
    vec![sections(), vec![records_section(StreamId(9), 78, "more")]]
}

pub fn slot() -> Bytes {
    slot_header().encode_slot(slot_entries().iter().map(Vec::as_slice))
}

pub fn seal() -> Seal {
    Seal {
        cluster: CLUSTER,
        session: CONTEXT.session,
        slot: 34,
        by: SessionId { node: NodeId(8), epoch: SessionEpoch(2) },
        nonce: 0x0123_4567_89ab_cdef,
    }
}

/// [`segment`] as an object.
pub fn segment_object() -> (Vec<u8>, ObjectIndex) {
    let (mut bytes, starts) = segment();
    let mut builder = IndexBuilder::new();
    for &start in &starts {
        let (entry, next) = kelda_format::wal::decode_entry(&bytes.clone().into(), start, &CONTEXT).unwrap();
        builder.add_entry(&entry.sections, start as u64, (next - start) as u64);
    }
    let index = builder.finish(ObjectSource::Segment(CONTEXT));
    let trailer = index.encode_trailer(bytes.len() as u64);
    bytes.extend(trailer);
    (bytes, index)
}

pub fn packed_object(codec: Codec) -> (Bytes, ObjectIndex) {
    let mut writer = PackedWriter::new(CLUSTER, codec);
    writer.push(&Block::place(&single("of another stream"), StreamId(9), Offset(77), TIME));
    writer.push(&block());
    writer.push(&sixth());
    writer.finish()
}

/// Records with values and without, which filters choose by.
pub fn valued(values: &[Option<&str>], stream: StreamId, base: u64) -> Block {
    let records: Vec<Record> = values
        .iter()
        .map(|value| {
            let header = |value: &&str| Header::new(VALUE_HEADER, Value::Text((*value).to_owned()));
            let list: Vec<_> = value.iter().map(header).collect();
            Record { headers: Headers::new(&list).unwrap(), ..Record::new("x") }
        })
        .collect();
    Block::place(&Batch::from_records(&records).unwrap(), stream, Offset(base), TIME)
}

/// An object in which one stream has values.
pub fn summarised_object() -> (Bytes, ObjectIndex) {
    let mut writer = PackedWriter::new(CLUSTER, Codec::None);
    writer.push(&valued(&[None], StreamId(9), 77));
    writer.push(&valued(&[Some("eu"), Some(""), None, Some("eu")], STREAM, 5));
    // A gap in the offsets begins an extent.
    writer.push(&valued(&[None], STREAM, 20));
    writer.push(&valued(&[Some("us"), Some("eu")], STREAM, 30));
    writer.finish()
}

pub fn read_frames() -> Vec<u8> {
    let mut out = records::encode_read(&block()).concat();
    out.extend(records::encode_read(&sixth()).concat());
    out
}

pub fn write_frame() -> Vec<u8> {
    records::encode_write(&batch()).concat()
}

/// [`write_frame`] by a writer that leaves checksums out.
pub fn write_frame_without_checksums() -> Vec<u8> {
    let mut bytes = write_frame();
    bytes[6] = 0;
    bytes[36..48].fill(0);
    bytes
}

/// The manifest of a backup.
pub fn manifest() -> Manifest {
    Manifest {
        id: "20261130T120000Z-0011aabb".to_owned(),
        at: Timestamp(1_796_040_000_000),
        software: "0.2.0".to_owned(),
        applied: 4711,
        snapshot_bytes: 65_536,
        snapshot_crc: 0x1234_5678,
        objects: 12,
        object_bytes: 64 << 20,
        streams: 3,
        records: 1_000_000,
        missing: vec![ObjectId(7)],
        damaged: vec![ObjectId(8), ObjectId(300)],
    }
}
