//! What comes back, from every offset and under every limit.

use kelda_env::sim::Sim;
use kelda_format::{Codec, Offset};

use super::world::{World, limit, records, roomy};
use crate::types::ReadLimit;

/// Two streams over four objects of both kinds, some with gaps between a stream's entries.
async fn two_streams(sim: &Sim) -> World {
    let mut world = World::new(sim, 2);
    world.segment(&[(0, &[10, 20], 100), (1, &[9000], 101), (0, &[5], 102), (1, &[1, 1], 103)]).await;
    world.packed(&[(0, &[100; 7], 110), (0, &[70_000], 111), (1, &[30, 0, 30], 112)], Codec::None).await;
    world.packed(&[(0, &[4000; 20], 120), (0, &[1], 121)], Codec::Lz4).await;
    world.segment(&[(1, &[200_000], 130), (0, &[3], 131), (1, &[200_000], 132), (0, &[4], 133)]).await;
    world
}

#[test]
fn every_offset_and_limit_gives_what_was_written() {
    Sim::run(1, |sim| async move {
        let world = two_streams(&sim).await;
        let reader = world.reader(roomy());
        for number in 0..2 {
            let all = world.records(number);
            for from in 0..all.len() {
                for (max_bytes, max_records) in
                    [(u64::MAX, u64::MAX), (0, u64::MAX), (50, 100), (8100, 3), (100_000, 100)]
                {
                    let limit = limit(max_bytes, max_records);
                    let stream = world.stream(number);
                    let blocks =
                        reader.read(&world.state, stream, Offset(from as u64), &limit).await.unwrap();
                    let found = records(&blocks);
                    assert!(!found.is_empty(), "at least one record from {from}");
                    assert_eq!(blocks[0].base(), Offset(from as u64));
                    assert_eq!(found, all[from..from + found.len()], "stream {number} from {from}");
                    assert!(found.len() as u64 <= max_records);
                    let bytes: usize = found.iter().map(|(_, body)| body.len()).sum();
                    assert!(found.len() == 1 || bytes as u64 <= max_bytes, "{bytes} bytes from {from}");
                    if max_bytes == u64::MAX {
                        assert_eq!(found.len(), all.len() - from, "no limit, no end before the end");
                    }
                }
            }
        }
    });
}

#[test]
fn until_ends_a_read_anywhere() {
    Sim::run(2, |sim| async move {
        let world = two_streams(&sim).await;
        let reader = world.reader(roomy());
        let all = world.records(0);
        for from in 0..all.len() {
            for until in 0..=all.len() + 1 {
                let limit = ReadLimit { until: Some(Offset(until as u64)), ..limit(u64::MAX, u64::MAX) };
                let blocks =
                    reader.read(&world.state, world.stream(0), Offset(from as u64), &limit).await.unwrap();
                let until = until.clamp(from, all.len());
                assert_eq!(records(&blocks), all[from..until], "{from} to {until}");
            }
        }
    });
}

#[test]
fn nothing_is_read_past_what_the_view_has() {
    Sim::run(3, |sim| async move {
        let mut world = World::new(&sim, 1);
        world.segment(&[(0, &[1, 2, 3], 100)]).await;
        let before = world.state.clone();
        world.segment(&[(0, &[4], 101)]).await;
        let reader = world.reader(roomy());
        let all = limit(u64::MAX, u64::MAX);
        let blocks = reader.read(&before, world.stream(0), Offset(1), &all).await.unwrap();
        assert_eq!(records(&blocks).len(), 2);
        assert!(reader.read(&before, world.stream(0), Offset(3), &all).await.unwrap().is_empty());
        let blocks = reader.read(&world.state, world.stream(0), Offset(1), &all).await.unwrap();
        assert_eq!(records(&blocks).len(), 3);
    });
}
