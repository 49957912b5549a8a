//! What was acknowledged is there after a restart, once and in order.

use std::time::Duration;

use kelda_env::sim::{FaultPlan, Sim};
use kelda_format::rows::SessionState;
use kelda_format::{Epoch, Offset};

use crate::world::{World, body, outcome, request};

#[test]
fn appends_survive_a_crash_at_once() {
    Sim::run(1, |sim| async move {
        let mut world = World::new(&sim).await;
        let stream = world.create("a").await;
        let first = world.append(stream, &["one", "two"]).await.unwrap();
        let second = world.append(stream, &["three"]).await.unwrap();
        assert_eq!((first.first, first.next), (Offset(0), Offset(2)));
        assert_eq!((second.first, second.next), (Offset(2), Offset(3)));
        world.crash().await;
        assert_eq!(world.read_all(stream).await, ["one", "two", "three"]);
        let row = world.view().stream(stream).cloned().unwrap();
        assert_eq!((row.end, row.owner), (Offset(3), None), "recovery commits and releases");
        let third = world.append(stream, &["four"]).await.unwrap();
        assert_eq!(third.first, Offset(3));
        assert_eq!(world.open(stream).await.epoch(), Epoch(1));
        assert!(third.timestamp >= second.timestamp);
    });
}

#[test]
fn many_streams_and_segments_survive_crashes_with_everything_slow() {
    for seed in 0..8 {
        Sim::run(seed, |sim| async move {
            sim.set_faults(FaultPlan::slow());
            let mut world = World::new(&sim).await;
            let streams = [world.create("a").await, world.create("b").await, world.create("c").await];
            let mut expected: Vec<Vec<String>> = vec![Vec::new(); streams.len()];
            for round in 0..3 {
                for number in 0..120 {
                    let which = (number + round) % streams.len();
                    let text = body(number + round * 1000, 900);
                    world.append(streams[which], &[&text]).await.unwrap();
                    expected[which].push(text);
                }
                if round % 2 == 0 {
                    world.crash().await
                } else {
                    world.kill().await
                }
                for (stream, texts) in streams.iter().zip(&expected) {
                    assert_eq!(&world.read_all(*stream).await, texts);
                }
            }
        });
    }
}

#[test]
fn pipelined_appends_in_flight_at_a_crash_are_a_prefix() {
    for seed in 0..24 {
        Sim::run(seed, |sim| async move {
            sim.set_faults(FaultPlan::slow());
            let mut world = World::new(&sim).await;
            let stream = world.create("a").await;
            let open = world.open(stream).await;
            let mut clients = Vec::new();
            for number in 0..60 {
                let open = open.clone();
                clients.push(sim.spawn(async move { open.append(request(&[&body(number, 2000)])).await }));
            }
            sim.sleep(Duration::from_millis(seed * 3)).await;
            world.crash().await;
            let mut acknowledged = Vec::new();
            for client in clients {
                if let Some(Ok(appended)) = outcome(client).await {
                    acknowledged.push(appended.first);
                }
            }
            let found = world.read_all(stream).await;
            for offset in acknowledged {
                assert!(offset.0 < found.len() as u64, "{offset} was acknowledged, {} found", found.len());
            }
            for (at, text) in found.iter().enumerate() {
                assert_eq!(*text, body(at, 2000), "in the order of acceptance");
            }
        });
    }
}

#[test]
fn a_clean_shutdown_leaves_no_wal_and_nothing_to_recover() {
    Sim::run(3, |sim| async move {
        let mut world = World::new(&sim).await;
        let stream = world.create("a").await;
        world.append(stream, &["one"]).await.unwrap();
        let session = world.engine.session();
        world.engine.shutdown().await.unwrap();
        assert_eq!(world.view().session(session).unwrap().state, SessionState::Closed);
        assert_eq!(world.view().stream(stream).unwrap().owner, None);
        assert_eq!(world.wal_files(), Vec::<String>::new());
        world.crash().await;
        assert_eq!(world.read_all(stream).await, ["one"]);
    });
}

#[test]
fn recovered_directories_and_idle_restarts_leave_nothing_behind() {
    Sim::run(4, |sim| async move {
        let mut world = World::new(&sim).await;
        let stream = world.create("a").await;
        world.append(stream, &["one"]).await.unwrap();
        for _ in 0..5 {
            world.kill().await;
        }
        sim.sleep(Duration::from_secs(10)).await;
        let objects = world.objects();
        assert_eq!(objects, 1, "one object for the one segment that had entries");
        let directories: std::collections::BTreeSet<String> = world
            .wal_files()
            .iter()
            .filter_map(|path| path.rsplit_once('/').map(|(directory, _)| directory.to_owned()))
            .collect();
        assert_eq!(directories.len(), 1, "only the current session's: {directories:?}");
        assert_eq!(world.read_all(stream).await, ["one"]);
    });
}

#[test]
fn the_same_seed_gives_the_same_trace() {
    let run = |seed| {
        Sim::run(seed, |sim| async move {
            sim.set_faults(FaultPlan::slow());
            let mut world = World::new(&sim).await;
            let stream = world.create("a").await;
            for number in 0..50 {
                world.append(stream, &[&body(number, 3000)]).await.unwrap();
            }
            world.crash().await;
            world.read_all(stream).await;
            sim.trace_hash()
        })
    };
    assert_eq!(run(11), run(11));
}

#[test]
fn a_shutdown_with_a_dead_store_ends_in_time_and_loses_nothing() {
    Sim::run(12, |sim| async move {
        let mut world = World::new(&sim).await;
        let stream = world.create("a").await;
        world.append(stream, &["one"]).await.unwrap();
        let store = kelda_env::sim::StoreFaults { fail_before: 1.0, ..Default::default() };
        sim.set_faults(FaultPlan { store, ..FaultPlan::calm() });
        let before = sim.elapsed();
        assert!(world.engine.shutdown().await.is_err());
        assert!(sim.elapsed() - before < Duration::from_secs(9));
        sim.set_faults(FaultPlan::calm());
        world.kill().await;
        assert_eq!(world.read_all(stream).await, ["one"]);
    });
}
