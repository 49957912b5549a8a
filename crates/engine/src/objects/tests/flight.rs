//! How many requests go to the store: one per page however many readers wait, few for much data, bounded caches.

use std::time::Duration;

use futures::FutureExt;
use kelda_env::sim::{FaultPlan, Sim};
use kelda_format::{Codec, Offset};

use super::world::{World, limit, records, roomy};
use crate::objects::ObjectReaderConfig;

#[test]
fn many_readers_of_one_page_cost_one_request() {
    Sim::run(1, |sim| async move {
        let mut world = World::new(&sim, 1);
        world.segment(&[(0, &[100; 10], 100), (0, &[70_000; 2], 101)]).await;
        sim.set_faults(FaultPlan::slow());
        let reader = world.reader(roomy());
        let ten = limit(u64::MAX, 1);
        let reads = (0..64).map(|at| reader.read(&world.state, world.stream(0), Offset(at % 10), &ten));
        for read in futures::future::join_all(reads).await {
            assert!(!read.unwrap().is_empty());
        }
        assert_eq!(world.gets(), 2, "one for the index, one for the page");
    });
}

#[test]
fn an_object_that_fits_the_first_request_takes_no_other() {
    Sim::run(7, |sim| async move {
        let mut world = World::new(&sim, 2);
        for time in 100..103 {
            world.packed(&[(0, &[3000; 3], time), (1, &[2000], time)], Codec::Zstd).await;
        }
        let reader = world.reader(roomy());
        let all = limit(u64::MAX, u64::MAX);
        let blocks = reader.read(&world.state, world.stream(0), Offset::ZERO, &all).await.unwrap();
        assert_eq!((records(&blocks), world.gets()), (world.records(0), 3));
        let blocks = reader.read(&world.state, world.stream(1), Offset::ZERO, &all).await.unwrap();
        assert_eq!((records(&blocks), world.gets()), (world.records(1), 6), "pages of another stream");
    });
}

#[test]
fn a_cold_read_and_a_cold_lookup_take_two_requests_however_large_the_index() {
    Sim::run(8, |sim| async move {
        let mut world = World::new(&sim, 100);
        // Every entry is an extent of its own, for the others lie between it and the next.
        let many: Vec<(usize, &[usize], u64)> = (0..9000).map(|at| (at % 100, &[300][..], 100)).collect();
        let segment = world.segment(&many).await;
        let mut packed: Vec<_> = (0..100).flat_map(|stream| [(stream, &[40_000; 2][..], 200); 20]).collect();
        packed.extend([(99, &[1][..], 201); 3]);
        let packed = world.packed(&packed, Codec::None).await;
        let index_len = |key: &str| {
            let bytes = world.store.peek(key).unwrap();
            kelda_format::object::Footer::decode(&bytes, bytes.len() as u64).unwrap().index_len
        };
        assert!(index_len(&segment) > 64 << 10, "{}", index_len(&segment));
        for (key, offset, time) in [(&segment, 50, 100), (&packed, 100, 200)] {
            let reader = world.reader(roomy());
            let before = world.gets();
            let one = limit(1, 1);
            reader.read(&world.state, world.stream(7), Offset(offset), &one).await.unwrap();
            assert_eq!(world.gets() - before, 2, "{key}");
            let reader = world.reader(roomy());
            let before = world.gets();
            let time = kelda_format::Timestamp(time);
            reader.find_time(&world.state, world.stream(7), time).await.unwrap().unwrap();
            assert!(world.gets() - before <= 2, "{key}");
        }
    });
}

#[test]
fn a_reader_that_goes_away_leaves_its_load_to_those_who_wait() {
    for after_ms in 0..60 {
        Sim::run(after_ms, |sim| async move {
            let mut world = World::new(&sim, 1);
            world.segment(&[(0, &[100; 10], 100)]).await;
            sim.set_faults(FaultPlan::slow());
            let reader = world.reader(roomy());
            let all = limit(u64::MAX, u64::MAX);
            let mut gone = Box::pin(reader.read(&world.state, world.stream(0), Offset::ZERO, &all));
            // Polled once, so that its load is under way.
            let _ = gone.as_mut().now_or_never();
            let mut stays = Box::pin(reader.read(&world.state, world.stream(0), Offset(3), &all));
            let early = stays.as_mut().now_or_never();
            sim.sleep(Duration::from_millis(after_ms)).await;
            drop(gone);
            let found = match early {
                Some(found) => found,
                None => stays.await,
            };
            assert_eq!(records(&found.unwrap()).len(), 7);
        });
    }
}

#[test]
fn catching_up_moves_large_ranges() {
    Sim::run(2, |sim| async move {
        let mut world = World::new(&sim, 1);
        let entries: Vec<(usize, &[usize], u64)> = (0..300).map(|at| (0, &[10_000][..], 100 + at)).collect();
        world.segment(&entries).await;
        let reader = world.reader(roomy());
        let blocks =
            reader.read(&world.state, world.stream(0), Offset::ZERO, &limit(u64::MAX, u64::MAX)).await;
        assert_eq!(records(&blocks.unwrap()), world.records(0));
        assert_eq!(world.gets(), 2, "3 MB in one request, after one for the index");
    });
}

#[test]
fn caches_stay_within_their_bounds_and_reads_stay_right() {
    Sim::run(4, |sim| async move {
        let mut world = World::new(&sim, 2);
        for object in 0..60 {
            world.packed(&[(0, &[3000; 3], 100 + object), (1, &[2000], 100 + object)], Codec::None).await;
        }
        let config =
            ObjectReaderConfig { index_cache_bytes: 2000, page_cache_bytes: 64 << 10, in_flight_bytes: 4096 };
        let reader = world.reader(config);
        for round in 0..3 {
            for number in 0..2 {
                let all = world.records(number);
                for from in (round..all.len()).step_by(3) {
                    let one = limit(1, 1);
                    let read = reader.read(&world.state, world.stream(number), Offset(from as u64), &one);
                    assert_eq!(records(&read.await.unwrap()), all[from..=from]);
                    assert!(reader.indexes.weight() <= 2000, "{} bytes of indexes", reader.indexes.weight());
                    assert!(reader.pages.weight() <= 64 << 10, "{} bytes of pages", reader.pages.weight());
                }
            }
        }
        assert!(reader.indexes.weight() > 0 && reader.pages.weight() > 0);
    });
}

#[test]
fn reading_uncached_uses_what_is_cached_and_adds_nothing() {
    Sim::run(6, |sim| async move {
        let mut world = World::new(&sim, 1);
        let entries: Vec<(usize, &[usize], u64)> = (0..90).map(|at| (0, &[10_000][..], 100 + at)).collect();
        world.segment(&entries).await;
        let (reader, stream) = (world.reader(roomy()), world.stream(0));
        reader.read(&world.state, stream, Offset(40), &limit(1, 1)).await.unwrap();
        let (weight, before) = (reader.pages.weight(), world.gets());
        assert!(weight > 0, "one page is there");
        let all = limit(u64::MAX, u64::MAX);
        let blocks = reader.read_uncached(&world.state, stream, Offset::ZERO, &all).await.unwrap();
        assert_eq!(records(&blocks), world.records(0));
        assert_eq!(world.gets() - before, 2, "what lies before the page that is there, and behind it");
        assert_eq!(reader.pages.weight(), weight);
    });
}
