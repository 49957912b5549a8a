//! Timestamp lookup at every boundary, against the list of records.

use kelda_env::sim::Sim;
use kelda_format::{Codec, Offset, Timestamp};

use super::world::{World, roomy};

#[test]
fn every_time_finds_the_first_record_at_or_after_it() {
    Sim::run(1, |sim| async move {
        let mut world = World::new(&sim, 2);
        // Equal times within a block, across blocks, across extents, across objects.
        world.segment(&[(0, &[1, 1], 100), (0, &[1], 100), (1, &[9000], 100), (0, &[1], 105)]).await;
        world.packed(&[(0, &[1, 1], 105), (0, &[70_000], 105), (0, &[70_000], 107)], Codec::None).await;
        world.packed(&[(0, &[1], 107), (0, &[1, 1, 1], 109)], Codec::Zstd).await;
        world.segment(&[(0, &[1], 109), (1, &[1], 120), (0, &[1], 130)]).await;
        let reader = world.reader(roomy());
        for number in 0..2 {
            let all = world.records(number);
            for time in 98..133 {
                let expected = all.iter().position(|(at, _)| at.0 >= time);
                let found = reader.find_time(&world.state, world.stream(number), Timestamp(time)).await;
                assert_eq!(found, Ok(expected.map(|at| Offset(at as u64))), "stream {number}, time {time}");
            }
        }
    });
}

#[test]
fn a_lookup_reads_at_most_one_index_and_one_page() {
    Sim::run(2, |sim| async move {
        let mut world = World::new(&sim, 1);
        for object in 0..20 {
            let time = 1000 + object * 100;
            let entries: Vec<(usize, &[usize], u64)> =
                (0..50).map(|at| (0, &[30_000][..], time + at)).collect();
            world.segment(&entries).await;
        }
        let reader = world.reader(roomy());
        let before = world.gets();
        let found = reader.find_time(&world.state, world.stream(0), Timestamp(1725)).await.unwrap();
        assert_eq!(found, Some(Offset(375)));
        assert!(world.gets() - before <= 2, "{} requests", world.gets() - before);
    });
}
