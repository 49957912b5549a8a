//! Damage to what was acknowledged stops the start with file and position; a torn tail does not.

use std::time::Duration;

use kelda_engine::StartError;
use kelda_env::sim::Sim;
use kelda_format::Offset;

use crate::world::{World, body};

/// A stopped node whose only segment holds three records, each a group of its own, and the synced mark if `idle`.
async fn stopped(sim: &Sim, idle: bool) -> (World, kelda_format::StreamId, String) {
    let world = World::new(sim).await;
    let stream = world.create("a").await;
    for number in 0..3 {
        world.append(stream, &[&body(number, 100)]).await.unwrap();
    }
    if idle {
        sim.sleep(Duration::from_secs(1)).await;
    }
    world.node.kill().await;
    let path = world.wal_files().remove(0);
    (world, stream, path)
}

/// Where in a file the body of a record lies.
fn position(world: &World, path: &str, number: usize) -> u64 {
    let bytes = world.node.peek(path).unwrap();
    let needle = body(number, 100);
    bytes.windows(needle.len()).position(|window| window == needle.as_bytes()).unwrap() as u64
}

#[test]
fn a_flipped_bit_before_a_later_group_is_corruption() {
    Sim::run(1, |sim| async move {
        let (mut world, stream, path) = stopped(&sim, false).await;
        let at = position(&world, &path, 1);
        assert!(world.node.flip_bit(&path, at));
        let before = (world.node.peek(&path), world.view().stream(stream).cloned());
        let Err(StartError::Corrupt { file, position, detail }) = world.restart().await else {
            panic!("it has to refuse");
        };
        assert_eq!(file, path);
        assert!(position < at && at - position < 400, "{position} is where the entry of byte {at} begins");
        assert!(detail.contains("written after it"), "{detail}");
        assert_eq!(
            (world.node.peek(&path), world.view().stream(stream).cloned()),
            before,
            "nothing was changed"
        );
        // Repaired, everything is there.
        assert!(world.node.flip_bit(&path, at));
        world.restart().await.unwrap();
        assert_eq!(world.read_all(stream).await.len(), 3);
    });
}

#[test]
fn a_flipped_bit_in_the_last_group_is_corruption_once_the_idle_mark_is_written() {
    Sim::run(2, |sim| async move {
        let (mut world, _, path) = stopped(&sim, true).await;
        let at = position(&world, &path, 2);
        assert!(world.node.flip_bit(&path, at));
        assert!(matches!(world.restart().await, Err(StartError::Corrupt { .. })));
    });
}

#[test]
fn every_flipped_bit_of_an_idle_segment_is_reported_or_harmless() {
    Sim::run(3, |sim| async move {
        let (mut world, stream, path) = stopped(&sim, true).await;
        let bytes = world.node.peek(&path).unwrap();
        let end = bytes.iter().rposition(|byte| *byte != 0).unwrap() as u64 + 1;
        let mark = end - 64;
        let mut refused = 0;
        for at in (0..mark).step_by(7) {
            assert!(world.node.flip_bit(&path, at));
            assert!(
                matches!(world.restart().await, Err(StartError::Corrupt { .. } | StartError::Foreign { .. })),
                "byte {at} of {mark}"
            );
            refused += 1;
            assert!(world.node.flip_bit(&path, at));
        }
        assert!(refused > 50);
        world.restart().await.unwrap();
        assert_eq!(world.read_all(stream).await.len(), 3);
    });
}

#[test]
fn a_missing_segment_is_corruption() {
    Sim::run(4, |sim| async move {
        let mut world = World::new(&sim).await;
        sim.set_faults(no_uploads());
        let stream = world.create("a").await;
        for number in 0..60 {
            world.append(stream, &[&body(number, 2000)]).await.unwrap();
        }
        world.node.kill().await;
        sim.set_faults(kelda_env::sim::FaultPlan::calm());
        let path = world.wal_files().remove(0);
        world.node.env().disk.remove(&path).await.unwrap();
        let Err(StartError::Corrupt { file, position: 0, detail }) = world.restart().await else {
            panic!("it has to refuse");
        };
        assert_eq!(file, path);
        assert!(detail.contains("missing"), "{detail}");
    });
}

/// A store that takes nothing.
fn no_uploads() -> kelda_env::sim::FaultPlan {
    let store = kelda_env::sim::StoreFaults { fail_before: 1.0, ..Default::default() };
    kelda_env::sim::FaultPlan { store, ..Default::default() }
}

#[test]
fn a_flipped_bit_in_a_full_segment_is_corruption_wherever_it_is() {
    Sim::run(5, |sim| async move {
        let mut world = World::new(&sim).await;
        sim.set_faults(no_uploads());
        let stream = world.create("a").await;
        for number in 0..60 {
            world.append(stream, &[&body(number, 2000)]).await.unwrap();
        }
        world.node.kill().await;
        sim.set_faults(kelda_env::sim::FaultPlan::calm());
        let path = world.wal_files().remove(0);
        let last = (0..60)
            .rev()
            .find(|number| {
                let bytes = world.node.peek(&path).unwrap();
                bytes.windows(8).any(|window| window == &body(*number, 8).as_bytes()[..8])
            })
            .unwrap();
        let bytes = world.node.peek(&path).unwrap();
        let at = bytes.windows(8).position(|window| window == body(last, 8).as_bytes()).unwrap() as u64;
        assert!(world.node.flip_bit(&path, at));
        assert!(matches!(world.restart().await, Err(StartError::Corrupt { .. })), "its last entry");
        assert!(world.node.flip_bit(&path, at));
        world.restart().await.unwrap();
        assert_eq!(world.read_all(stream).await.len(), 60);
    });
}

#[test]
fn bytes_of_an_unsynced_group_are_cut() {
    Sim::run(6, |sim| async move {
        let (mut world, stream, path) = stopped(&sim, false).await;
        let bytes = world.node.peek(&path).unwrap();
        let end = bytes.iter().rposition(|byte| *byte != 0).unwrap() as u64 + 1;
        // As if a group had been on its way when the power failed: part of an entry, and then nothing.
        let file = world.node.env().disk.open(&path, kelda_env::OpenMode::ReadWrite).await.unwrap();
        let torn = bytes.slice(80..180);
        file.write_at(&[torn], end.next_multiple_of(8)).await.unwrap();
        file.sync_data().await.unwrap();
        world.restart().await.unwrap();
        assert_eq!(world.read_all(stream).await.len(), 3);
        assert_eq!(world.append(stream, &["next"]).await.unwrap().first, Offset(3));
    });
}

#[test]
fn a_segment_of_another_cluster_or_session_is_refused() {
    Sim::run(7, |sim| async move {
        let (mut world, _, path) = stopped(&sim, false).await;
        let (other, _, other_path) = stopped(&sim, false).await;
        let foreign = other.node.peek(&other_path).unwrap();
        let mut foreign = foreign.to_vec();
        // The same place and lengths, but the header names another session: as if the file was copied here.
        foreign[..80].copy_from_slice(&header_of_session_9());
        let file = world.node.env().disk.open(&path, kelda_env::OpenMode::ReadWrite).await.unwrap();
        file.write_at(&[foreign.into()], 0).await.unwrap();
        let Err(StartError::Foreign { file, detail }) = world.restart().await else {
            panic!("it has to refuse");
        };
        assert_eq!(file, path);
        assert!(detail.contains("session 1.9"), "{detail}");
    });
}

fn header_of_session_9() -> [u8; 80] {
    use kelda_format::wal::{EntryContext, SegmentHeader};
    use kelda_format::{NodeId, SessionEpoch, SessionId};
    let session = SessionId { node: NodeId(1), epoch: SessionEpoch(9) };
    let context = EntryContext { cluster: crate::world::CLUSTER, session, salt: 5 };
    SegmentHeader { context, number: 0, first_group: 1 }.encode()
}

#[test]
fn a_write_ahead_log_that_the_metadata_does_not_know_is_refused() {
    Sim::run(8, |sim| async move {
        let (mut world, _, _) = stopped(&sim, false).await;
        // The metadata was replaced by that of a new cluster of the same name.
        world.log = kelda_metalog::MemoryLog::new();
        assert!(matches!(world.restart().await, Err(StartError::Foreign { .. })));
    });
}
