//! A full device: appends are refused, what was acknowledged is kept and read, and space that returns is used.

use std::time::Duration;

use kelda_engine::{AppendError, Health};
use kelda_env::sim::{FaultPlan, Sim, StoreFaults};

use crate::world::{World, body};

#[test]
fn appends_are_refused_while_the_device_is_full_and_accepted_again_afterwards() {
    Sim::run(1, |sim| async move {
        let mut world = World::new(&sim).await;
        let stream = world.create("a").await;
        world.append(stream, &["one"]).await.unwrap();
        sim.sleep(Duration::from_secs(1)).await;
        // What is allocated stays; nothing more can be. The store takes nothing, so nothing is freed.
        let store = StoreFaults { fail_before: 1.0, ..Default::default() };
        sim.set_faults(FaultPlan { store, ..FaultPlan::calm() });
        world.node.set_capacity(Some(0));
        let mut accepted = 1;
        let refused = loop {
            match world.append(stream, &[&body(accepted, 1000)]).await {
                Ok(_) => accepted += 1,
                Err(error) => break error,
            }
            assert!(accepted < 1000);
        };
        assert_eq!(refused, AppendError::DiskFull);
        assert!(accepted > 60, "the allocated segments are used to their end: {accepted}");
        world.until(|health| *health == Health::DiskFull).await;
        assert_eq!(world.read_all(stream).await.len(), accepted, "reads go on");
        // Refusals do not wait.
        let before = sim.elapsed();
        assert_eq!(world.append(stream, &[&body(0, 1000)]).await, Err(AppendError::DiskFull));
        assert_eq!(sim.elapsed(), before);
        world.node.set_capacity(None);
        sim.set_faults(FaultPlan::calm());
        world.until(|health| *health == Health::Ready).await;
        let next = world.append(stream, &["again"]).await.unwrap();
        assert_eq!(next.first.0, accepted as u64, "what was refused left no trace");
        world.crash().await;
        assert_eq!(world.read_all(stream).await.len(), accepted + 1);
    });
}

#[test]
fn one_entry_too_large_for_the_device_does_not_keep_small_ones_out() {
    Sim::run(2, |sim| async move {
        let world = World::new(&sim).await;
        let stream = world.create("a").await;
        world.append(stream, &["one"]).await.unwrap();
        world.node.set_capacity(Some(256 << 10));
        let large = body(1, 200 << 10);
        assert_eq!(world.append(stream, &[&large]).await, Err(AppendError::DiskFull));
        for number in 0..200 {
            // The next segment may be a moment away.
            if world.append(stream, &[&body(number, 1000)]).await.is_err() {
                sim.sleep(Duration::from_secs(6)).await;
                world.append(stream, &[&body(number, 1000)]).await.unwrap();
            }
        }
        assert_eq!(world.read_all(stream).await.len(), 201);
    });
}

#[test]
fn a_node_restarted_on_a_full_device_recovers_reads_and_waits_for_space() {
    Sim::run(3, |sim| async move {
        let mut world = World::new(&sim).await;
        let stream = world.create("a").await;
        for number in 0..30 {
            world.append(stream, &[&body(number, 1000)]).await.unwrap();
        }
        sim.sleep(Duration::from_secs(1)).await;
        let allocated: usize =
            world.wal_files().iter().map(|path| world.node.peek(path).unwrap().len()).sum();
        world.node.kill().await;
        // Full to the last byte: only the prepared segment, which was never used, can make room for recovery.
        world.node.set_capacity(Some(allocated as u64));
        world.restart().await.unwrap();
        assert_eq!(world.read_all(stream).await.len(), 30);
        world.node.set_capacity(Some(0));
        world.node.kill().await;
        world.restart().await.unwrap();
        world.until(|health| *health == Health::DiskFull).await;
        assert_eq!(world.append(stream, &["x"]).await, Err(AppendError::DiskFull));
        assert_eq!(world.read_all(stream).await.len(), 30);
        world.node.set_capacity(None);
        world.until(|health| *health == Health::Ready).await;
        assert_eq!(world.append(stream, &["x"]).await.unwrap().first.0, 30);
    });
}
