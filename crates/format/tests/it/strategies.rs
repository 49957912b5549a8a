//! Random values of every layout.

use bytes::Bytes;
use kelda_format::block::Block;
use kelda_format::wal::{ProducerChange, Section, StreamSection};
use kelda_format::{Batch, Codec, Epoch, Header, Headers, Offset, Record, StreamId, Timestamp, Value};
use proptest::collection::vec;
use proptest::prelude::*;

pub fn bytes(max: usize) -> impl Strategy<Value = Bytes> {
    vec(any::<u8>(), 0..max).prop_map(Bytes::from)
}

fn text() -> impl Strategy<Value = String> {
    vec(any::<char>(), 0..12).prop_map(String::from_iter)
}

pub fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        bytes(20).prop_map(Value::Bytes),
        text().prop_map(Value::Text),
        bytes(20).prop_map(Value::LongString),
        text().prop_map(Value::ShortString),
        any::<bool>().prop_map(Value::Bool),
        any::<i8>().prop_map(Value::I8),
        any::<u8>().prop_map(Value::U8),
        any::<i16>().prop_map(Value::I16),
        any::<u16>().prop_map(Value::U16),
        any::<i32>().prop_map(Value::I32),
        any::<u32>().prop_map(Value::U32),
        any::<i64>().prop_map(Value::I64),
        any::<u64>().prop_map(Value::U64),
        any::<f32>().prop_map(Value::F32),
        any::<f64>().prop_map(Value::F64),
        (any::<u8>(), any::<u32>()).prop_map(|(scale, value)| Value::Decimal { scale, value }),
        any::<u64>().prop_map(Value::Timestamp),
        Just(Value::Void),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let header = (text(), inner.clone()).prop_map(|(name, value)| Header { name, value });
        prop_oneof![vec(header, 0..4).prop_map(Value::Table), vec(inner, 0..4).prop_map(Value::Array)]
    })
}

pub fn header_list() -> impl Strategy<Value = Vec<Header>> {
    vec((text(), value()).prop_map(|(name, value)| Header { name, value }), 0..5)
}

pub fn record() -> impl Strategy<Value = Record> {
    let headers = prop_oneof![
        3 => Just(Headers::none()),
        1 => header_list().prop_map(|list| Headers::new(&list).unwrap()),
    ];
    (bytes(60), headers, proptest::option::of(any::<u64>().prop_map(Timestamp)))
        .prop_map(|(body, headers, producer_timestamp)| Record { body, headers, producer_timestamp })
}

pub fn batch() -> impl Strategy<Value = Batch> {
    vec(record(), 1..8).prop_map(|records| Batch::from_records(&records).unwrap())
}

/// A block of several batches at increasing times.
pub fn block() -> impl Strategy<Value = Block> {
    let batches = vec((batch(), prop_oneof![Just(0u64), 0..5000u64]), 1..4);
    (batches, 0..u64::MAX / 2, 0..u64::MAX / 2, any::<u64>(), proptest::option::of(bytes(30))).prop_map(
        |(batches, base, time, stream, summary)| {
            let (mut at, mut time) = (Offset(base), Timestamp(time));
            let mut blocks = Vec::new();
            for (batch, later) in batches {
                time = time.plus_ms(later);
                blocks.push(Block::place(&batch, StreamId(stream), at, time));
                at = blocks.last().unwrap().end();
            }
            let block = Block::join(&blocks).unwrap();
            match summary {
                Some(summary) if !summary.is_empty() => block.with_summary(summary),
                _ => block,
            }
        },
    )
}

pub fn codec() -> impl Strategy<Value = Codec> {
    prop_oneof![Just(Codec::None), Just(Codec::Lz4), Just(Codec::Zstd)]
}

fn producer_change() -> impl Strategy<Value = ProducerChange> {
    (text(), any::<[u64; 4]>(), any::<u32>()).prop_map(|(id, [epoch, seq, first, at], count)| {
        ProducerChange { id, epoch, seq, first_offset: Offset(first), count, at: Timestamp(at) }
    })
}

pub fn section() -> impl Strategy<Value = StreamSection> {
    let section = prop_oneof![
        block().prop_map(Section::Records),
        producer_change().prop_map(Section::Producer),
        Just(Section::Seal),
        bytes(40).prop_map(Section::StreamSeq),
        bytes(100).prop_map(Section::QueueState),
        text().prop_map(Section::ForgetProducer),
    ];
    (any::<u64>(), any::<u64>(), section).prop_map(|(stream, epoch, section)| {
        let stream = match &section {
            Section::Records(block) => block.stream(),
            _ => StreamId(stream),
        };
        StreamSection { stream, epoch: Epoch(epoch), section }
    })
}
