//! Idempotent producers: exactly once across retries, pipelining and crashes.

use std::time::Duration;

use kelda_engine::{AppendError, AppendRequest};
use kelda_env::sim::{FaultPlan, Sim};
use kelda_format::{Batch, Offset};

use crate::world::{World, body, claim, claimed, outcome};

#[test]
fn a_repeat_is_answered_with_the_original_result_and_writes_nothing() {
    Sim::run(1, |sim| async move {
        let mut world = World::new(&sim).await;
        let stream = world.create("a").await;
        let open = world.open(stream).await;
        let first = open.append(claimed(&["a", "b"], "p", 0, 0)).await.unwrap();
        let again = open.append(claimed(&["a", "b"], "p", 0, 0)).await.unwrap();
        assert!(!first.duplicate && again.duplicate && again.exact);
        assert_eq!((again.first, again.next), (first.first, first.next));
        // Also after the table came from a commit and a replay.
        world.crash().await;
        let open = world.open(stream).await;
        let again = open.append(claimed(&["a", "b"], "p", 0, 0)).await.unwrap();
        assert!(again.duplicate && again.exact);
        assert_eq!((again.first, again.next), (Offset(0), Offset(2)));
        assert_eq!(world.read_all(stream).await, ["a", "b"]);
    });
}

#[test]
fn eight_results_are_kept_across_commits_and_crashes() {
    Sim::run(2, |sim| async move {
        let mut world = World::new(&sim).await;
        let stream = world.create("a").await;
        for seq in 0..12 {
            let open = world.open(stream).await;
            open.append(claimed(&["x"], "p", 0, seq)).await.unwrap();
            match seq {
                3 => drop(world.engine.flush().await),
                7 => world.crash().await,
                _ => {}
            }
        }
        for lives in 0..2 {
            let open = world.open(stream).await;
            for seq in 0..12 {
                let again = open.append(claimed(&["x"], "p", 0, seq)).await.unwrap();
                assert!(again.duplicate);
                assert_eq!(again.exact, seq >= 4, "sequence {seq} in life {lives}");
                if seq >= 4 {
                    assert_eq!((again.first, again.next), (Offset(seq), Offset(seq + 1)));
                }
                assert_eq!(again.producer_seq, Some(11));
            }
            world.crash().await;
        }
    });
}

#[test]
fn stale_epochs_gaps_and_bad_starts_are_told_apart() {
    Sim::run(3, |sim| async move {
        let world = World::new(&sim).await;
        let stream = world.create("a").await;
        let open = world.open(stream).await;
        open.append(claimed(&["a"], "p", 3, 0)).await.unwrap();
        assert_eq!(
            open.append(claimed(&["a"], "p", 2, 0)).await,
            Err(AppendError::StaleEpoch { current: 3 })
        );
        assert_eq!(open.append(claimed(&["a"], "p", 4, 1)).await, Err(AppendError::BadProducerStart));
        let before = sim.elapsed();
        assert_eq!(
            open.append(claimed(&["a"], "p", 3, 66)).await,
            Err(AppendError::Gap { expected: 1, received: 66 })
        );
        assert_eq!(sim.elapsed(), before, "too far ahead to wait");
        assert_eq!(
            open.append(claimed(&["a"], "p", 3, 65)).await,
            Err(AppendError::Gap { expected: 1, received: 65 })
        );
        let waited = sim.elapsed() - before;
        assert!(waited >= Duration::from_millis(250) && waited < Duration::from_millis(260), "{waited:?}");
        open.append(claimed(&["a"], "p", 4, 0)).await.unwrap();
    });
}

#[test]
fn requests_that_overtake_each_other_wait_for_their_predecessors() {
    Sim::run(4, |sim| async move {
        let world = World::new(&sim).await;
        let stream = world.create("a").await;
        let open = world.open(stream).await;
        let mut clients = Vec::new();
        for seq in (0..40).rev() {
            let open = open.clone();
            clients.push(sim.spawn(async move {
                (seq, open.append(claimed(&[&body(seq, 20)], "p", 0, seq as u64)).await)
            }));
        }
        for client in clients {
            let (seq, result) = client.await.unwrap();
            assert_eq!(result.unwrap().first, Offset(seq as u64));
        }
        assert!(sim.elapsed() < Duration::from_millis(250));
        let found = world.read_all(stream).await;
        assert_eq!(found, (0..40).map(|seq| body(seq, 20)).collect::<Vec<_>>());
    });
}

#[test]
fn a_duplicate_waits_for_the_durability_of_its_original() {
    Sim::run(5, |sim| async move {
        let world = World::new(&sim).await;
        let stream = world.create("a").await;
        let open = world.open(stream).await;
        let mut plan = FaultPlan::calm();
        plan.disk.sync_error = 1.0;
        plan.disk.max_delay = Duration::from_millis(50);
        sim.set_faults(plan);
        let original = {
            let open = open.clone();
            sim.spawn(async move { open.append(claimed(&["a"], "p", 0, 0)).await })
        };
        sim.sleep(Duration::from_micros(1)).await;
        let duplicate = open.append(claimed(&["a"], "p", 0, 0)).await;
        assert_eq!(duplicate, Err(AppendError::OutcomeUnknown), "the original is not durable");
        assert_eq!(original.await.unwrap(), Err(AppendError::OutcomeUnknown));
    });
}

#[test]
fn retrying_clients_write_each_sequence_once_across_crashes() {
    for seed in 0..30 {
        Sim::run(seed, |sim| async move {
            sim.set_faults(FaultPlan::slow());
            let mut world = World::new(&sim).await;
            let stream = world.create("a").await;
            let mut acknowledged = vec![None; 30];
            for round in 0..6u64 {
                let open = world.open(stream).await;
                let from = acknowledged.iter().position(Option::is_none).unwrap_or(30);
                let mut clients = Vec::new();
                for seq in from..(from + 10).min(30) {
                    let open = open.clone();
                    clients.push((
                        seq,
                        sim.spawn(async move {
                            open.append(claimed(&[&body(seq, 3000)], "p", 0, seq as u64)).await
                        }),
                    ));
                }
                let pause = sim.random();
                sim.sleep(Duration::from_millis(kelda_env::Random::below(&*pause, 40))).await;
                if round % 2 == 0 {
                    world.crash().await
                } else {
                    world.kill().await
                }
                for (seq, client) in clients {
                    if let Some(Ok(appended)) = outcome(client).await {
                        // A repeat older than the last eight is acknowledged without its offset.
                        acknowledged[seq] =
                            Some(if appended.exact { appended.first } else { Offset(seq as u64) });
                    }
                }
            }
            let open = world.open(stream).await;
            for seq in 0..30 {
                open.append(claimed(&[&body(seq, 3000)], "p", 0, seq as u64)).await.unwrap();
            }
            let found = world.read_all(stream).await;
            assert_eq!(found, (0..30).map(|seq| body(seq, 3000)).collect::<Vec<_>>());
            for (seq, offset) in acknowledged.iter().enumerate() {
                assert!(offset.is_none_or(|offset| offset == Offset(seq as u64)), "{seq} at {offset:?}");
            }
        });
    }
}

#[test]
fn a_closing_append_can_be_retried() {
    Sim::run(7, |sim| async move {
        let mut world = World::new(&sim).await;
        let stream = world.create("a").await;
        let closing = || AppendRequest { seal: true, ..claimed(&["last"], "p", 0, 0) };
        let open = world.open(stream).await;
        let first = open.append(closing()).await.unwrap();
        assert!(first.sealed && !first.duplicate);
        let again = open.append(closing()).await.unwrap();
        assert!(again.sealed && again.duplicate && again.exact);
        let refused = open.append(claimed(&["more"], "p", 0, 1)).await;
        assert_eq!(refused, Err(AppendError::Sealed { tail: Offset(1) }));
        world.crash().await;
        assert!(world.view().stream(stream).unwrap().sealed);
        let open = world.open(stream).await;
        let again = open.append(closing()).await.unwrap();
        assert!(again.sealed && again.duplicate && again.exact);
        let only_seal = AppendRequest { seal: true, ..AppendRequest::new(Batch::empty()) };
        assert!(open.append(only_seal).await.unwrap().duplicate);
    });
}

#[test]
fn an_idle_producer_whose_records_are_trimmed_starts_anew() {
    Sim::run(8, |sim| async move {
        let mut world = World::new(&sim).await;
        let stream = world.create("a").await;
        let open = world.open(stream).await;
        open.append(claimed(&["a"], "p", 5, 0)).await.unwrap();
        sim.sleep(Duration::from_secs(8 * 24 * 3600)).await;
        let held = open.append(claimed(&["a"], "p", 5, 0)).await.unwrap();
        assert!(held.duplicate, "a record of it is held");
        world.engine.trim(stream, Offset(1)).await.unwrap();
        let new = open.append(claimed(&["b"], "p", 0, 0)).await.unwrap();
        assert!(!new.duplicate);
        world.crash().await;
        let id = claim("p", 0, 0).id;
        let row = world.view().producer(stream, &id).cloned().unwrap();
        assert_eq!((row.epoch, row.seq, row.results.len()), (0, 0, 1));
        assert_eq!(world.view().stream(stream).unwrap().producers, 1);
    });
}
