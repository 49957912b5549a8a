//! Reads across objects, log cache and the durable tail.

use std::sync::Arc;
use std::time::Duration;

use kelda_engine::{Engine, EngineConfig, ReadError, ReadLimit};
use kelda_env::sim::{DiskFaults, FaultPlan, Sim};
use kelda_format::rows::WalKind;
use kelda_format::{Block, NodeId, Offset, StreamId};

use crate::world::{World, body, identity, open_meta, request, small};

/// Nothing stays in the log cache once it is committed.
fn uncached() -> EngineConfig {
    EngineConfig { cache_tail_bytes: 0, ..small() }
}

fn limit(max_bytes: u64, max_records: u64) -> ReadLimit {
    ReadLimit { max_bytes, max_records, until: None }
}

fn bodies(blocks: &[Block]) -> Vec<String> {
    let records = blocks.iter().flat_map(Block::records);
    records.map(|stored| String::from_utf8(stored.record.body.to_vec()).unwrap()).collect()
}

/// Appends batches of records until `bytes` are written; returns them all.
async fn fill(world: &World, stream: StreamId, from: usize, bytes: usize) -> Vec<String> {
    let mut written = Vec::new();
    let mut left = bytes;
    while left > 0 {
        let number = from + written.len();
        let batch: Vec<String> =
            (0..1 + number % 4).map(|at| body(number + at, 20 + (number + at) * 37 % 3000)).collect();
        let batch_refs: Vec<&str> = batch.iter().map(String::as_str).collect();
        world.append(stream, &batch_refs).await.unwrap();
        left = left.saturating_sub(batch.iter().map(String::len).sum());
        written.extend(batch);
    }
    written
}

#[test]
fn every_offset_and_limit_across_objects_and_cache() {
    for config in [small(), uncached()] {
        Sim::run(1, |sim| async move {
            let world = World::with(&sim, config).await;
            let (stream, other) = (world.create("a").await, world.create("b").await);
            let mut all = fill(&world, stream, 0, 90_000).await;
            fill(&world, other, 0, 30_000).await;
            all.extend(fill(&world, stream, all.len(), 70_000).await);
            world.engine.flush().await;
            all.extend(fill(&world, stream, all.len(), 20_000).await);
            sim.sleep(Duration::from_secs(1)).await;
            let committed = world.view().stream(stream).unwrap().end;
            assert!(
                Offset(20) < committed && committed < Offset(all.len() as u64),
                "both tiers: {committed}"
            );

            for from in 0..=all.len() {
                for (max_bytes, max_records) in [(u64::MAX, u64::MAX), (0, 10), (5000, 1000), (1 << 20, 3)] {
                    let asked = limit(max_bytes, max_records);
                    let chunk = world.engine.read(stream, Offset(from as u64), asked).await.unwrap();
                    let found = bodies(&chunk.blocks);
                    assert_eq!(found, all[from..from + found.len()], "from {from}");
                    assert!(from == all.len() || !found.is_empty(), "at least one from {from}");
                    assert!(found.len() as u64 <= max_records);
                    let bytes: usize = found.iter().map(String::len).sum();
                    assert!(found.len() <= 1 || bytes as u64 <= max_bytes);
                    assert_eq!(chunk.next, Offset((from + found.len()) as u64));
                    assert_eq!((chunk.start, chunk.tail), (Offset::ZERO, Offset(all.len() as u64)));
                    assert!(!chunk.sealed);
                }
                let until = Offset(from as u64 + 7);
                let asked = ReadLimit { until: Some(until), ..limit(u64::MAX, u64::MAX) };
                let chunk = world.engine.read(stream, Offset(from as u64), asked).await.unwrap();
                assert!(chunk.next <= until && bodies(&chunk.blocks) == all[from..chunk.next.0 as usize]);
            }
        });
    }
}

#[test]
fn readers_beside_appends_commits_and_evictions_see_every_record_once() {
    for seed in 0..40 {
        Sim::run(seed, |sim| async move {
            let world = World::with(&sim, uncached()).await;
            let stream = world.create("a").await;
            sim.set_faults(FaultPlan::slow());
            let expected: Vec<String> = (0..150).map(|number| body(number, 2000)).collect();
            let readers: Vec<_> = (0..3)
                .map(|reader| {
                    let (engine, sim) = (world.engine.clone(), sim.clone());
                    let expected = expected.clone();
                    let pace = sim.clone();
                    sim.spawn(async move {
                        let mut next = Offset::ZERO;
                        while next.0 < expected.len() as u64 {
                            let asked = limit(6000 * (reader + 1), 100);
                            let chunk = engine.read(stream, next, asked).await.unwrap();
                            let found = bodies(&chunk.blocks);
                            let at = next.0 as usize;
                            assert_eq!(found, expected[at..at + found.len()]);
                            assert!(next == chunk.tail || !found.is_empty(), "nothing at {next}");
                            next = chunk.next;
                            pace.sleep(Duration::from_millis(1 + 7 * reader)).await;
                        }
                    })
                })
                .collect();
            let open = world.open(stream).await;
            for chunk in expected.chunks(5) {
                let refs: Vec<&str> = chunk.iter().map(String::as_str).collect();
                open.append(request(&refs)).await.unwrap();
            }
            for reader in readers {
                reader.await.unwrap();
            }
        });
    }
}

#[test]
fn what_a_reader_saw_survives_the_power_failing() {
    for seed in 0..40 {
        Sim::run(seed, |sim| async move {
            let mut world = World::new(&sim).await;
            let stream = world.create("a").await;
            sim.set_faults(FaultPlan::slow());
            let open = world.open(stream).await;
            for number in 0..60 {
                let open = open.clone();
                let pause = sim.clone();
                sim.spawn(async move {
                    pause.sleep(Duration::from_millis(number * 3)).await;
                    // Those in flight when the power fails have no outcome.
                    let _ = open.append(request(&[&body(number as usize, 1500)])).await;
                });
            }
            let (mut seen, mut next) = (Vec::new(), Offset::ZERO);
            while sim.elapsed() < Duration::from_millis(60 + seed * 4) {
                let chunk = world.engine.read(stream, next, limit(1 << 20, 1000)).await.unwrap();
                seen.extend(bodies(&chunk.blocks));
                next = chunk.next;
                sim.sleep(Duration::from_millis(1)).await;
            }
            world.crash().await;
            let kept = world.read_all(stream).await;
            assert!(
                kept.len() >= seen.len() && kept[..seen.len()] == seen,
                "{} of {}",
                kept.len(),
                seen.len()
            );
        });
    }
}

#[test]
fn positions_that_are_gone_or_ahead_say_what_is_there() {
    Sim::run(2, |sim| async move {
        let world = World::with(&sim, uncached()).await;
        let stream = world.create("a").await;
        let read = |from| world.engine.read(stream, Offset(from), limit(1 << 20, 1000));
        assert_eq!(read(1).await.unwrap_err(), ReadError::PastTail { tail: Offset(0) }, "never opened");
        for number in 0..10 {
            world.append(stream, &[&body(number, 100)]).await.unwrap();
        }
        for committed in [false, true] {
            if committed {
                world.engine.flush().await;
            }
            assert_eq!(read(11).await.unwrap_err(), ReadError::PastTail { tail: Offset(10) });
            assert_eq!(read(10).await.unwrap().next, Offset(10));
        }
        world.engine.trim(stream, Offset(4)).await.unwrap();
        assert_eq!(read(3).await.unwrap_err(), ReadError::Trimmed { start: Offset(4) });
        let chunk = read(4).await.unwrap();
        assert_eq!((bodies(&chunk.blocks).len(), chunk.start), (6, Offset(4)));
        world.engine.delete(stream).await.unwrap();
        assert_eq!(read(4).await.unwrap_err(), ReadError::Gone);
        assert_eq!(world.engine.status(stream), None);
        assert_eq!(
            world.engine.read(StreamId(99), Offset(0), limit(1, 1)).await.unwrap_err(),
            ReadError::Gone
        );
    });
}

#[test]
fn a_closed_stream_is_read_without_opening_it() {
    Sim::run(3, |sim| async move {
        let world = World::new(&sim).await;
        let stream = world.create("a").await;
        let all = fill(&world, stream, 0, 20_000).await;
        let open = world.engine.status(stream).unwrap();
        assert!(open.open && open.tail_known && open.oldest_timestamp.is_some());
        assert!(open.bytes > 20_000, "{} bytes", open.bytes);
        world.engine.close_stream(stream, None).await.unwrap();
        let closed = world.engine.status(stream).unwrap();
        assert!(!closed.open && closed.tail_known && closed.epoch == open.epoch);
        assert_eq!((closed.start, closed.tail), (open.start, open.tail));
        assert_eq!(closed.last_timestamp, open.last_timestamp);
        assert_eq!(closed.oldest_timestamp, open.oldest_timestamp);
        assert_eq!(world.read_all(stream).await, all);
        assert!(world.engine.opened(stream).is_none());
        assert_eq!(world.view().stream(stream).unwrap().owner, None);
    });
}

#[test]
fn a_damaged_or_lost_object_is_named_with_stream_and_offset() {
    Sim::run(4, |sim| async move {
        let world = World::with(&sim, uncached()).await;
        let stream = world.create("a").await;
        fill(&world, stream, 0, 50_000).await;
        world.engine.flush().await;
        sim.sleep(Duration::from_secs(1)).await;
        let key = world.store.keys().into_iter().find(|key| key.contains("/data/")).unwrap();
        assert!(world.store.flip_bit(&key, 3000));
        let ReadError::Damaged { object, detail } =
            world.engine.read(stream, Offset::ZERO, limit(1 << 20, 1000)).await.unwrap_err()
        else {
            panic!()
        };
        assert_eq!(object, key);
        assert!(detail.contains("at byte") && detail.contains(&format!("stream {stream}")), "{detail}");
        assert!(world.store.lose(&key));
        let ReadError::Damaged { object, detail } =
            world.engine.read(stream, Offset(1), limit(1 << 20, 1000)).await.unwrap_err()
        else {
            panic!()
        };
        assert_eq!(object, key);
        assert!(detail.contains("missing") && detail.contains("offset 1"), "{detail}");
    });
}

#[test]
fn the_tail_is_never_understated_while_an_ended_session_is_recovered() {
    for seed in 0..20 {
        Sim::run(seed, |sim| async move {
            let world = World::new(&sim).await;
            let stream = world.create("a").await;
            for number in 0..10 {
                world.append(stream, &[&body(number, 500)]).await.unwrap();
            }
            let disk =
                DiskFaults { sync_error: 1.0, max_delay: Duration::from_millis(5), ..DiskFaults::default() };
            sim.set_faults(FaultPlan { disk, ..FaultPlan::slow() });
            let open = world.open(stream).await;
            assert!(open.append(request(&["lost or not"])).await.is_err());
            sim.set_faults(FaultPlan::slow());
            let mut answered = 0;
            for _ in 0..400 {
                match world.engine.read(stream, Offset(10), limit(1, 1)).await {
                    Ok(chunk) => {
                        assert!(chunk.tail >= Offset(10));
                        answered += 1;
                    }
                    Err(ReadError::Unavailable(_)) => {}
                    Err(error) => panic!("{error}"),
                }
                let status = world.engine.status(stream).unwrap();
                assert!(!status.tail_known || status.tail >= Offset(10));
                sim.sleep(Duration::from_millis(2)).await;
            }
            assert!(answered > 0, "it comes back");
        });
    }
}

#[test]
fn another_node_reads_what_is_committed_and_claims_no_more() {
    Sim::run(9, |sim| async move {
        let world = World::with(&sim, EngineConfig { wal: WalKind::Object, ..uncached() }).await;
        let stream = world.create("a").await;
        let mut all = fill(&world, stream, 0, 90_000).await;
        world.engine.flush().await;
        let committed = world.view().stream(stream).unwrap().end;
        assert_eq!(committed, Offset(all.len() as u64));
        all.extend(fill(&world, stream, all.len(), 5_000).await);
        let node = sim.node("b");
        let meta = Arc::new(open_meta(&node, &world.log).await);
        let (store, config) = (Arc::new(world.store.clone()), world.config.clone());
        let other = Engine::start(node.env(), meta, store, config, identity(NodeId(2))).await.unwrap();

        let status = other.status(stream).unwrap();
        assert_eq!((status.tail, status.tail_known, status.open), (committed, false, false));
        let mut next = Offset::ZERO;
        while next < committed {
            let chunk = other.read(stream, next, limit(10_000, 1000)).await.unwrap();
            let from = next.0 as usize;
            assert_eq!(bodies(&chunk.blocks), all[from..chunk.next.0 as usize], "from {from}");
            assert!(chunk.next > next && !chunk.tail_known, "P19");
            next = chunk.next;
        }
        assert_eq!(next, committed);
        for from in [committed, committed.plus(1)] {
            let at_the_end = other.read(stream, from, limit(10_000, 1000)).await;
            assert!(matches!(at_the_end, Err(ReadError::Unavailable(_))), "P19: {at_the_end:?}");
        }
        let last = world.engine.read(stream, Offset(committed.0 - 1), limit(1, 1)).await.unwrap();
        let time = last.blocks[0].last_timestamp();
        let (here, there) = (world.engine.find_time(stream, time).await, other.find_time(stream, time).await);
        assert!(here.is_ok() && there == here, "{here:?}, {there:?}");
        let later = other.find_time(stream, kelda_format::Timestamp(u64::MAX)).await;
        assert!(matches!(later, Err(ReadError::Unavailable(_))), "P19: {later:?}");
        assert_eq!(world.read_from(stream, committed).await, all[committed.0 as usize..]);
    });
}
