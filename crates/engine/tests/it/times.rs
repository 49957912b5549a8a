//! Timestamp lookup across objects and log cache, at every boundary.

use std::time::Duration;

use kelda_engine::{EngineConfig, ReadError, ReadLimit};
use kelda_env::sim::Sim;
use kelda_format::{Block, Offset, StreamId, Timestamp};

use crate::world::{World, body, small};

/// The timestamps of all records from the start on.
async fn times(world: &World, stream: StreamId) -> (Offset, Vec<Timestamp>) {
    let start = world.engine.status(stream).unwrap().start;
    let (mut next, mut found) = (start, Vec::new());
    loop {
        let limit = ReadLimit { max_bytes: 1 << 20, max_records: 1000, until: None };
        let chunk = world.engine.read(stream, next, limit).await.unwrap();
        found.extend(chunk.blocks.iter().flat_map(Block::records).map(|stored| stored.timestamp));
        next = chunk.next;
        if next == chunk.tail {
            return (start, found);
        }
    }
}

/// Looks up every time from before the first record to after the last.
async fn check(world: &World, stream: StreamId) {
    let (start, times) = times(world, stream).await;
    let (first, last) = (times[0].0, times[times.len() - 1].0);
    for time in first - 2..=last + 2 {
        let expected = times.iter().position(|at| at.0 >= time).unwrap_or(times.len());
        let found = world.engine.find_time(stream, Timestamp(time)).await.unwrap();
        assert_eq!(found, start.plus(expected as u64), "time {time} of {times:?}");
    }
    assert_eq!(world.engine.find_time(stream, Timestamp(0)).await.unwrap(), start);
}

#[test]
fn every_time_is_found_wherever_the_records_are() {
    for cache_tail_bytes in [0, 1 << 20] {
        Sim::run(1, |sim| async move {
            let world = World::with(&sim, EngineConfig { cache_tail_bytes, ..small() }).await;
            let stream = world.create("a").await;
            // Several records with one time, on both sides of what is committed.
            for round in 0..4 {
                for number in 0..12 {
                    let text = body(number, 900);
                    world.append(stream, &[&text, &text]).await.unwrap();
                    if number % 3 == round % 3 {
                        sim.sleep(Duration::from_millis(number as u64 % 4)).await;
                    }
                }
                check(&world, stream).await;
                if round < 3 {
                    world.engine.flush().await;
                    check(&world, stream).await;
                }
            }
            world.engine.trim(stream, Offset(31)).await.unwrap();
            check(&world, stream).await;
            world.engine.close_stream(stream, None).await.unwrap();
            check(&world, stream).await;
            assert!(world.engine.opened(stream).is_none(), "a lookup opens nothing");
        });
    }
}

#[test]
fn a_stream_without_records_answers_its_tail() {
    Sim::run(2, |sim| async move {
        let world = World::new(&sim).await;
        let stream = world.create("a").await;
        assert_eq!(world.engine.find_time(stream, Timestamp(5)).await.unwrap(), Offset(0));
        world.append(stream, &["x", "y"]).await.unwrap();
        world.engine.trim(stream, Offset(2)).await.unwrap();
        for time in [0, u64::MAX] {
            assert_eq!(world.engine.find_time(stream, Timestamp(time)).await.unwrap(), Offset(2));
        }
        world.engine.delete(stream).await.unwrap();
        assert_eq!(world.engine.find_time(stream, Timestamp(5)).await.unwrap_err(), ReadError::Gone);
    });
}
