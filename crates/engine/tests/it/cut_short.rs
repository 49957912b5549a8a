//! Segments that were cut short, emptied or removed are damage and never an empty or torn log; what a crash leaves is
//! neither.

use bytes::Bytes;
use kelda_engine::StartError;
use kelda_env::OpenMode;
use kelda_env::sim::{FaultPlan, Sim};
use kelda_format::StreamId;

use crate::world::{World, body};

/// All files of the write-ahead log.
type Saved = Vec<(String, Bytes)>;

/// A killed node with `flushed` committed records and then three in the segment at the WAL start, which comes first.
async fn killed(sim: &Sim, flushed: usize) -> (World, StreamId, Saved) {
    let world = World::new(sim).await;
    let stream = world.create("a").await;
    for number in 0..flushed {
        world.append(stream, &[&body(number, 100)]).await.unwrap();
        world.engine.flush().await;
    }
    for number in 0..3 {
        world.append(stream, &[&body(flushed + number, 100)]).await.unwrap();
    }
    sim.sleep(std::time::Duration::from_secs(1)).await;
    world.node.kill().await;
    assert_eq!(world.view().stream(stream).unwrap().end.0, flushed as u64);
    let saved = save(&world);
    assert_eq!(saved.len(), 2, "the segment in use and the prepared one");
    (world, stream, saved)
}

fn save(world: &World) -> Saved {
    world.wal_files().into_iter().map(|path| (path.clone(), world.node.peek(&path).unwrap())).collect()
}

async fn restore(world: &World, saved: &Saved) {
    let disk = world.node.env().disk;
    for (path, bytes) in saved {
        disk.create_dir_all(path.rsplit_once('/').unwrap().0).await.unwrap();
        if disk.exists(path).await.unwrap() {
            disk.remove(path).await.unwrap();
        }
        let file = disk.create(path).await.unwrap();
        file.write_at(std::slice::from_ref(bytes), 0).await.unwrap();
        file.sync_data().await.unwrap();
    }
}

async fn cut(world: &World, path: &str, len: u64) {
    let file = world.node.env().disk.open(path, OpenMode::ReadWrite).await.unwrap();
    file.set_len(len).await.unwrap();
    file.sync_data().await.unwrap();
}

/// Starts, and expects that `path` is reported and nothing changed.
async fn refused(world: &mut World, path: &str, what: &str) {
    let before = (save(world), world.view().sessions().cloned().collect::<Vec<_>>());
    match world.restart().await {
        Err(StartError::Corrupt { file, .. }) => assert_eq!(file, path, "{what}"),
        Err(error) => panic!("{what}: {error}"),
        Ok(()) => panic!("{what}: it started"),
    }
    let after = (save(world), world.view().sessions().cloned().collect::<Vec<_>>());
    assert!(before == after, "{what}: nothing was changed");
}

#[test]
fn a_segment_cut_short_anywhere_in_what_was_written_is_corruption() {
    for flushed in [0, 1] {
        Sim::run(flushed as u64, |sim| async move {
            let (mut world, stream, saved) = killed(&sim, flushed).await;
            let (path, bytes) = saved.first().cloned().unwrap();
            let end = bytes.iter().rposition(|byte| *byte != 0).unwrap() as u64 + 1;
            for len in (0..end).step_by(9).chain([79, 80, 81, end]) {
                cut(&world, &path, len).await;
                refused(&mut world, &path, &format!("cut at {len}")).await;
                restore(&world, &saved).await;
            }
            // All entries are there, and the room for an index: nothing can have been lost.
            cut(&world, &path, end + 200).await;
            world.restart().await.unwrap();
            assert_eq!(world.read_all(stream).await.len(), flushed + 3);
        });
    }
}

#[test]
fn a_removed_segment_is_corruption_with_or_without_its_directory() {
    for flushed in [0, 1] {
        Sim::run(flushed as u64, |sim| async move {
            let (mut world, stream, saved) = killed(&sim, flushed).await;
            let path = saved.first().cloned().unwrap().0;
            let disk = world.node.env().disk;
            disk.remove(&path).await.unwrap();
            refused(&mut world, &path, "the segment is removed").await;
            disk.remove(&saved.last().unwrap().0).await.unwrap();
            refused(&mut world, &path, "all segments are removed").await;
            let dir = path.rsplit_once('/').unwrap().0;
            disk.remove_dir(dir).await.unwrap();
            refused(&mut world, &path, "the directory is removed").await;
            disk.remove_dir("wal").await.unwrap();
            refused(&mut world, &path, "the directory of all logs is removed").await;
            restore(&world, &saved).await;
            world.restart().await.unwrap();
            assert_eq!(world.read_all(stream).await.len(), flushed + 3);
        });
    }
}

#[test]
fn an_emptied_segment_with_none_after_it_is_corruption() {
    for flushed in [0, 1] {
        Sim::run(flushed as u64, |sim| async move {
            let (mut world, _, saved) = killed(&sim, flushed).await;
            let path = saved.first().cloned().unwrap().0;
            world.node.env().disk.remove(&saved.last().unwrap().0).await.unwrap();
            cut(&world, &path, 0).await;
            refused(&mut world, &path, "emptied").await;
        });
    }
}

#[test]
fn the_mark_that_the_report_names_gives_up_what_a_missing_segment_held() {
    Sim::run(5, |sim| async move {
        let (mut world, stream, saved) = killed(&sim, 1).await;
        let disk = world.node.env().disk;
        for (path, _) in &saved {
            disk.remove(path).await.unwrap();
        }
        let Err(StartError::Corrupt { detail, .. }) = world.restart().await else {
            panic!("it has to refuse");
        };
        assert!(detail.contains("wal/1/unbegun"), "{detail}");
        disk.create("wal/1/unbegun").await.unwrap();
        world.restart().await.unwrap();
        assert_eq!(world.read_all(stream).await.len(), 1, "what was committed");
    });
}

#[test]
fn a_session_that_was_ended_before_it_began_a_segment_is_recovered() {
    for seed in 0..20 {
        Sim::run(seed, |sim| async move {
            let mut world = World::new(&sim).await;
            let stream = world.create("a").await;
            for round in 0..6 {
                // Held, and nothing written; or everything committed and the next segment not begun.
                world.open(stream).await;
                if round % 2 == 1 {
                    world.append(stream, &[&body(round, 100)]).await.unwrap();
                    world.engine.flush().await;
                }
                sim.sleep(std::time::Duration::from_millis(seed % 5 * 3)).await;
                if seed % 2 == 0 { world.crash().await } else { world.kill().await }
            }
            assert_eq!(world.read_all(stream).await.len(), 3);
        });
    }
}

#[test]
fn no_mark_stays_when_a_segment_is_begun_while_the_one_before_is_removed() {
    for seed in 0..40 {
        Sim::run(seed, |sim| async move {
            sim.set_faults(FaultPlan::slow());
            let world = World::new(&sim).await;
            let stream = world.create("a").await;
            for round in 0..6 {
                world.append(stream, &[&body(round, 100)]).await.unwrap();
                let engine = world.engine.clone();
                let flush = sim.spawn(async move { engine.flush().await });
                // The next segment is begun at another moment of the flush each time.
                let moment = (seed * 31 + round as u64 * 17) % 200;
                sim.sleep(std::time::Duration::from_millis(moment)).await;
                world.append(stream, &[&body(round, 100)]).await.unwrap();
                flush.await.unwrap();
                world.append(stream, &[&body(round, 100)]).await.unwrap();
                sim.sleep(std::time::Duration::from_secs(2)).await;
                let files = world.wal_files();
                assert!(!files.iter().any(|path| path.ends_with("unbegun")), "round {round}: {files:?}");
            }
        });
    }
}
