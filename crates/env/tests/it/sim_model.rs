//! The bytes of a simulated file against a plain vector, under random writes, cuts, syncs and losses of power.

use bytes::Bytes;
use kelda_env::OpenMode;
use kelda_env::sim::Sim;
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Step {
    Write { offset: u16, len: u16, letter: u8 },
    SetLen(u16),
    Sync,
    Crash,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0..20_000_u16, 0..9000_u16, 1..=255_u8)
            .prop_map(|(offset, len, letter)| Step::Write { offset, len, letter }),
        2 => (0..25_000_u16).prop_map(Step::SetLen),
        2 => Just(Step::Sync),
        1 => Just(Step::Crash),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn a_file_is_a_vector_until_power_is_lost_and_its_synced_image_afterwards(
        seed in any::<u64>(),
        steps in prop::collection::vec(step(), 1..40),
    ) {
        Sim::run(seed, |sim| async move {
            let node = sim.node("node");
            let mut file = node.env().disk.create("a").await.unwrap();
            node.env().disk.sync_dir("").await.unwrap();
            let (mut model, mut synced, mut clean) = (Vec::new(), Vec::new(), true);
            for step in steps {
                match step {
                    Step::Write { offset, len, letter } => {
                        let (offset, len) = (usize::from(offset), usize::from(len));
                        file.write_at(&[Bytes::from(vec![letter; len])], offset as u64).await.unwrap();
                        if len > 0 {
                            model.resize(model.len().max(offset + len), 0);
                            model[offset..offset + len].fill(letter);
                        }
                        clean = clean && len == 0;
                    }
                    Step::SetLen(len) => {
                        file.set_len(u64::from(len)).await.unwrap();
                        model.resize(usize::from(len), 0);
                        clean = false;
                    }
                    Step::Sync => {
                        file.sync_data().await.unwrap();
                        synced.clone_from(&model);
                        clean = true;
                    }
                    Step::Crash => {
                        node.crash().await;
                        file = node.env().disk.open("a", OpenMode::ReadWrite).await.unwrap();
                        let left = file.read_at(0, 100_000).await.unwrap();
                        if clean {
                            assert_eq!(left, synced);
                        }
                        synced = left.to_vec();
                        model = left.to_vec();
                        clean = true;
                    }
                }
                assert_eq!(file.read_at(0, 100_000).await.unwrap(), model);
            }
        });
    }
}
