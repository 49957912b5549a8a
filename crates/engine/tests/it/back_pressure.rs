//! A slow store: appends wait, then are refused, and memory does not grow; a large batch is one entry.

use std::time::Duration;

use kelda_engine::AppendError;
use kelda_env::sim::{FaultPlan, Sim, StoreFaults};

use crate::world::{World, body, request, small};

#[test]
fn appends_wait_for_the_store_and_are_then_refused() {
    Sim::run(1, |sim| async move {
        let mut world = World::new(&sim).await;
        let stream = world.create("a").await;
        let store = StoreFaults { fail_before: 1.0, ..Default::default() };
        sim.set_faults(FaultPlan { store, ..FaultPlan::calm() });
        let mut accepted: usize = 0;
        let refused = loop {
            match world.append(stream, &[&body(accepted, 4000)]).await {
                Ok(_) => accepted += 1,
                Err(error) => break error,
            }
        };
        assert!(matches!(refused, AppendError::Overloaded(_)), "{refused:?}");
        let bytes = accepted as u64 * 4000;
        let bound = small().uncommitted_bytes;
        assert!(bytes > bound / 2 && bytes <= bound, "{bytes} of {bound}");
        sim.set_faults(FaultPlan::calm());
        sim.sleep(Duration::from_secs(10)).await;
        world.append(stream, &["more"]).await.unwrap();
        world.crash().await;
        assert_eq!(world.read_all(stream).await.len(), accepted + 1);
    });
}

#[test]
fn a_batch_larger_than_a_segment_and_the_queue_is_one_entry() {
    Sim::run(2, |sim| async move {
        let mut world = World::new(&sim).await;
        let stream = world.create("a").await;
        world.append(stream, &["small"]).await.unwrap();
        let large = body(1, 600 << 10);
        world.append(stream, &[&large, "beside"]).await.unwrap();
        world.append(stream, &["after"]).await.unwrap();
        world.crash().await;
        assert_eq!(world.read_all(stream).await, ["small", &large, "beside", "after"]);
    });
}

#[test]
fn many_clients_share_the_group_commit() {
    Sim::run(3, |sim| async move {
        let world = World::new(&sim).await;
        let mut plan = FaultPlan::calm();
        plan.disk.max_delay = Duration::from_millis(10);
        sim.set_faults(plan);
        let streams = [world.create("a").await, world.create("b").await];
        let before = sim.elapsed();
        let mut clients = Vec::new();
        for number in 0..200 {
            let open = world.open(streams[number % 2]).await;
            clients.push(sim.spawn(async move { open.append(request(&[&body(number, 100)])).await }));
        }
        for client in clients {
            client.await.unwrap().unwrap();
        }
        let taken = sim.elapsed() - before;
        assert!(taken < Duration::from_millis(200), "200 appends in {taken:?} with syncs of up to 10 ms");
    });
}
