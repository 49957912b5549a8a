//! Filtered reads: exactly what a read of everything would give, and few requests for little.

use kelda_engine::{AppendRequest, EngineConfig, MaintenanceConfig, ReadError, ReadLimit};
use kelda_env::layers::StoreSnapshot;
use kelda_env::sim::Sim;
use kelda_format::command::CreateStream;
use kelda_format::rows::{Expiry, ForkPoint, Retention, StreamKind, WalKind};
use kelda_format::summary::{Selection, VALUE_HEADER, value};
use kelda_format::{
    Batch, Block, Header, Headers, Offset, Outcome, Record, StreamId, StreamName, Timestamp, Value,
};
use kelda_meta::Meta;

use crate::world::{World, body, small};

/// Nothing stays in the log cache once it is committed.
fn uncached(wal: WalKind) -> EngineConfig {
    let maintenance =
        MaintenanceConfig { destroy_grace: std::time::Duration::ZERO, ..MaintenanceConfig::default() };
    EngineConfig { cache_tail_bytes: 0, maintenance, wal, ..small() }
}

fn record(number: usize, len: usize, value: Option<&str>) -> Record {
    let list: Vec<_> =
        value.iter().map(|value| Header::new(VALUE_HEADER, Value::Text((*value).to_owned()))).collect();
    Record { headers: Headers::new(&list).unwrap(), ..Record::new(body(number, len)) }
}

async fn append(world: &World, stream: StreamId, records: &[Record]) {
    let request = AppendRequest::new(Batch::from_records(records).unwrap());
    world.open(stream).await.append(request).await.unwrap();
}

fn limit(max_bytes: u64) -> ReadLimit {
    ReadLimit { max_bytes, max_records: u64::MAX, until: None }
}

/// What a consumer wants.
#[derive(Clone, Debug)]
struct Wanted {
    values: Vec<&'static str>,
    unfiltered: bool,
}

impl Wanted {
    fn selection(&self) -> Selection {
        Selection::new(self.values.iter().map(|value| value.as_bytes()), self.unfiltered)
    }

    fn of(&self, blocks: &[Block]) -> Vec<u64> {
        let wanted = |headers: &Headers| match value(headers) {
            Some(value) => self.values.iter().any(|wanted| value == wanted.as_bytes()),
            None => self.unfiltered,
        };
        let records = blocks.iter().flat_map(Block::records);
        records.filter(|stored| wanted(&stored.record.headers)).map(|stored| stored.offset.0).collect()
    }
}

/// The offsets that a filtered reader gets from `from` to the tail, or to `until`, read by read.
async fn filtered(
    world: &World,
    stream: StreamId,
    from: Offset,
    wanted: &Wanted,
    limit: ReadLimit,
) -> Vec<u64> {
    let selection = wanted.selection();
    let mut next = from;
    let mut found = Vec::new();
    loop {
        let chunk = world.engine.read_wanted(stream, next, limit, &selection).await.unwrap();
        let end = limit.until.unwrap_or(chunk.tail);
        assert!(chunk.next <= chunk.tail && chunk.next <= end, "{} past {} or {end}", chunk.next, chunk.tail);
        assert!(chunk.blocks.windows(2).all(|pair| pair[0].end() == pair[1].base()));
        assert!(chunk.blocks.first().is_none_or(|block| block.base() >= next));
        assert!(chunk.blocks.last().is_none_or(|block| block.end() == chunk.next));
        found.extend(wanted.of(&chunk.blocks));
        if chunk.next == end {
            return found;
        }
        assert!(chunk.next > next, "nothing came of a read at {next}");
        next = chunk.next;
    }
}

/// The same by reading everything.
async fn chosen(world: &World, stream: StreamId, from: Offset, wanted: &Wanted) -> Vec<u64> {
    let mut next = from;
    let mut found = Vec::new();
    loop {
        let chunk = world.engine.read(stream, next, limit(1 << 20)).await.unwrap();
        found.extend(wanted.of(&chunk.blocks));
        if chunk.next == chunk.tail {
            return found;
        }
        next = chunk.next;
    }
}

struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }

    /// Mostly a run of one kind, so that there is something to pass.
    fn value(&mut self, era: u64) -> Option<&'static str> {
        const VALUES: [&str; 4] = ["", "eu", "us", "asia"];
        let pick = if self.roll(12) == 0 { self.roll(5) } else { era % 5 };
        VALUES.get(usize::try_from(pick).unwrap()).copied()
    }
}

#[test]
fn a_filtered_read_gives_what_a_read_of_everything_gives() {
    for seed in 0..24 {
        let wal = if seed % 2 == 0 { WalKind::Local } else { WalKind::Object };
        Sim::run(seed, |sim| async move {
            let mut world = World::with(&sim, uncached(wal)).await;
            let streams = [world.create("a").await, world.create("b").await];
            let mut dice = Dice(seed);
            let mut era = 0;
            for _ in 0..40 {
                era += u64::from(dice.roll(3) == 0);
                for stream in streams {
                    let records: Vec<Record> = (0..=dice.roll(12))
                        .map(|at| record(at as usize, 30 + dice.roll(4000) as usize, dice.value(era)))
                        .collect();
                    append(&world, stream, &records).await;
                }
                match dice.roll(12) {
                    0..4 => drop(world.engine.flush().await),
                    4 => world.engine.maintain_now().await,
                    5 => world.kill().await,
                    _ => {}
                }
            }
            if dice.roll(2) == 0 {
                world.engine.flush().await;
            }
            for stream in streams {
                let start = Offset(dice.roll(40));
                if dice.roll(2) == 0 {
                    world.engine.trim(stream, start).await.unwrap();
                    let selection = Selection::new([&b"eu"[..]], false);
                    if start > Offset::ZERO {
                        let read = world.engine.read_wanted(stream, Offset::ZERO, limit(1), &selection).await;
                        assert!(matches!(read, Err(ReadError::Trimmed { start: told }) if told == start));
                    }
                }
                for values in [vec!["eu"], vec![""], vec!["us", "asia"], vec!["mars"]] {
                    for unfiltered in [false, true] {
                        let wanted = Wanted { values: values.clone(), unfiltered };
                        let expected = chosen(&world, stream, start, &wanted).await;
                        for bytes in [1, 3000, 1 << 20] {
                            let found = filtered(&world, stream, start, &wanted, limit(bytes)).await;
                            assert_eq!(found, expected, "{wanted:?}");
                        }
                        let until = Offset(start.0 + 1 + dice.roll(100));
                        let asked = ReadLimit { until: Some(until), ..limit(1 << 20) };
                        let found = filtered(&world, stream, start, &wanted, asked).await;
                        let before: Vec<u64> =
                            expected.iter().copied().filter(|offset| *offset < until.0).collect();
                        assert_eq!(found, before, "{wanted:?} until {until}");
                    }
                }
            }
        });
    }
}

/// Twelve objects of many extents each; one value in one batch of a hundred, another in all others.
async fn site(sim: &Sim, wal: WalKind) -> (World, StreamId) {
    let config = EngineConfig {
        segment_bytes: 1 << 20,
        wal_queue_bytes: 4 << 20,
        uncommitted_bytes: 8 << 20,
        ..uncached(wal)
    };
    let mut world = World::with(sim, config).await;
    let stream = world.create("a").await;
    for number in 0..1200 {
        let value = if number % 100 == 50 { "rare" } else { "common" };
        let records: Vec<Record> = (0..10).map(|at| record(number * 10 + at, 1000, Some(value))).collect();
        append(&world, stream, &records).await;
    }
    world.engine.flush().await;
    world.engine.maintain_now().await;
    // What it read until then is not in its caches any more.
    world.kill().await;
    (world, stream)
}

async fn cost(world: &World, stream: StreamId, values: &[&'static str]) -> (Vec<u64>, u64, u64) {
    let gets = |counts: &StoreSnapshot| counts.of(kelda_env::StoreOp::Get);
    let before = world.counts.snapshot();
    let wanted = Wanted { values: values.to_vec(), unfiltered: false };
    let found = filtered(world, stream, Offset::ZERO, &wanted, limit(256 << 10)).await;
    let after = world.counts.snapshot();
    (found, gets(&after) - gets(&before), after.bytes_read - before.bytes_read)
}

#[test]
fn a_filtered_read_asks_the_store_for_what_it_returns() {
    [WalKind::Object, WalKind::Local].into_iter().for_each(asks_for_what_it_returns);
}

fn asks_for_what_it_returns(wal: WalKind) {
    let (objects, none, rare) = Sim::run(1, |sim| async move {
        let (world, stream) = site(&sim, wal).await;
        let objects = world.view().refs(stream).count() as u64;
        let (found, gets, bytes) = cost(&world, stream, &["neither"]).await;
        assert!(found.is_empty());
        let none = (gets, bytes);
        let (found, gets, bytes) = cost(&world, stream, &["rare"]).await;
        assert_eq!(found.len(), 120);
        (objects, none, (gets, bytes))
    });
    let stored = 12_000 * 1000;
    assert!(objects >= 10, "{objects} objects");
    // An index each, which comes with what lies before it: 64 KiB.
    assert!(none.0 <= objects, "{wal:?}: {} GET for nothing of {objects} objects", none.0);
    assert!(none.1 <= objects * (64 << 10), "{wal:?}: {} bytes for nothing", none.1);
    // Twelve places, each in an extent of 64 KiB, or two; the indexes are here already.
    assert!(rare.0 <= 24, "{wal:?}: {} GET for 12 places", rare.0);
    assert!(rare.1 <= 24 * (64 << 10), "{wal:?}: {} bytes for 12 places of {stored}", rare.1);
    println!("{wal:?}: {objects} objects; nothing wanted: {none:?}; 1 in 100: {rare:?} (GET, bytes)");
}

/// A stream that shares the records of another up to an offset.
async fn fork(world: &World, parent: StreamId, offset: Offset) -> StreamId {
    let command = CreateStream {
        name: StreamName::parse("fork").unwrap(),
        kind: StreamKind::Stream,
        content_type: "text/plain".to_owned(),
        expiry: Expiry::Never,
        retention: Retention::default(),
        arguments: Vec::new(),
        parent: Some(ForkPoint { stream: parent, offset }),
        initialising: false,
        at: Timestamp(1),
        open: None,
    };
    match world.meta.propose(command.into()).await.unwrap() {
        Outcome::Created { stream, .. } => stream,
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_a_fork_has_of_its_own_is_not_passed_with_an_extent_of_its_parent() {
    let (of_fork, of_parent) = Sim::run(1, |sim| async move {
        let mut world = World::with(&sim, uncached(WalKind::Object)).await;
        let parent = world.create("a").await;
        let records: Vec<Record> = (0..20).map(|at| record(at, 1000, Some("parent"))).collect();
        append(&world, parent, &records).await;
        world.engine.flush().await;
        // In the midst of an extent, which goes on in the parent.
        let stream = fork(&world, parent, Offset(7)).await;
        append(&world, stream, &[record(7, 1000, Some("own")), record(8, 1000, None)]).await;
        world.engine.flush().await;
        world.kill().await;
        let wanted = |values: &[&'static str]| Wanted { values: values.to_vec(), unfiltered: true };
        let of_fork = filtered(&world, stream, Offset::ZERO, &wanted(&["own"]), limit(1 << 20)).await;
        let all = limit(1 << 20);
        (of_fork, filtered(&world, stream, Offset::ZERO, &wanted(&["parent"]), all).await)
    });
    assert_eq!(of_fork, [7, 8]);
    assert_eq!(of_parent, [0, 1, 2, 3, 4, 5, 6, 8]);
}
