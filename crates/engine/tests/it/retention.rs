//! Limits of streams in a running engine: on commit and on a timer, over idle streams, wrong clocks and little space.

use std::time::Duration;

use kelda_engine::{AppendError, EngineConfig, Health, MaintenanceConfig, MinFree};
use kelda_env::sim::Sim;
use kelda_format::command::PutEntry;
use kelda_format::rows::Retention;
use kelda_format::{Offset, StreamId, Timestamp};
use kelda_meta::Meta;

use crate::world::{World, body, small};

const NONE: Retention = Retention { max_age_ms: None, max_bytes: None, segment_bytes: None };

/// Puts limits on a stream.
async fn limit(world: &World, stream: StreamId, retention: Retention) {
    let view = world.view();
    let entry = view.entry_of(stream).unwrap();
    let command = PutEntry {
        name: entry.name.clone(),
        stream,
        expected_version: entry.version,
        state: None,
        expiry: None,
        retention: Some(retention),
        arguments: None,
        at: Timestamp(1),
    };
    world.meta.propose(command.into()).await.unwrap();
}

fn start_of(world: &World, stream: StreamId) -> u64 {
    world.view().stream(stream).unwrap().start.0
}

async fn fill(world: &World, stream: StreamId, kib: usize) {
    for number in 0..kib {
        world.append(stream, &[&body(number, 1000)]).await.unwrap();
    }
}

#[test]
fn bytes_are_bounded_as_segments_are_committed() {
    Sim::run(1, |sim| async move {
        let maintenance =
            MaintenanceConfig { retention_interval: Duration::from_secs(3600), ..Default::default() };
        let world = World::with(&sim, EngineConfig { maintenance, ..small() }).await;
        let (bounded, free) = (world.create("bounded").await, world.create("free").await);
        limit(&world, bounded, Retention { max_bytes: Some(200 << 10), ..NONE }).await;
        for _ in 0..20 {
            fill(&world, bounded, 60).await;
            fill(&world, free, 4).await;
        }
        sim.sleep(Duration::from_secs(10)).await;
        let view = world.view();
        let row = view.stream(bounded).unwrap();
        assert!(row.start.0 > 800, "starts at {}", row.start);
        let unit = 64 << 10;
        assert!((200 << 10..(200 << 10) + 2 * unit).contains(&row.bytes), "{} bytes are held", row.bytes);
        assert_eq!(start_of(&world, free), 0);
        assert_eq!(world.read_from(bounded, row.start).await.len() as u64, 1200 - row.start.0);
        assert_eq!(world.read_all(free).await.len(), 80);
    });
}

#[test]
fn an_idle_stream_ages_out_with_what_was_never_committed() {
    Sim::run(2, |sim| async move {
        let world = World::new(&sim).await;
        let (idle, busy) = (world.create("idle").await, world.create("busy").await);
        for stream in [idle, busy] {
            limit(&world, stream, Retention { max_age_ms: Some(600_000), ..NONE }).await;
        }
        world.append(idle, &["one", "two"]).await.unwrap();
        for number in 0..9 {
            world.append(busy, &[&body(number, 100)]).await.unwrap();
            sim.sleep(Duration::from_secs(60)).await;
        }
        assert_eq!((start_of(&world, idle), start_of(&world, busy)), (0, 0), "nothing is too old yet");
        sim.sleep(Duration::from_secs(120)).await;
        assert_eq!(start_of(&world, idle), 2, "all of it went, and the offsets stay");
        assert_eq!(start_of(&world, busy), 0, "its newest record is not too old");
        world.append(idle, &["three"]).await.unwrap();
        assert_eq!(world.read_from(idle, Offset(2)).await, ["three"]);
    });
}

#[test]
fn small_segments_are_committed_so_that_a_small_bound_holds() {
    Sim::run(3, |sim| async move {
        let world = World::with(
            &sim,
            EngineConfig { segment_bytes: 16 << 20, uncommitted_bytes: 64 << 20, ..small() },
        )
        .await;
        let stream = world.create("small").await;
        let limits = Retention { max_bytes: Some(20 << 10), segment_bytes: Some(10 << 10), ..NONE };
        limit(&world, stream, limits).await;
        for _ in 0..10 {
            fill(&world, stream, 12).await;
            sim.sleep(Duration::from_secs(31)).await;
        }
        let held = world.view().stream(stream).unwrap().bytes;
        assert!((20 << 10..48 << 10).contains(&held), "{held} bytes are held");
    });
}

#[test]
fn a_wrong_clock_removes_nothing_until_it_is_right() {
    Sim::run(4, |sim| async move {
        let world = World::new(&sim).await;
        let stream = world.create("a").await;
        limit(&world, stream, Retention { max_age_ms: Some(60_000), ..NONE }).await;
        world.append(stream, &["one"]).await.unwrap();
        world.node.jump_clock(86_400_000);
        sim.sleep(Duration::from_secs(50)).await;
        assert_eq!(start_of(&world, stream), 0, "a day passed only on a wrong clock");
        let fault = world.engine.clock_fault().unwrap();
        assert_eq!(fault.ahead_ms, 86_400_000);
        // Appends go on, and their time does not run off: 10 s ahead of the clock that will be right.
        let ahead = world.append(stream, &["two"]).await.unwrap().timestamp;
        world.node.jump_clock(-86_400_000);
        assert_eq!(ahead.0, world.node.env().clock.now() + 10_000);
        assert_eq!(world.engine.clock_fault(), None);
        sim.sleep(Duration::from_secs(11)).await;
        let after = world.append(stream, &["three"]).await.unwrap().timestamp;
        assert!(after.0 == world.node.env().clock.now(), "the corrected clock counts again");
        sim.sleep(Duration::from_secs(120)).await;
        assert_eq!(start_of(&world, stream), 3, "retention goes on");
    });
}

#[test]
fn below_the_space_held_back_appends_wait_and_retention_goes_on() {
    Sim::run(5, |sim| async move {
        let maintenance = MaintenanceConfig { min_free: MinFree::Bytes(1 << 20), ..Default::default() };
        let world = World::with(&sim, EngineConfig { maintenance, ..small() }).await;
        let stream = world.create("a").await;
        fill(&world, stream, 200).await;
        let used: usize = world.wal_files().iter().map(|path| world.node.peek(path).unwrap().len()).sum();
        let stored: usize = world.store.keys().iter().map(|key| world.store.peek(key).unwrap().len()).sum();
        world.node.set_capacity(Some((used + stored) as u64 + (512 << 10)));
        world.until(|health| *health == Health::DiskFull).await;
        assert_eq!(world.append(stream, &["x"]).await, Err(AppendError::DiskFull));
        let other = world.create("metadata goes on").await;
        world.engine.trim(stream, Offset(10)).await.unwrap();
        limit(&world, stream, Retention { max_bytes: Some(70 << 10), ..NONE }).await;
        sim.sleep(Duration::from_secs(60)).await;
        assert!(start_of(&world, stream) > 40, "starts at {}", start_of(&world, stream));
        world.node.set_capacity(Some((used + stored) as u64 + (2 << 20)));
        world.until(|health| *health == Health::Ready).await;
        world.append(other, &["x"]).await.unwrap();
    });
}
