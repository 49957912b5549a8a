//! Objects that are not what they should be.

use kelda_env::Store;
use kelda_env::sim::{FaultPlan, Sim, StoreFaults};
use kelda_format::{Codec, Offset};

use super::world::{World, limit, records, roomy};
use crate::objects::ObjectError;

#[test]
fn any_flipped_bit_is_reported_or_harmless_and_never_skipped() {
    Sim::run(1, |sim| async move {
        let mut world = World::new(&sim, 1);
        let segment = world.segment(&[(0, &[40, 10], 100), (0, &[70_000], 101), (0, &[5], 102)]).await;
        let packed = world.packed(&[(0, &[300; 3], 110), (0, &[9], 111)], Codec::Lz4).await;
        let all = world.records(0);
        for key in [segment, packed] {
            let len = world.store.peek(&key).unwrap().len() as u64;
            let step = (len / 300).max(1) as usize;
            for at in (0..len).step_by(step).chain(len - 200..len) {
                assert!(world.store.flip_bit(&key, at));
                let reader = world.reader(roomy());
                let mut next = 0;
                while next < all.len() {
                    let one = limit(1, 1);
                    match reader.read(&world.state, world.stream(0), Offset(next as u64), &one).await {
                        Ok(blocks) => assert_eq!(records(&blocks), all[next..=next], "byte {at} of {key}"),
                        Err(ObjectError::Damaged { key: found, position, .. }) => {
                            assert_eq!(found, key);
                            assert!(position <= len, "position {position} of {len}");
                        }
                        Err(error) => panic!("byte {at} of {key}: {error}"),
                    }
                    next += 1;
                }
                assert!(world.store.flip_bit(&key, at));
            }
        }
    });
}

#[test]
fn damage_to_one_extent_leaves_the_others_readable() {
    Sim::run(2, |sim| async move {
        let mut world = World::new(&sim, 1);
        let key = world.segment(&[(0, &[70_000], 100), (0, &[70_000], 101), (0, &[70_000], 102)]).await;
        assert!(world.store.flip_bit(&key, 100_000));
        let reader = world.reader(roomy());
        let read = |from| {
            let (reader, world) = (&reader, &world);
            async move { reader.read(&world.state, world.stream(0), Offset(from), &limit(1, 1)).await }
        };
        assert!(read(0).await.is_ok());
        let Err(ObjectError::Damaged { key: found, position, .. }) = read(1).await else { panic!() };
        assert_eq!(found, key);
        assert!((70_000..140_500).contains(&position), "{position}");
        assert!(read(2).await.is_ok());
    });
}

#[test]
fn a_lost_object_is_missing_and_a_short_one_damaged() {
    Sim::run(3, |sim| async move {
        let mut world = World::new(&sim, 1);
        let key = world.segment(&[(0, &[500], 100)]).await;
        let whole = world.store.peek(&key).unwrap();
        assert!(world.store.lose(&key));
        let reader = world.reader(roomy());
        let one = limit(1, 1);
        let missing = reader.read(&world.state, world.stream(0), Offset::ZERO, &one).await;
        assert_eq!(missing, Err(ObjectError::Missing { key: key.clone() }));
        world.store.put(&key, whole.slice(..whole.len() - 8)).await.unwrap();
        let short = reader.read(&world.state, world.stream(0), Offset::ZERO, &one).await;
        assert!(matches!(short, Err(ObjectError::Damaged { .. })), "{short:?}");
        world.store.put(&key, whole).await.unwrap();
        assert!(
            reader.read(&world.state, world.stream(0), Offset::ZERO, &one).await.is_ok(),
            "not remembered"
        );
    });
}

#[test]
fn an_object_of_another_cluster_is_refused() {
    Sim::run(4, |sim| async move {
        let mut world = World::new(&sim, 1);
        let key = world.packed(&[(0, &[5], 100)], Codec::None).await;
        let mut bytes = world.store.peek(&key).unwrap().to_vec();
        let mut foreign =
            kelda_format::object::PackedWriter::new(kelda_format::ClusterId([9; 16]), Codec::None);
        foreign.push(&world.written[0].1[0]);
        let (other, _) = foreign.finish();
        assert_eq!(other.len(), bytes.len());
        bytes.copy_from_slice(&other);
        world.store.put(&key, bytes.into()).await.unwrap();
        let reader = world.reader(roomy());
        let found = reader.read(&world.state, world.stream(0), Offset::ZERO, &limit(1, 1)).await;
        let Err(ObjectError::Damaged { detail, .. }) = found else { panic!("{found:?}") };
        assert!(detail.contains("cluster"), "{detail}");
    });
}

#[test]
fn a_failing_store_is_not_damage() {
    Sim::run(5, |sim| async move {
        let mut world = World::new(&sim, 1);
        world.segment(&[(0, &[500], 100)]).await;
        let store = StoreFaults { fail_before: 1.0, ..StoreFaults::default() };
        sim.set_faults(FaultPlan { store, ..FaultPlan::default() });
        let reader = world.reader(roomy());
        let one = limit(1, 1);
        let failed = reader.read(&world.state, world.stream(0), Offset::ZERO, &one).await;
        assert!(matches!(failed, Err(ObjectError::Unavailable(_))), "{failed:?}");
        sim.set_faults(FaultPlan::calm());
        assert!(reader.read(&world.state, world.stream(0), Offset::ZERO, &one).await.is_ok());
    });
}
