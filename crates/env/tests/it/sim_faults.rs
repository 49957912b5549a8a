//! Time, failures and reproducibility of the simulated world.

use std::time::Duration;

use bytes::Bytes;
use kelda_env::sim::{FaultPlan, Sim};
use kelda_env::{OpenMode, Random, Store};

/// Two nodes and a client at work while things fail; answers the digest of the trace.
fn busy_run(seed: u64) -> u64 {
    Sim::run(seed, |sim| async move {
        sim.set_faults(FaultPlan::rough());
        let store = sim.store();
        let nodes = [sim.node("a"), sim.node("b")];
        for round in 0..5_u8 {
            for node in &nodes {
                let (env, store) = (node.env(), store.clone());
                node.env().spawn("work", async move {
                    for step in 0..20_u8 {
                        let key = format!("k/{}", env.random.below(30));
                        let _ = store.put_if_absent(&key, Bytes::from(vec![round, step])).await;
                        let name = format!("f{step}");
                        if let Ok(file) = env.disk.create(&name).await {
                            let _ = file.write_at(&[Bytes::from(vec![step; 5000])], 0).await;
                            let _ = file.sync_data().await;
                        }
                        let _ = env.disk.sync_dir("").await;
                    }
                });
            }
            sim.sleep(Duration::from_millis(sim.random().below(400))).await;
            sim.random().pick(&nodes).crash().await;
        }
        sim.note("end");
        sim.trace_hash()
    })
}

#[test]
fn the_same_seed_gives_the_same_trace() {
    let traces: Vec<u64> = (0..20).map(busy_run).collect();
    for (seed, trace) in traces.iter().enumerate() {
        assert_eq!(busy_run(seed as u64), *trace, "seed {seed}");
    }
    let different: std::collections::BTreeSet<_> = traces.iter().collect();
    assert_eq!(different.len(), traces.len());
}

#[test]
fn waiting_takes_no_real_time() {
    let began = std::time::Instant::now();
    Sim::run(1, |sim| async move {
        sim.sleep(Duration::from_secs(7 * 24 * 3600)).await;
        assert!(sim.elapsed() >= Duration::from_secs(7 * 24 * 3600));
    });
    assert!(began.elapsed() < Duration::from_secs(5));
}

#[test]
#[should_panic(expected = "the run is stuck")]
fn a_run_that_waits_for_nothing_is_told() {
    Sim::run(1, |_| std::future::pending::<()>());
}

#[test]
fn the_wall_clock_jumps_and_the_monotonic_one_does_not() {
    Sim::run(1, |sim| async move {
        let (node, other) = (sim.node("a"), sim.node("b"));
        let env = node.env();
        let (wall, monotonic) = (env.clock.now(), env.clock.monotonic());
        node.jump_clock(-60_000);
        assert_eq!(env.clock.now(), wall - 60_000);
        assert_eq!(env.clock.monotonic(), monotonic);
        assert_eq!(other.env().clock.now(), wall);
        node.jump_clock(90_000);
        sim.sleep(Duration::from_secs(1)).await;
        assert_eq!(env.clock.now(), wall + 31_000);
        node.crash().await;
        assert_eq!(node.env().clock.now(), wall + 31_000, "the machine keeps its clock");
    });
}

#[test]
fn a_full_disk_refuses_and_recovers() {
    Sim::run(1, |sim| async move {
        let node = sim.node("node");
        let disk = node.env().disk;
        node.set_capacity(Some(64 * 1024));
        let file = disk.create_preallocated("a", 32 * 1024).await.unwrap();
        assert!(disk.create_preallocated("b", 48 * 1024).await.err().unwrap().is_full());
        assert!(!disk.exists("b").await.unwrap());
        assert_eq!(disk.space().await.unwrap().free, 32 * 1024);
        file.write_at(&[Bytes::from(vec![1; 32 * 1024])], 0).await.unwrap();
        let grown = disk.create("c").await.unwrap();
        assert!(grown.write_at(&[Bytes::from(vec![1; 40 * 1024])], 0).await.unwrap_err().is_full());
        grown.write_at(&[Bytes::from(vec![1; 32 * 1024])], 0).await.unwrap();
        assert_eq!(disk.space().await.unwrap().free, 0);
        drop(file);
        disk.remove("a").await.unwrap();
        disk.sync_dir("").await.unwrap();
        disk.create_preallocated("d", 32 * 1024).await.unwrap();
        node.set_capacity(None);
        disk.create_preallocated("e", 1 << 30).await.unwrap();
    });
}

#[test]
fn an_adopted_file_takes_its_space_until_the_object_goes() {
    Sim::run(1, |sim| async move {
        let (node, store) = (sim.node("node"), sim.store());
        let disk = node.env().disk;
        node.set_capacity(Some(64 * 1024));
        drop(disk.create_preallocated("a", 48 * 1024).await.unwrap());
        store.adopt(&*disk, "a", "c/1").await.unwrap();
        disk.remove("a").await.unwrap();
        disk.sync_dir("").await.unwrap();
        assert_eq!(disk.space().await.unwrap().free, 16 * 1024);
        store.delete("c/1").await.unwrap();
        assert_eq!(disk.space().await.unwrap().free, 64 * 1024);
    });
}

#[test]
fn writes_and_reads_fail_as_asked() {
    Sim::run(1, |sim| async move {
        let disk = sim.node("node").env().disk;
        let file = disk.create("a").await.unwrap();
        let mut plan = FaultPlan::calm();
        plan.disk.write_error = 1.0;
        sim.set_faults(plan.clone());
        assert!(!file.write_at(&[Bytes::from_static(b"x")], 0).await.unwrap_err().is_full());
        plan.disk.write_error = 0.0;
        plan.disk.write_full = 1.0;
        sim.set_faults(plan.clone());
        assert!(file.write_at(&[Bytes::from_static(b"x")], 0).await.unwrap_err().is_full());
        plan.disk.write_full = 0.0;
        plan.disk.read_error = 1.0;
        plan.disk.dir_sync_error = 1.0;
        sim.set_faults(plan);
        assert!(file.read_at(0, 1).await.is_err());
        assert!(disk.sync_dir("").await.is_err());
    });
}

#[test]
fn a_request_to_the_store_fails_before_or_after_its_effect_or_comes_late() {
    Sim::run(1, |sim| async move {
        let store = sim.store();
        let body = || Bytes::from_static(b"one");
        let mut plan = FaultPlan::calm();
        plan.store.fail_before = 1.0;
        sim.set_faults(plan);
        assert!(store.put_if_absent("before", body()).await.is_err());

        let mut plan = FaultPlan::calm();
        plan.store.fail_after = 1.0;
        sim.set_faults(plan);
        assert!(!store.put_if_absent("after", body()).await.unwrap_err().is_already_exists());

        let mut plan = FaultPlan::calm();
        plan.store.self_collision = 1.0;
        sim.set_faults(plan);
        assert!(store.put_if_absent("collision", body()).await.unwrap_err().is_already_exists());
        assert_eq!(store.keys(), ["after", "collision"]);
        assert_eq!(store.peek("collision").unwrap(), "one");
    });
}

fn late_requests() -> FaultPlan {
    let mut plan = FaultPlan::calm();
    plan.store.late = 1.0;
    plan.store.max_delay = Duration::from_millis(100);
    plan
}

#[test]
fn a_late_request_takes_effect_after_its_error() {
    let mut late = 0;
    for seed in 0..50 {
        late += Sim::run(seed, |sim| async move {
            sim.set_faults(late_requests());
            let store = sim.store();
            assert!(store.put_if_absent("late", Bytes::from_static(b"one")).await.is_err());
            let absent = store.keys().is_empty();
            sim.sleep(Duration::from_secs(2)).await;
            assert_eq!(store.keys(), ["late"]);
            u32::from(absent)
        });
    }
    assert!(late > 10, "{late} of 50 came after the error");
}

#[test]
fn a_request_takes_effect_after_its_sender_died() {
    let mut late = 0;
    for seed in 0..50 {
        late += Sim::run(seed, |sim| async move {
            let (node, store) = (sim.node("node"), sim.store());
            sim.set_faults(late_requests());
            node.env().spawn("sender", {
                let store = store.clone();
                async move {
                    let _ = store.put_if_absent("late", Bytes::from_static(b"one")).await;
                }
            });
            sim.sleep(Duration::from_millis(1)).await;
            node.crash().await;
            let absent = store.keys().is_empty();
            sim.sleep(Duration::from_secs(2)).await;
            assert_eq!(store.keys(), ["late"]);
            u32::from(absent)
        });
    }
    assert!(late > 10, "{late} of 50 came after the crash");
}

#[test]
fn decay_flips_a_bit() {
    Sim::run(1, |sim| async move {
        let (node, store) = (sim.node("node"), sim.store());
        let disk = node.env().disk;
        let file = disk.create("a").await.unwrap();
        file.write_at(&[Bytes::from_static(b"aaaa")], 0).await.unwrap();
        file.sync_data().await.unwrap();
        disk.sync_dir("").await.unwrap();
        store.adopt(&*disk, "a", "linked").await.unwrap();
        store.put("own", Bytes::from_static(b"aaaa")).await.unwrap();
        assert!(node.flip_bit("a", 1));
        assert!(store.flip_bit("own", 2));
        assert!(!node.flip_bit("a", 4) && !node.flip_bit("b", 0) && !store.flip_bit("own", 4));
        node.crash().await;
        assert_eq!(
            node.env().disk.open("a", OpenMode::Read).await.unwrap().read_at(0, 9).await.unwrap(),
            "a`aa"
        );
        assert_eq!(store.get("linked").await.unwrap(), "a`aa");
        assert_eq!(store.get("own").await.unwrap(), "aa`a");
        assert!(store.lose("own") && !store.lose("own"));
    });
}
