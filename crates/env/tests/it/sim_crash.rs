//! What a loss of power and a kill leave of a simulated node.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use bytes::Bytes;
use kelda_env::sim::{FaultPlan, Sim, SimNode};
use kelda_env::{DiskError, OpenMode, Store, TaskEnd};

const SEEDS: u64 = 200;

fn page(letter: u8) -> Bytes {
    Bytes::from(vec![letter; 4096])
}

/// A durable file of four pages of `o`, with the name `a`.
async fn old_file(node: &SimNode) {
    let disk = node.env().disk;
    let file = disk.create_preallocated("a", 4 * 4096).await.unwrap();
    file.write_at(&[page(b'o'), page(b'o'), page(b'o'), page(b'o')], 0).await.unwrap();
    file.sync_data().await.unwrap();
    disk.sync_dir("").await.unwrap();
}

#[test]
fn what_is_synced_survives() {
    for seed in 0..SEEDS {
        Sim::run(seed, |sim| async move {
            sim.set_faults(FaultPlan::slow());
            let node = sim.node("node");
            old_file(&node).await;
            for _ in 0..3 {
                node.crash().await;
                assert_eq!(node.env().disk.read("a").await.unwrap(), vec![b'o'; 4 * 4096]);
            }
        });
    }
}

#[test]
fn pages_that_are_not_synced_survive_in_any_combination_and_tear() {
    let mut seen = BTreeSet::new();
    let mut torn = 0;
    for seed in 0..SEEDS {
        let bytes = Sim::run(seed, |sim| async move {
            let node = sim.node("node");
            old_file(&node).await;
            let file = node.env().disk.open("a", OpenMode::ReadWrite).await.unwrap();
            file.write_at(&[page(b'n'), page(b'n'), page(b'n')], 0).await.unwrap();
            node.crash().await;
            node.env().disk.read("a").await.unwrap()
        });
        let kinds: Vec<BTreeSet<u8>> =
            bytes.chunks(4096).map(|page| page.iter().copied().collect()).collect();
        assert_eq!(bytes.len(), 4 * 4096);
        assert_eq!(kinds[3], BTreeSet::from([b'o']), "a page that was not written does not change");
        assert!(bytes.iter().all(|byte| matches!(byte, b'o' | b'n')));
        if kinds.iter().any(|kind| kind.len() == 2) {
            torn += 1;
        } else {
            seen.insert(kinds.into_iter().flatten().collect::<Vec<_>>());
        }
    }
    assert_eq!(seen.len(), 8, "every combination of three pages: {seen:?}");
    assert!(torn > 5, "{torn} of {SEEDS} runs tore a page");
}

#[test]
fn an_unsynced_length_may_go_back() {
    let lengths: BTreeSet<usize> = (0..SEEDS)
        .map(|seed| {
            Sim::run(seed, |sim| async move {
                let node = sim.node("node");
                old_file(&node).await;
                let file = node.env().disk.open("a", OpenMode::ReadWrite).await.unwrap();
                file.write_at(&[Bytes::from_static(b"more")], 4 * 4096).await.unwrap();
                file.write_at(&[Bytes::from_static(b"more")], 4 * 4096 + 4).await.unwrap();
                node.crash().await;
                node.env().disk.read("a").await.unwrap().len()
            })
        })
        .collect();
    assert_eq!(lengths, BTreeSet::from([4 * 4096, 4 * 4096 + 4, 4 * 4096 + 8]));
}

#[test]
fn names_that_are_not_synced_may_vanish_and_removed_ones_may_return() {
    let mut seen = BTreeSet::new();
    for seed in 0..SEEDS {
        let files = Sim::run(seed, |sim| async move {
            let node = sim.node("node");
            old_file(&node).await;
            let disk = node.env().disk;
            disk.create("new").await.unwrap();
            disk.remove("a").await.unwrap();
            node.crash().await;
            node.files()
        });
        seen.insert(files);
    }
    let expected: [&[&str]; 4] = [&[], &["a"], &["a", "new"], &["new"]];
    let seen: Vec<Vec<String>> = seen.into_iter().collect();
    assert_eq!(seen, expected);
}

#[test]
fn a_rename_is_atomic() {
    for seed in 0..SEEDS {
        Sim::run(seed, |sim| async move {
            let node = sim.node("node");
            old_file(&node).await;
            node.env().disk.rename("a", "b").await.unwrap();
            node.crash().await;
            assert_eq!(node.files().len(), 1, "{:?}", node.files());
        });
    }
}

#[test]
fn a_name_in_a_synced_directory_needs_its_own_sync_only() {
    for seed in 0..SEEDS {
        Sim::run(seed, |sim| async move {
            let node = sim.node("node");
            let disk = node.env().disk;
            disk.create_dir_all("x/y").await.unwrap();
            disk.create("x/y/a").await.unwrap();
            disk.create("lost").await.unwrap();
            disk.sync_dir("x/y").await.unwrap();
            node.crash().await;
            assert!(node.files().contains(&"x/y/a".to_owned()));
        });
    }
}

#[test]
fn a_sync_covers_what_was_written_before_it_began() {
    for seed in 0..SEEDS {
        Sim::run(seed, |sim| async move {
            sim.set_faults(FaultPlan::slow());
            let node = sim.node("node");
            old_file(&node).await;
            let file = node.env().disk.open("a", OpenMode::ReadWrite).await.unwrap();
            file.write_at(&[page(b'n')], 0).await.unwrap();
            let later = [Bytes::from_static(b"later")];
            let (synced, _) = tokio::join!(file.sync_data(), file.write_at(&later, 4096));
            synced.unwrap();
            node.crash().await;
            assert_eq!(node.peek("a").unwrap()[..4096], page(b'n'));
        });
    }
}

#[test]
fn a_sync_does_not_cover_what_was_written_after_it_began() {
    let (mut during, mut lost) = (0, 0);
    for seed in 0..SEEDS {
        let (overtook, old) = Sim::run(seed, |sim| async move {
            let node = sim.node("node");
            old_file(&node).await;
            let file = node.env().disk.open("a", OpenMode::ReadWrite).await.unwrap();
            sim.set_faults(FaultPlan::slow());
            let later = [page(b'n')];
            let synced = AtomicU32::new(0);
            let sync = async {
                file.sync_data().await.unwrap();
                synced.store(1, Ordering::Relaxed);
            };
            let write = async {
                tokio::task::yield_now().await;
                file.write_at(&later, 0).await.unwrap();
                synced.load(Ordering::Relaxed) == 0
            };
            let ((), overtook) = tokio::join!(sync, write);
            node.crash().await;
            (overtook, node.peek("a").unwrap()[..4096] == page(b'o'))
        });
        during += u64::from(overtook);
        lost += u64::from(overtook && old);
    }
    assert!(during > 20 && lost > during / 4, "{lost} of {during} writes during a sync were lost");
}

#[test]
fn a_failed_sync_may_have_lost_anything_and_a_later_one_does_not_bring_it_back() {
    let mut lost = 0;
    for seed in 0..SEEDS {
        lost += Sim::run(seed, |sim| async move {
            let node = sim.node("node");
            old_file(&node).await;
            let disk = node.env().disk;
            let file = disk.open("a", OpenMode::ReadWrite).await.unwrap();
            file.write_at(&[page(b'n')], 0).await.unwrap();
            let mut plan = FaultPlan::calm();
            plan.disk.sync_error = 1.0;
            sim.set_faults(plan);
            let error = file.sync_data().await.unwrap_err();
            assert!(matches!(error, DiskError::SyncFailed { .. }), "{error}");
            sim.set_faults(FaultPlan::calm());
            assert!(file.sync_data().await.is_err(), "a failed sync fails every later one");
            let again = disk.open("a", OpenMode::ReadWrite).await.unwrap();
            assert_eq!(again.read_at(0, 4096).await.unwrap(), page(b'n'), "readers still see it");
            again.sync_data().await.unwrap();
            node.crash().await;
            u64::from(node.peek("a").unwrap()[..4096] == page(b'o'))
        });
    }
    assert!(lost > SEEDS / 4 && lost < SEEDS * 3 / 4, "{lost} of {SEEDS} lost the page");
}

#[test]
fn a_kill_loses_nothing_that_was_written() {
    for seed in 0..SEEDS {
        Sim::run(seed, |sim| async move {
            let node = sim.node("node");
            let file = node.env().disk.create("a").await.unwrap();
            file.write_at(&[Bytes::from_static(b"not synced")], 0).await.unwrap();
            node.kill().await;
            assert_eq!(node.env().disk.read("a").await.unwrap(), "not synced");
        });
    }
}

#[test]
fn a_crash_ends_every_task_and_gives_locks_back() {
    for seed in 0..SEEDS {
        Sim::run(seed, |sim| async move {
            sim.set_faults(FaultPlan::slow());
            let node = sim.node("node");
            let env = node.env();
            let steps = Arc::new(AtomicU32::new(0));
            let guard = env.disk.lock("lock").await.unwrap();
            let task = env.spawn("worker", {
                let (env, steps) = (env.clone(), steps.clone());
                async move {
                    let _guard = guard;
                    loop {
                        env.clock.sleep(Duration::from_millis(1)).await;
                        steps.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
            let waiting = env.spawn("waiting", std::future::pending());
            sim.sleep(Duration::from_millis(20)).await;
            assert!(node.env().disk.lock("lock").await.is_err());
            node.crash().await;
            assert_eq!(waiting.join().await, Err(TaskEnd::Aborted), "also one that nothing would wake");
            let at_crash = steps.load(Ordering::Relaxed);
            assert!(at_crash > 0);
            assert_eq!(task.join().await, Err(TaskEnd::Aborted));
            node.env().disk.lock("lock").await.unwrap();
            sim.sleep(Duration::from_millis(20)).await;
            assert_eq!(steps.load(Ordering::Relaxed), at_crash);
        });
    }
}

#[test]
fn the_world_of_a_crashed_life_stays_dead() {
    Sim::run(1, |sim| async move {
        let node = sim.node("node");
        old_file(&node).await;
        let old = node.env();
        let file = old.disk.open("a", OpenMode::ReadWrite).await.unwrap();
        let guard = old.disk.lock("lock").await.unwrap();
        node.crash().await;
        assert!(file.write_at(&[page(b'n')], 0).await.is_err());
        assert!(file.sync_data().await.is_err());
        assert!(old.disk.create("b").await.is_err());
        let task = old.spawn("late", async { panic!("never runs") });
        assert_eq!(task.join().await, Err(TaskEnd::Aborted));
        let _new = node.env().disk.lock("lock").await.unwrap();
        drop(guard);
        assert!(node.env().disk.lock("lock").await.is_err(), "the old guard does not give back the new lock");
        assert_eq!(node.peek("a").unwrap()[..4096], page(b'o'));
    });
}

#[test]
fn an_adopted_file_is_as_durable_as_it_was_made() {
    let mut damaged = 0;
    for seed in 0..SEEDS {
        damaged += Sim::run(seed, |sim| async move {
            let (node, store) = (sim.node("node"), sim.store());
            let disk = node.env().disk;
            let file = disk.create("segment").await.unwrap();
            file.write_at(&[page(b'n')], 0).await.unwrap();
            if seed % 2 == 0 {
                file.sync_data().await.unwrap();
            }
            store.adopt(&*disk, "segment", "c/1").await.unwrap();
            node.crash().await;
            let whole = store.get("c/1").await.unwrap() == page(b'n');
            assert!(whole || seed % 2 == 1);
            u64::from(!whole)
        });
    }
    assert!(damaged > SEEDS / 8, "a segment that was not synced before it was adopted shows: {damaged}");
}
