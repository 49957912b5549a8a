//! The codecs on the way of a record: what a request holds, its place, its entry in the write-ahead log, and back.

use bytes::Bytes;
use criterion::{Criterion, Throughput};
use kelda_format::block::Block;
use kelda_format::codec::Codec;
use kelda_format::records;
use kelda_format::wal::{EntryContext, Grouping, Section, StreamSection, decode_entry, encode_entry};
use kelda_format::{
    Batch, ClusterId, Epoch, NodeId, Offset, Record, SessionEpoch, SessionId, StreamId, Timestamp,
};

const CLUSTER: ClusterId = ClusterId([7; 16]);
const RECORD_BYTES: usize = 1024;
const BATCHES: [usize; 2] = [1, 256];

pub fn records_of(count: usize) -> Vec<Record> {
    (0..count).map(|index| Record::new(Bytes::from(vec![index as u8; RECORD_BYTES]))).collect()
}

fn block(count: usize) -> Block {
    let batch = Batch::from_records(&records_of(count)).unwrap();
    Block::place(&batch, StreamId(1), Offset(1000), Timestamp(1_700_000_000_000))
}

fn context() -> EntryContext {
    let session = SessionId { node: NodeId(1), epoch: SessionEpoch(1) };
    EntryContext { cluster: CLUSTER, session, salt: 42 }
}

pub fn all(criterion: &mut Criterion) {
    for count in BATCHES {
        requests(criterion, count);
        entries(criterion, count);
        blocks(criterion, count);
    }
}

fn requests(criterion: &mut Criterion, count: usize) {
    let mut group = criterion.benchmark_group(format!("request of {count} x 1 KiB"));
    group.throughput(Throughput::Bytes((count * RECORD_BYTES) as u64));
    let all = records_of(count);
    group.bench_function("batch encode", |bencher| bencher.iter(|| Batch::from_records(&all).unwrap()));
    let batch = Batch::from_records(&all).unwrap();
    let frame = Bytes::from(records::encode_write(&batch).concat());
    group.bench_function("frame decode", |bencher| bencher.iter(|| records::decode_write(&frame).unwrap()));
    group.bench_function("block place", |bencher| {
        bencher.iter(|| Block::place(&batch, StreamId(1), Offset(1000), Timestamp(1)));
    });
    group.finish();
}

fn entries(criterion: &mut Criterion, count: usize) {
    let mut group = criterion.benchmark_group(format!("WAL entry of {count} x 1 KiB"));
    group.throughput(Throughput::Bytes((count * RECORD_BYTES) as u64));
    let section =
        StreamSection { stream: StreamId(1), epoch: Epoch(1), section: Section::Records(block(count)) };
    let (context, grouping) = (context(), Grouping { group: 2, synced_group: 1, in_group: 0 });
    let sections = [section];
    group.bench_function("encode", |bencher| bencher.iter(|| encode_entry(&context, grouping, &sections)));
    let bytes = Bytes::from(encode_entry(&context, grouping, &sections).bufs.concat());
    group.bench_function("decode", |bencher| bencher.iter(|| decode_entry(&bytes, 0, &context).unwrap()));
    group.finish();
}

fn blocks(criterion: &mut Criterion, count: usize) {
    let mut group = criterion.benchmark_group(format!("block of {count} x 1 KiB"));
    group.throughput(Throughput::Bytes((count * RECORD_BYTES) as u64));
    for codec in [Codec::None, Codec::Lz4, Codec::Zstd] {
        let mut bytes = Vec::new();
        block(count).encode_into(&mut bytes, CLUSTER, codec);
        let bytes = Bytes::from(bytes);
        group.bench_function(format!("read {codec:?}"), |bencher| {
            bencher.iter(|| Block::decode(&bytes, 0, CLUSTER).unwrap());
        });
    }
    let block = block(count);
    group.bench_function("walk records", |bencher| {
        bencher.iter(|| block.records().map(|stored| stored.record.body.len()).sum::<usize>());
    });
    group.finish();
}
