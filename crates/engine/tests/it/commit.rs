//! From sealed segments to objects: links, crashes at every step, a failing store.

use std::time::Duration;

use kelda_env::sim::{FaultPlan, Sim, StoreFaults};
use kelda_format::Offset;

use crate::world::{World, body};

#[test]
fn a_full_segment_becomes_an_object_and_its_wal_file_goes() {
    Sim::run(1, |sim| async move {
        let world = World::new(&sim).await;
        let stream = world.create("a").await;
        for number in 0..100 {
            world.append(stream, &[&body(number, 2000)]).await.unwrap();
        }
        world.engine.flush().await;
        let row = world.view().stream(stream).cloned().unwrap();
        assert_eq!(row.end, Offset(100));
        assert!(world.objects() >= 3, "200 kB in segments of 64 kB");
        assert_eq!(world.view().refs(stream).count(), world.objects());
        assert!(
            world.wal_files().len() <= 2,
            "only the current segment and the next: {:?}",
            world.wal_files()
        );
        assert_eq!(world.view().reservations().count(), 0);
        assert_eq!(world.read_all(stream).await.len(), 100);
    });
}

#[test]
fn a_crash_at_any_moment_of_an_upload_keeps_every_record_once() {
    for seed in 0..60 {
        Sim::run(seed, |sim| async move {
            let mut plan = FaultPlan::slow();
            plan.store = StoreFaults {
                max_delay: Duration::from_millis(40),
                fail_before: 0.1,
                fail_after: 0.2,
                late: 0.05,
                self_collision: 0.1,
                throttled: 0.1,
                timed_out_before: 0.05,
                timed_out_after: 0.05,
                ..StoreFaults::default()
            };
            let mut world = World::new(&sim).await;
            let stream = world.create("a").await;
            sim.set_faults(plan);
            for number in 0..50 {
                world.append(stream, &[&body(number, 2500)]).await.unwrap();
            }
            sim.sleep(Duration::from_millis(seed * 5)).await;
            if seed % 2 == 0 {
                world.crash().await
            } else {
                world.kill().await
            }
            sim.set_faults(FaultPlan::calm());
            let found = world.read_all(stream).await;
            let expected: Vec<String> = (0..50).map(|number| body(number, 2500)).collect();
            assert_eq!(found, expected);
            let again = world.append(stream, &["next"]).await.unwrap();
            assert_eq!(again.first, Offset(50));
        });
    }
}

#[test]
fn a_stream_deleted_before_its_segment_is_committed_is_left_out() {
    Sim::run(3, |sim| async move {
        let mut world = World::new(&sim).await;
        let (kept, gone) = (world.create("kept").await, world.create("gone").await);
        world.append(gone, &["a"]).await.unwrap();
        world.append(kept, &["b"]).await.unwrap();
        world.engine.delete(gone).await.unwrap();
        world.engine.flush().await;
        assert!(world.view().stream(gone).is_none());
        assert_eq!(world.read_all(kept).await, ["b"]);
        let again = world.create("gone").await;
        assert_ne!(again, gone);
        world.append(again, &["c"]).await.unwrap();
        world.crash().await;
        assert_eq!(world.read_all(again).await, ["c"]);
        assert_eq!(world.read_all(kept).await, ["b"]);
    });
}

#[test]
fn a_segment_whose_streams_are_all_gone_needs_no_object() {
    Sim::run(4, |sim| async move {
        let world = World::new(&sim).await;
        let gone = world.create("gone").await;
        world.append(gone, &["a"]).await.unwrap();
        world.engine.delete(gone).await.unwrap();
        world.engine.flush().await;
        assert_eq!(world.objects(), 0);
        assert_eq!(world.view().session(world.engine.session()).unwrap().wal_start, 1);
    });
}

#[test]
fn an_idle_engine_makes_no_objects_and_no_requests() {
    Sim::run(5, |sim| async move {
        let world = World::new(&sim).await;
        let stream = world.create("a").await;
        world.append(stream, &["a"]).await.unwrap();
        // By then what is older than the upload interval is committed.
        sim.sleep(Duration::from_secs(660)).await;
        assert_eq!(world.view().stream(stream).unwrap().end, Offset(1));
        let (applied, trace) = (world.view().applied(), sim.trace_hash());
        sim.sleep(Duration::from_secs(3600)).await;
        assert_eq!(world.view().applied(), applied);
        assert_eq!(sim.trace_hash(), trace, "no request to disk or store");
    });
}
