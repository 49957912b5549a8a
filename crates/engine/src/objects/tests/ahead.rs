//! Reading ahead: what is fetched before it is asked for, and what is not.

use std::time::Duration;

use kelda_env::sim::Sim;
use kelda_format::{Codec, Offset};

use super::world::{World, limit, records, roomy};
use crate::objects::{ObjectReader, ObjectReaderConfig};

const STEP: u64 = 1 << 20;

/// Reads once and fetches ahead as the engine does, except that it waits for that. Where the next read begins, and how
/// much was fetched ahead.
async fn read(reader: &ObjectReader, world: &World, from: Offset, bytes: u64) -> (Offset, usize) {
    let stream = world.stream(0);
    let blocks = reader.read(&world.state, stream, from, &limit(bytes, u64::MAX)).await.unwrap();
    let all = world.records(0);
    let found = records(&blocks);
    assert_eq!(found, all[from.0 as usize..from.0 as usize + found.len()]);
    let next = blocks.last().unwrap().end();
    let ahead = reader.ahead(&world.state, stream, next);
    let count = ahead.len();
    futures::future::join_all(ahead.into_iter().map(|ahead| reader.load_ahead(ahead))).await;
    (next, count)
}

/// Objects of 3 MB each, of records of 10,000 bytes.
async fn objects(world: &mut World, count: u64) {
    for object in 0..count {
        let entries: Vec<(usize, &[usize], u64)> =
            (0..300).map(|at| (0, &[10_000][..], 1000 * object + at)).collect();
        world.segment(&entries).await;
    }
}

#[test]
fn who_jumps_about_causes_none() {
    Sim::run(1, |sim| async move {
        let mut world = World::new(&sim, 1);
        objects(&mut world, 3).await;
        let reader = world.reader(roomy());
        for from in [700, 400, 0, 850, 300, 550, 100] {
            let (_, ahead) = read(&reader, &world, Offset(from), STEP / 4).await;
            assert_eq!(ahead, 0, "offset {from} is a jump");
        }
    });
}

#[test]
fn a_sequence_is_read_ahead_of_across_objects() {
    Sim::run(2, |sim| async move {
        let mut world = World::new(&sim, 1);
        objects(&mut world, 5).await;
        let reader = world.reader(roomy());
        let (next, ahead) = read(&reader, &world, Offset(0), STEP).await;
        assert_eq!(ahead, 0, "it may be a jump");
        let (mut next, ahead) = read(&reader, &world, next, STEP).await;
        assert!(ahead > 0, "two in sequence");
        while next < world.end(0) {
            let before = world.gets();
            let stream = world.stream(0);
            let part = limit(STEP, u64::MAX);
            let blocks = reader.read(&world.state, stream, next, &part).await.unwrap();
            assert_eq!(world.gets(), before, "offset {next} is there before its reader, index and pages");
            next = blocks.last().unwrap().end();
            for ahead in reader.ahead(&world.state, stream, next) {
                reader.load_ahead(ahead).await;
            }
        }
        // Five indexes; the requests for pages grow to half of the window, which is 4 MiB without waiting.
        assert!(world.gets() <= 5 + 14, "{} requests", world.gets());
        assert_eq!(world.counting.twice(), 0, "no byte of a page was fetched twice");
    });
}

#[test]
fn small_steps_are_a_sequence_too() {
    Sim::run(3, |sim| async move {
        let mut world = World::new(&sim, 1);
        objects(&mut world, 3).await;
        let reader = world.reader(roomy());
        let mut next = Offset::ZERO;
        while next < world.end(0) {
            next = read(&reader, &world, next, 10_000).await.0;
        }
        assert!(world.gets() <= 24, "{} requests for 9 MB in 150 pages", world.gets());
        assert_eq!(world.counting.twice(), 0);
    });
}

#[test]
fn many_small_objects_are_fetched_together() {
    Sim::run(4, |sim| async move {
        let mut world = World::new(&sim, 1);
        for object in 0..200 {
            world.packed(&[(0, &[1000; 10], object)], Codec::None).await;
        }
        let wait = Duration::from_millis(10);
        *world.counting.delay.lock() = wait;
        let reader = world.reader(roomy());
        let begun = sim.elapsed();
        let blocks = reader.read(&world.state, world.stream(0), Offset(0), &limit(STEP, u64::MAX)).await;
        assert_eq!(records(&blocks.unwrap())[..], world.records(0)[..1045]);
        assert_eq!(world.gets(), 105, "one each");
        assert!(sim.elapsed() - begun <= 15 * wait, "eight at a time");
    });
}

#[test]
fn readers_at_different_places_share_the_cache() {
    Sim::run(5, |sim| async move {
        let mut world = World::new(&sim, 1);
        objects(&mut world, 16).await;
        let config = ObjectReaderConfig {
            index_cache_bytes: 1 << 20,
            page_cache_bytes: 16 << 20,
            in_flight_bytes: 8 << 20,
        };
        let reader = world.reader(config);
        let end = world.end(0).0;
        let mut places: Vec<(Offset, u64)> =
            (0..8).map(|part| (Offset(part * end / 8), (part + 1) * end / 8)).collect();
        let mut round = 0;
        while places.iter().any(|(next, end)| next.0 < *end) {
            round += 1;
            for (number, (next, end)) in places.iter_mut().enumerate() {
                // The last one is slow.
                if next.0 < *end && (number < 7 || round % 4 == 0) {
                    *next = read(&reader, &world, *next, STEP / 4).await.0;
                    assert!(reader.pages.weight() <= 16 << 20);
                }
            }
        }
        // Each reads ahead into where the next one began, up to its share of what may be there unread.
        let (twice, windows) = (world.counting.twice(), 6 << 20);
        assert!(
            twice <= windows,
            "{twice} bytes were fetched again: pages that nobody had read were pushed out"
        );
    });
}

#[test]
fn places_are_forgotten() {
    Sim::run(6, |sim| async move {
        let mut world = World::new(&sim, 1);
        world.segment(&[(0, &[10; 3000], 100)]).await;
        let reader = world.reader(roomy());
        for from in 0..3000 {
            reader.read(&world.state, world.stream(0), Offset(from), &limit(1, 1)).await.unwrap();
            reader.read(&world.state, world.stream(0), Offset(2999 - from), &limit(1, 1)).await.unwrap();
            assert!(reader.sequences.len() <= 1024);
        }
    });
}
