//! Streams whose records lie in objects of both kinds, and a store that counts what is asked of it.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use kelda_env::sim::{Sim, SimStore};
use kelda_env::{Adopted, Clock, Disk, ObjectInfo, Store, StoreError};
use kelda_format::command::{
    CommitObjects, CommitPart, CreateStream, NewObject, ObjectRef, OpenStream, RegisterNode, ReserveObjects,
};
use kelda_format::keys::data_key;
use kelda_format::object::{IndexBuilder, ObjectSource, PackedWriter};
use kelda_format::rows::{Expiry, FeatureRange, Nonce, ObjectKind, Retention, StreamKind, WalKind};
use kelda_format::wal::{EntryContext, Grouping, Section, SegmentHeader, StreamSection, encode_entry};
use kelda_format::{
    Batch, Block, ClusterId, Codec, Epoch, NodeId, ObjectId, Offset, Outcome, Record, SessionId, StreamId,
    StreamName, Timestamp,
};
use kelda_meta::{Command, FIRST_FEATURE_LEVEL, State};
use parking_lot::Mutex;

use crate::objects::{ObjectReader, ObjectReaderConfig};
use crate::types::ReadLimit;

pub(super) const CLUSTER: ClusterId = ClusterId([3; 16]);

/// A store that counts its reads.
pub(super) struct Counting {
    inner: SimStore,
    pub(super) gets: AtomicUsize,
    /// How long every read takes.
    pub(super) delay: Mutex<Duration>,
    clock: Arc<dyn Clock>,
    /// What was read, but for the ends of objects, where their indexes are.
    ranges: Mutex<BTreeMap<String, Vec<Range<u64>>>>,
}

impl Counting {
    fn new(sim: &Sim, inner: SimStore) -> Counting {
        Counting {
            inner,
            gets: AtomicUsize::new(0),
            delay: Mutex::new(Duration::ZERO),
            clock: sim.node("reader").env().clock,
            ranges: Mutex::default(),
        }
    }

    /// How many bytes were read more than once.
    pub(super) fn twice(&self) -> u64 {
        let mut twice = 0;
        for ranges in self.ranges.lock().values_mut() {
            ranges.sort_by_key(|range| range.start);
            let mut end = 0;
            for range in ranges.iter() {
                twice += end.min(range.end).saturating_sub(range.start);
                end = end.max(range.end);
            }
        }
        twice
    }
}

#[async_trait]
impl Store for Counting {
    async fn put_if_absent(&self, key: &str, body: Bytes) -> Result<(), StoreError> {
        self.inner.put_if_absent(key, body).await
    }
    async fn put(&self, key: &str, body: Bytes) -> Result<(), StoreError> {
        self.inner.put(key, body).await
    }
    async fn get(&self, key: &str) -> Result<Bytes, StoreError> {
        self.inner.get(key).await
    }
    async fn get_range(&self, key: &str, range: Range<u64>) -> Result<Bytes, StoreError> {
        self.gets.fetch_add(1, Ordering::SeqCst);
        let delay = *self.delay.lock();
        if !delay.is_zero() {
            self.clock.sleep(delay).await;
        }
        if self.inner.peek(key).is_some_and(|bytes| range.end < bytes.len() as u64) {
            self.ranges.lock().entry(key.to_owned()).or_default().push(range.clone());
        }
        self.inner.get_range(key, range).await
    }
    async fn head(&self, key: &str) -> Result<Option<ObjectInfo>, StoreError> {
        self.inner.head(key).await
    }
    async fn delete(&self, key: &str) -> Result<(), StoreError> {
        self.inner.delete(key).await
    }
    async fn list(&self, _prefix: &str) -> Result<Vec<ObjectInfo>, StoreError> {
        panic!("readers never list")
    }
    async fn adopt(&self, disk: &dyn Disk, path: &str, key: &str) -> Result<Adopted, StoreError> {
        self.inner.adopt(disk, path, key).await
    }
}

pub(super) struct World {
    pub(super) store: SimStore,
    pub(super) counting: Arc<Counting>,
    pub(super) state: State,
    session: SessionId,
    segments: u64,
    /// The blocks of each stream, in order: what reads have to give back.
    pub(super) written: Vec<(StreamId, Vec<Block>)>,
}

/// Room enough for everything.
pub(super) fn roomy() -> ObjectReaderConfig {
    ObjectReaderConfig { index_cache_bytes: 8 << 20, page_cache_bytes: 32 << 20, in_flight_bytes: 32 << 20 }
}

pub(super) fn limit(max_bytes: u64, max_records: u64) -> ReadLimit {
    ReadLimit { max_bytes, max_records, until: None }
}

impl World {
    /// A world with `streams` empty streams.
    pub(super) fn new(sim: &Sim, streams: usize) -> World {
        let store = sim.store();
        let mut state = State::new(CLUSTER);
        let register = RegisterNode {
            node: NodeId(1),
            nonce: Nonce([1; 16]),
            address: "node-1".to_owned(),
            slots: 1,
            features: FeatureRange { min: FIRST_FEATURE_LEVEL, max: FIRST_FEATURE_LEVEL },
            wal: WalKind::Local,
            takeover: None,
            at: Timestamp(1),
        };
        let Outcome::Registered { session } = state.apply(&register.into()).unwrap() else { panic!() };
        let counting = Arc::new(Counting::new(sim, store.clone()));
        let mut world = World { store, counting, state, session, segments: 0, written: Vec::new() };
        for number in 0..streams {
            let stream = world.create(&format!("s{number}"));
            world.written.push((stream, Vec::new()));
        }
        world
    }

    fn create(&mut self, name: &str) -> StreamId {
        let create = CreateStream {
            name: StreamName::parse(name).unwrap(),
            kind: StreamKind::Stream,
            content_type: "text/plain".to_owned(),
            expiry: Expiry::Never,
            retention: Retention::default(),
            arguments: Vec::new(),
            parent: None,
            initialising: false,
            at: Timestamp(1),
            open: None,
        };
        let Outcome::Created { stream, .. } = self.state.apply(&create.into()).unwrap() else { panic!() };
        let open = OpenStream { stream, session: self.session };
        self.state.apply(&open.into()).unwrap();
        stream
    }

    pub(super) fn reader(&self, config: ObjectReaderConfig) -> ObjectReader {
        ObjectReader::new(Arc::clone(&self.counting) as Arc<dyn Store>, config)
    }

    pub(super) fn gets(&self) -> usize {
        self.counting.gets.load(Ordering::SeqCst)
    }

    pub(super) fn stream(&self, number: usize) -> StreamId {
        self.written[number].0
    }

    pub(super) fn end(&self, number: usize) -> Offset {
        self.written[number].1.last().map_or(Offset::ZERO, Block::end)
    }

    /// The records of a stream as (timestamp, body).
    pub(super) fn records(&self, number: usize) -> Vec<(Timestamp, Bytes)> {
        records(&self.written[number].1)
    }

    /// A block at the end of a stream, not yet in any object.
    fn place(&mut self, number: usize, sizes: &[usize], time: u64) -> Block {
        let base = self.end(number);
        let body = |at: usize, size: &usize| {
            let mark = format!("{number}:{};", base.0 + at as u64);
            Bytes::from(mark.into_bytes().into_iter().cycle().take(*size).collect::<Vec<u8>>())
        };
        let bodies: Vec<Record> =
            sizes.iter().enumerate().map(|(at, size)| Record::new(body(at, size))).collect();
        let batch = Batch::from_records(&bodies).unwrap();
        let block = Block::place(&batch, self.stream(number), base, Timestamp(time));
        self.written[number].1.push(block.clone());
        block
    }

    /// Commits a segment of entries: stream number, sizes of records, time.
    pub(super) async fn segment(&mut self, entries: &[(usize, &[usize], u64)]) -> String {
        let context = EntryContext { cluster: CLUSTER, session: self.session, salt: 77 };
        let header = SegmentHeader { context, number: self.segments, first_group: 1 };
        let mut file = header.encode().to_vec();
        let mut index = IndexBuilder::new();
        let mut blocks = Vec::new();
        for (at, (number, sizes, time)) in entries.iter().enumerate() {
            let block = self.place(*number, sizes, *time);
            let section = Section::Records(block.clone());
            let sections = [StreamSection { stream: block.stream(), epoch: Epoch(0), section }];
            let group = at as u64 + 1;
            let parts =
                encode_entry(&context, Grouping { group, synced_group: group - 1, in_group: 0 }, &sections);
            index.add(&block, file.len() as u64, parts.len);
            for part in &parts.bufs {
                file.extend_from_slice(part);
            }
            blocks.push(block);
        }
        let trailer = index.finish(ObjectSource::Segment(context)).encode_trailer(file.len() as u64);
        file.extend_from_slice(&trailer);
        self.commit(ObjectKind::Segment, file.into(), &blocks).await
    }

    /// Commits a packed object of blocks: stream number, sizes of records, time. Sorted by stream.
    pub(super) async fn packed(&mut self, blocks: &[(usize, &[usize], u64)], codec: Codec) -> String {
        let mut writer = PackedWriter::new(CLUSTER, codec);
        let mut placed = Vec::new();
        for (number, sizes, time) in blocks {
            let block = self.place(*number, sizes, *time);
            writer.push(&block);
            placed.push(block);
        }
        let (bytes, _) = writer.finish();
        self.commit(ObjectKind::Packed, bytes, &placed).await
    }

    async fn commit(&mut self, kind: ObjectKind, bytes: Bytes, blocks: &[Block]) -> String {
        let reserve = ReserveObjects { session: self.session, count: 1, at: Timestamp(1) };
        let outcome = self.state.apply(&reserve.into()).unwrap();
        let Outcome::Reserved { first: object, .. } = outcome else { panic!() };
        let key = data_key(CLUSTER, object);
        let len = bytes.len() as u64;
        self.store.put_if_absent(&key, bytes).await.unwrap();
        let mut parts: Vec<CommitPart> = Vec::new();
        for block in blocks {
            match parts.iter_mut().find(|part| part.stream == block.stream()) {
                Some(part) => {
                    part.end = block.end();
                    part.last_timestamp = block.last_timestamp();
                    part.refs[0].end = block.end();
                    part.refs[0].last_timestamp = block.last_timestamp();
                    part.refs[0].bytes += block.byte_len();
                }
                None => parts.push(self.part(block, object)),
            }
        }
        let command: Command = CommitObjects {
            session: self.session,
            wal: self.session,
            expect_wal_start: self.segments,
            wal_start: self.segments + 1,
            objects: vec![NewObject { id: object, kind, bytes: len }],
            parts,
            at: Timestamp(1),
        }
        .into();
        self.state.apply(&command).unwrap();
        self.segments += 1;
        key
    }

    fn part(&self, block: &Block, object: ObjectId) -> CommitPart {
        CommitPart {
            stream: block.stream(),
            epoch: Epoch(0),
            expected_end: block.base(),
            end: block.end(),
            last_timestamp: block.last_timestamp(),
            sealed: false,
            stream_seq: None,
            checkpoint: None,
            deadline: None,
            forget: Vec::new(),
            producers: Vec::new(),
            refs: vec![ObjectRef {
                base: block.base(),
                end: block.end(),
                object,
                first_timestamp: block.first_timestamp(),
                last_timestamp: block.last_timestamp(),
                bytes: block.byte_len(),
            }],
        }
    }
}

/// Records as (timestamp, body), with a check that offsets are dense.
pub(super) fn records(blocks: &[Block]) -> Vec<(Timestamp, Bytes)> {
    let mut found = Vec::new();
    let mut next = blocks.first().map(Block::base);
    for stored in blocks.iter().flat_map(Block::records) {
        assert_eq!(Some(stored.offset), next, "offsets are dense");
        next = Some(stored.offset.plus(1));
        found.push((stored.timestamp, stored.record.body));
    }
    found
}
