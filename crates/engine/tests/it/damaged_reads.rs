//! Damage that a read finds is in the node's log, once an object.

use std::io;
use std::sync::Arc;

use kelda_engine::{ReadError, ReadLimit};
use kelda_env::sim::Sim;
use kelda_format::{Offset, StreamId, Timestamp};
use parking_lot::Mutex;
use tracing_subscriber::fmt::MakeWriter;

use crate::world::{World, body};

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Lines {
    type Writer = Lines;

    fn make_writer(&self) -> Lines {
        self.clone()
    }
}

impl Lines {
    /// The errors, without those of other parts.
    fn errors(&self) -> Vec<String> {
        let text = String::from_utf8(self.0.lock().clone()).unwrap();
        text.lines().filter(|line| line.contains("ERROR")).map(str::to_owned).collect()
    }
}

async fn damaged(world: &World, stream: StreamId, from: u64) -> String {
    let limit = ReadLimit { max_bytes: 1 << 20, max_records: 1000, until: None };
    match world.engine.read(stream, Offset(from), limit).await {
        Err(ReadError::Damaged { object, .. }) => object,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_damaged_and_a_missing_object_are_logged_once_with_stream_and_offset() {
    let lines = Lines::default();
    let subscriber = tracing_subscriber::fmt().with_writer(lines.clone()).with_ansi(false).finish();
    let _default = tracing::subscriber::set_default(subscriber);
    Sim::run(1, |sim| async move {
        let mut world = World::new(&sim).await;
        let stream = world.create("a").await;
        for number in 0..2 {
            for record in 0..3 {
                world.append(stream, &[&body(3 * number + record, 100)]).await.unwrap();
            }
            world.engine.flush().await;
        }
        // A restart forgets what the log cache holds.
        world.kill().await;
        let keys = world.store.keys();
        let data: Vec<&String> = keys.iter().filter(|key| key.contains("/data/")).collect();
        assert_eq!(data.len(), 2);
        let first = world.view().object_at(stream, Offset(0)).unwrap().object;
        let (damaged_key, lost_key): (Vec<&String>, Vec<&String>) =
            data.iter().partition(|key| key.ends_with(&format!("{:020}", first.0)));
        assert!(world.store.flip_bit(damaged_key[0], 250));
        assert!(world.store.lose(lost_key[0]));

        for _ in 0..5 {
            assert_eq!(&damaged(&world, stream, 0).await, damaged_key[0]);
        }
        let errors = lines.errors();
        assert_eq!(errors.len(), 1, "{errors:#?}");
        for part in [damaged_key[0].as_str(), "stream=1", "offset=0", "offsets 0 to 2"] {
            assert!(errors[0].contains(part), "{part} in {}", errors[0]);
        }
        for _ in 0..5 {
            assert_eq!(&damaged(&world, stream, 4).await, lost_key[0]);
        }
        let _ = world.engine.find_time(stream, Timestamp(u64::MAX)).await;
        let errors = lines.errors();
        assert_eq!(errors.len(), 2, "{errors:#?}");
        for part in [lost_key[0].as_str(), "stream=1", "offset=4", "missing"] {
            assert!(errors[1].contains(part), "{part} in {}", errors[1]);
        }
    });
}
