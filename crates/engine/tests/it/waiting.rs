//! Waiting at the tail: what wakes a reader, and that nothing is missed.

use std::time::Duration;

use kelda_engine::{AppendRequest, Wait};
use kelda_env::sim::{DiskFaults, FaultPlan, Sim};
use kelda_format::command::CreateStream;
use kelda_format::rows::{Expiry, Retention, StreamKind};
use kelda_format::{Batch, Offset, Outcome, StreamId, StreamName, Timestamp};
use kelda_meta::Meta;

use crate::world::{World, request};

const LONG: Duration = Duration::from_secs(3600);

/// A waiter beside the test, parked when this returns.
async fn park(world: &World, stream: StreamId, after: u64) -> tokio::task::JoinHandle<Wait> {
    let engine = world.engine.clone();
    let waiter = world.sim.spawn(async move { engine.wait(stream, Offset(after), LONG).await });
    world.sim.sleep(Duration::from_millis(1)).await;
    assert!(!waiter.is_finished());
    waiter
}

/// A stream whose time is over as soon as somebody says so.
async fn create_expiring(world: &World, name: &str) -> StreamId {
    let command = CreateStream {
        name: StreamName::parse(name).unwrap(),
        kind: StreamKind::Stream,
        content_type: "text/plain".to_owned(),
        expiry: Expiry::At(Timestamp(2)),
        retention: Retention::default(),
        arguments: Vec::new(),
        parent: None,
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
fn what_is_there_needs_no_wait_and_nothing_times_out() {
    Sim::run(1, |sim| async move {
        let world = World::new(&sim).await;
        let stream = world.create("a").await;
        world.append(stream, &["x"]).await.unwrap();
        let started = sim.elapsed();
        assert_eq!(world.engine.wait(stream, Offset(0), LONG).await, Wait::Data);
        assert_eq!(sim.elapsed(), started);
        assert_eq!(world.engine.wait(stream, Offset(1), Duration::from_millis(70)).await, Wait::TimedOut);
        assert_eq!(sim.elapsed() - started, Duration::from_millis(70));
        assert_eq!(world.engine.wait(stream, Offset(1), Duration::ZERO).await, Wait::TimedOut);
    });
}

#[test]
fn an_append_a_seal_and_a_removal_wake() {
    Sim::run(2, |sim| async move {
        let world = World::new(&sim).await;
        for (closed, case) in [(false, "append"), (true, "append"), (false, "seal"), (true, "seal")] {
            let stream = world.create(&format!("{case}-{closed}")).await;
            if !closed {
                world.open(stream).await;
            }
            let waiter = park(&world, stream, 0).await;
            assert_eq!(world.engine.opened(stream).is_none(), closed, "a waiter opens nothing");
            let append = match case {
                "append" => request(&["x"]),
                _ => AppendRequest { seal: true, ..AppendRequest::new(Batch::empty()) },
            };
            world.open(stream).await.append(append).await.unwrap();
            let expected = if case == "append" { Wait::Data } else { Wait::Sealed };
            assert_eq!(waiter.await.unwrap(), expected, "{case}, closed: {closed}");
        }
        for (closed, expire) in [(false, false), (true, false), (false, true), (true, true)] {
            let stream = create_expiring(&world, &format!("gone-{closed}-{expire}")).await;
            if !closed {
                world.open(stream).await;
            }
            let waiter = park(&world, stream, 0).await;
            let removed = match expire {
                true => world.engine.expire(stream).await,
                false => world.engine.delete(stream).await,
            };
            removed.unwrap();
            assert_eq!(waiter.await.unwrap(), Wait::Gone, "closed: {closed}, expire: {expire}");
        }
        assert!(sim.elapsed() < LONG);
    });
}

#[test]
fn a_waiter_outlasts_a_close_and_is_woken_by_the_next_owner() {
    Sim::run(3, |sim| async move {
        let world = World::new(&sim).await;
        let stream = world.create("a").await;
        world.append(stream, &["x"]).await.unwrap();
        let waiter = park(&world, stream, 1).await;
        world.engine.close_stream(stream, None).await.unwrap();
        sim.sleep(Duration::from_secs(1)).await;
        assert!(!waiter.is_finished() && world.engine.opened(stream).is_none());
        world.append(stream, &["y"]).await.unwrap();
        assert_eq!(waiter.await.unwrap(), Wait::Data);
    });
}

#[test]
fn the_end_of_the_session_wakes_everybody() {
    for shutdown in [true, false] {
        Sim::run(4, |sim| async move {
            let world = World::new(&sim).await;
            let (open, closed) = (world.create("a").await, world.create("b").await);
            world.append(open, &["x"]).await.unwrap();
            let waiters = [park(&world, open, 1).await, park(&world, closed, 0).await];
            if shutdown {
                world.engine.shutdown().await.unwrap();
            } else {
                let disk = DiskFaults { sync_error: 1.0, ..DiskFaults::default() };
                sim.set_faults(FaultPlan { disk, ..FaultPlan::default() });
                assert!(world.append(open, &["y"]).await.is_err());
                sim.set_faults(FaultPlan::calm());
            }
            for waiter in waiters {
                assert_eq!(waiter.await.unwrap(), Wait::Ended, "shutdown: {shutdown}");
            }
            assert!(sim.elapsed() < LONG);
        });
    }
}

#[test]
fn no_wake_up_is_lost_under_concurrent_appends() {
    for seed in 0..60 {
        Sim::run(seed, |sim| async move {
            let world = World::new(&sim).await;
            let stream = world.create("a").await;
            sim.set_faults(FaultPlan::slow());
            let followers: Vec<_> = (0..5)
                .map(|follower| {
                    let (engine, pause) = (world.engine.clone(), sim.clone());
                    sim.spawn(async move {
                        let mut next = Offset::ZERO;
                        while next < Offset(40) {
                            assert_eq!(engine.wait(stream, next, LONG).await, Wait::Data, "after {next}");
                            next = engine.status(stream).unwrap().tail;
                            pause.sleep(Duration::from_millis(1 + follower)).await;
                        }
                    })
                })
                .collect();
            for at in 0..40 {
                // Sometimes it is closed between two appends.
                if at % 9 == seed % 9 {
                    world.engine.close_stream(stream, None).await.unwrap();
                }
                world.append(stream, &["x"]).await.unwrap();
            }
            for follower in followers {
                follower.await.unwrap();
            }
            assert!(sim.elapsed() < LONG, "woken, not timed out");
        });
    }
}
