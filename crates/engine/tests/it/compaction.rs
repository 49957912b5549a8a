//! Compaction in a running engine: few objects whatever was written, the same records, and readers that notice nothing.

use std::time::Duration;

use kelda_engine::{EngineConfig, LOOSE_REFS, MaintenanceConfig, ReadError, ReadLimit};
use kelda_env::sim::Sim;
use kelda_format::keys::data_key;
use kelda_format::rows::ObjectKind;
use kelda_format::{Offset, StreamId};
use kelda_meta::Meta;

use crate::world::{CLUSTER, World, body, small};

/// Nothing waits: what is to go goes at once.
fn eager() -> EngineConfig {
    let maintenance = MaintenanceConfig {
        destroy_grace: Duration::ZERO,
        compact_memory: 64 << 10,
        ..MaintenanceConfig::default()
    };
    EngineConfig { maintenance, ..small() }
}

fn refs(world: &World, stream: StreamId) -> usize {
    world.view().refs(stream).count()
}

/// Appends to each of the streams and has it committed, so many times.
async fn commit_often(world: &World, streams: &[StreamId], times: usize, len: usize) {
    for number in 0..times {
        for stream in streams {
            world.append(*stream, &[&body(number, len)]).await.unwrap();
        }
        world.engine.flush().await;
    }
}

fn expected(times: usize, len: usize) -> Vec<String> {
    (0..times).map(|number| body(number, len)).collect()
}

#[test]
fn many_small_commits_become_few_objects_with_the_same_records() {
    Sim::run(1, |sim| async move {
        let mut world = World::with(&sim, eager()).await;
        let stream = world.create("a").await;
        commit_often(&world, &[stream], 300, 2000).await;
        assert!(refs(&world, stream) >= 200);
        world.engine.maintain_now().await;
        let bytes = world.view().stream(stream).unwrap().bytes;
        let bound = usize::try_from(bytes / (56 << 10)).unwrap() + LOOSE_REFS;
        assert!(refs(&world, stream) <= bound, "{} references for {bytes} bytes", refs(&world, stream));
        assert_eq!(world.read_all(stream).await, expected(300, 2000));
        let view = world.view();
        assert!(view.objects().any(|object| object.kind == ObjectKind::Packed));
        assert_eq!(world.objects(), view.objects().count(), "what was merged is gone");
        assert!(view.reservations().next().is_none());
        assert!(world.node.files().iter().all(|path| !path.starts_with("tmp/")));
        world.crash().await;
        assert_eq!(world.read_all(stream).await, expected(300, 2000));
    });
}

#[test]
fn small_streams_share_objects() {
    Sim::run(2, |sim| async move {
        let world = World::with(&sim, eager()).await;
        let mut streams = Vec::new();
        for number in 0..30 {
            streams.push(world.create(&format!("s/{number}")).await);
        }
        commit_often(&world, &streams, 40, 100).await;
        world.engine.maintain_now().await;
        for stream in &streams {
            assert!(refs(&world, *stream) <= 10, "{}", refs(&world, *stream));
            assert_eq!(world.read_all(*stream).await, expected(40, 100));
        }
        let objects = world.view().objects().count();
        assert!(objects < 20, "{objects} objects for 30 small streams");
    });
}

#[test]
fn objects_of_which_little_is_left_are_given_up() {
    Sim::run(3, |sim| async move {
        let world = World::with(&sim, eager()).await;
        let (large, small) = (world.create("large").await, world.create("small").await);
        for number in 0..20 {
            world.append(small, &[&body(number, 100)]).await.unwrap();
            for _ in 0..55 {
                world.append(large, &[&body(number, 1000)]).await.unwrap();
            }
        }
        world.engine.flush().await;
        world.engine.delete(large).await.unwrap();
        world.engine.maintain_now().await;
        let stored: usize = world.store.keys().iter().map(|key| world.store.peek(key).unwrap().len()).sum();
        assert!(stored < 100 << 10, "{stored} bytes for what is left");
        assert_eq!(world.read_all(small).await, expected(20, 100));
    });
}

#[test]
fn a_trimmed_prefix_is_dropped() {
    Sim::run(4, |sim| async move {
        let world = World::with(&sim, eager()).await;
        let stream = world.create("a").await;
        for number in 0..60 {
            world.append(stream, &[&body(number, 1000)]).await.unwrap();
        }
        world.engine.flush().await;
        let bytes = world.view().stream(stream).unwrap().bytes;
        world.engine.trim(stream, Offset(50)).await.unwrap();
        assert_eq!(world.view().stream(stream).unwrap().bytes, bytes, "a trim into an object moves nothing");
        world.engine.maintain_now().await;
        let left = world.view().stream(stream).unwrap().bytes;
        assert!(left < bytes / 4, "{left} of {bytes}");
        assert_eq!(world.read_from(stream, Offset(50)).await.len(), 10);
    });
}

#[test]
fn a_slow_reader_reads_through_compaction_and_collection() {
    Sim::run(5, |sim| async move {
        let world =
            World::with(&sim, EngineConfig { cache_tail_bytes: 0, object_cache_bytes: 64 << 10, ..eager() })
                .await;
        let stream = world.create("a").await;
        commit_often(&world, &[stream], 40, 2000).await;
        let mut next = Offset::ZERO;
        let mut read = Vec::new();
        let mut written = 40;
        while next.0 < 200 {
            let limit = ReadLimit { max_bytes: 1, max_records: 1, until: None };
            let reading = world.engine.read(stream, next, limit);
            let compacting = world.engine.maintain_now();
            let (chunk, ()) = futures::join!(reading, compacting);
            let chunk = chunk.unwrap();
            for stored in chunk.blocks.iter().flat_map(|block| block.records()) {
                read.push(String::from_utf8(stored.record.body.to_vec()).unwrap());
            }
            next = chunk.next;
            if written < 200 {
                for _ in 0..4 {
                    world.append(stream, &[&body(written, 2000)]).await.unwrap();
                    world.engine.flush().await;
                    written += 1;
                }
            }
        }
        assert_eq!(read, expected(200, 2000));
    });
}

#[test]
fn damage_is_left_where_it_is_and_the_rest_is_compacted() {
    Sim::run(6, |sim| async move {
        let world = World::with(&sim, EngineConfig { cache_tail_bytes: 0, ..eager() }).await;
        let (hurt, sound) = (world.create("hurt").await, world.create("sound").await);
        commit_often(&world, &[hurt, sound], 40, 1000).await;
        // In the middle of the body of one record of one stream.
        let row = *world.view().object_at(hurt, Offset(20)).unwrap();
        let key = data_key(CLUSTER, row.object);
        let bytes = world.store.peek(&key).unwrap();
        let needle = body(20, 1000);
        let at = bytes.windows(needle.len()).position(|window| window == needle.as_bytes()).unwrap();
        assert!(world.store.flip_bit(&key, at as u64 + 500));
        world.engine.maintain_now().await;
        let report = world.engine.maintenance();
        assert_eq!(report.damaged.len(), 1, "{report:?}");
        let damaged = &report.damaged[0];
        assert_eq!((damaged.object.as_str(), damaged.stream), (key.as_str(), hurt));
        assert_eq!((damaged.base, damaged.end), (row.base, row.end));
        assert!(world.store.peek(&key).is_some(), "nothing that is damaged is deleted");
        assert!(refs(&world, sound) <= 10 && refs(&world, hurt) <= 20);
        assert_eq!(world.read_all(sound).await, expected(40, 1000));
        let limit = ReadLimit { max_bytes: 1 << 20, max_records: 1000, until: None };
        assert!(matches!(world.engine.read(hurt, Offset(20), limit).await, Err(ReadError::Damaged { .. })));
        assert_eq!(world.read_from(hurt, Offset(21)).await, expected(40, 1000)[21..]);
        // It is not tried again and again.
        sim.sleep(Duration::from_secs(60)).await;
        let before = world.counts.snapshot().total();
        sim.sleep(Duration::from_secs(6000)).await;
        assert_eq!(world.counts.snapshot().total(), before);
    });
}

#[test]
fn a_store_that_fails_costs_nothing_but_time() {
    Sim::run(7, |sim| async move {
        let world = World::with(&sim, eager()).await;
        let stream = world.create("a").await;
        commit_often(&world, &[stream], 60, 1000).await;
        let store = kelda_env::sim::StoreFaults { fail_before: 0.4, fail_after: 0.4, ..Default::default() };
        sim.set_faults(kelda_env::sim::FaultPlan { store, ..kelda_env::sim::FaultPlan::calm() });
        for _ in 0..5 {
            world.engine.maintain_now().await;
        }
        sim.set_faults(kelda_env::sim::FaultPlan::calm());
        // What was written for nothing goes by its reservations.
        sim.sleep(Duration::from_secs(2 * 60 * 60)).await;
        assert_eq!(world.read_all(stream).await, expected(60, 1000));
        assert!(refs(&world, stream) <= 10, "{}", refs(&world, stream));
        let view = world.view();
        assert_eq!(world.objects(), view.objects().count());
        assert!(view.reservations().next().is_none() && view.objects_to_destroy().next().is_none());
        let _ = world.meta.view();
    });
}
