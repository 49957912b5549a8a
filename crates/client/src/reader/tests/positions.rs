//! Stored positions: when they are stored, and where a reader resumes.

use super::super::saver::Saver;
use super::*;
use crate::checkpoint::{AnyCheckpoint, Checkpoint, StoreError};

const MOMENT: Duration = Duration::from_millis(100);

/// Positions in memory, each with the number of the save.
#[derive(Clone, Default)]
struct Memory {
    saved: Arc<Mutex<Vec<u64>>>,
    fails: Arc<Mutex<bool>>,
}

impl Checkpoint for Memory {
    async fn load(&self, _: &str) -> Result<Option<Position>, StoreError> {
        Ok(self.saved.lock().last().map(|offset| Position { stream_id: ID, offset: *offset }))
    }

    async fn save(&self, name: &str, position: Position) -> Result<(), StoreError> {
        assert_eq!((name, position.stream_id), ("projection", ID));
        tokio::time::sleep(Duration::from_millis(20)).await;
        if *self.fails.lock() {
            return Err("the disk is full".into());
        }
        self.saved.lock().push(position.offset);
        Ok(())
    }
}

fn resuming(memory: &Memory, save_every: SaveEvery) -> Options {
    let checkpoint = Arc::new(memory.clone()) as Arc<dyn AnyCheckpoint>;
    Options { resume: Some((checkpoint, "projection".to_owned())), save_every, ..options(StartAt::First) }
}

#[tokio::test(start_paused = true)]
async fn each_entry_is_stored_before_the_next_is_handed_over() {
    let server = Server::holding(0, 4);
    let memory = Memory::default();
    let seen = memory.clone();
    let handler: Handler = Arc::new(move |record: StoredRecord, _| {
        let before = record.offset.0.checked_sub(1);
        assert_eq!(seen.saved.lock().last().copied(), before);
        Box::pin(std::future::ready(Ok(())))
    });
    let reader = read(&server, resuming(&memory, SaveEvery::entry()), handler).await;
    until("all", || memory.saved.lock().len() == 4).await;
    assert_eq!(*memory.saved.lock(), [0, 1, 2, 3]);
    assert!(matches!(reader.stop().await, ReaderEnd::Stopped));
    assert_eq!(*memory.saved.lock(), [0, 1, 2, 3], "what is stored is not stored again");
}

#[tokio::test(start_paused = true)]
async fn every_so_many_entries_and_when_it_stops() {
    let server = Server::holding(0, 25);
    let memory = Memory::default();
    let seen = Arc::new(Seen::default());
    let reader = read(&server, resuming(&memory, SaveEvery::entries(10)), seen.quick()).await;
    until("all", || reader.handled() == 25).await;
    reader.stop().await;
    assert_eq!(*memory.saved.lock(), [9, 19, 24]);
}

#[tokio::test(start_paused = true)]
async fn after_some_time_at_the_latest() {
    let server = Server::holding(0, 3);
    let memory = Memory::default();
    let seen = Arc::new(Seen::default());
    let every = SaveEvery::entries(1_000).or_time(Duration::from_secs(5));
    let reader = read(&server, resuming(&memory, every), seen.quick()).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(*memory.saved.lock(), [2], "once, because nothing came since");
    server.append(1);
    tokio::time::sleep(Duration::from_secs(6)).await;
    assert_eq!(*memory.saved.lock(), [2, 3]);
    reader.stop().await;
}

#[tokio::test(start_paused = true)]
async fn with_several_handlers_positions_never_go_back() {
    let server = Server::holding(0, 60);
    let memory = Memory::default();
    let seen = Arc::new(Seen::default());
    let options = Options { concurrency: 5, ..resuming(&memory, SaveEvery::entry()) };
    let reader = read(&server, options, seen.handler(|offset| Duration::from_millis(offset * 31 % 90))).await;
    until("all", || reader.handled() == 60).await;
    reader.stop().await;
    let saved = memory.saved.lock().clone();
    assert!(saved.is_sorted_by(|a, b| a < b), "{saved:?}");
    assert_eq!(saved.last(), Some(&59));
}

#[tokio::test(start_paused = true)]
async fn it_resumes_behind_what_is_stored() {
    let server = Server::holding(0, 9);
    let memory = Memory::default();
    let seen = Arc::new(Seen::default());
    let stored = Some(Position { stream_id: ID, offset: 6 });
    let reader = read_with(&server, resuming(&memory, SaveEvery::entry()), stored, None, seen.quick()).await;
    until("the rest", || reader.last_handled_offset() == Some(8)).await;
    assert_eq!(seen.offsets(), [7, 8]);
}

#[tokio::test(start_paused = true)]
async fn a_position_that_cannot_be_stored_stops_the_reader() {
    let server = Server::holding(0, 9);
    let memory = Memory::default();
    *memory.fails.lock() = true;
    let seen = Arc::new(Seen::default());
    let reader = read(&server, resuming(&memory, SaveEvery::entry()), seen.quick()).await;
    let end = reader.join().await;
    assert!(
        matches!(&end, ReaderEnd::Checkpoint { offset: 0, error } if error.to_string().contains("disk is full"))
    );
    assert_eq!(seen.offsets(), [0]);
}

#[tokio::test(start_paused = true)]
async fn one_store_is_under_way_at_a_time() {
    let memory = Memory::default();
    let checkpoint = Arc::new(memory.clone()) as Arc<dyn AnyCheckpoint>;
    let saver = Saver::new(checkpoint, "projection".to_owned(), SaveEvery::entry(), None);
    let at = Mutex::new(0);
    let position = || Some(Position { stream_id: ID, offset: *at.lock() });
    let (first, second) = futures::future::join(saver.finished(position), async {
        tokio::time::sleep(Duration::from_millis(10)).await;
        *at.lock() = 1;
        saver.finished(position).await
    })
    .await;
    assert!(first.is_ok() && second.is_ok());
    assert_eq!(*memory.saved.lock(), [0, 1], "the one at it stores what came meanwhile");
}

#[tokio::test(start_paused = true)]
async fn a_store_that_fails_once_ends_one_run_and_the_next_goes_on() {
    let server = Server::holding(0, 9);
    let memory = Memory::default();
    let seen = Arc::new(Seen::default());
    let reader = read(&server, resuming(&memory, SaveEvery::entries(4)), seen.handler(|_| MOMENT)).await;
    until("the first is stored", || memory.saved.lock().len() == 1).await;
    *memory.fails.lock() = true;
    let end = reader.join().await;
    assert!(matches!(&end, ReaderEnd::Checkpoint { offset: 7, .. }), "{end:?}");
    assert_eq!(*memory.saved.lock(), [3], "what failed is not stored, and not taken for stored");
    *memory.fails.lock() = false;
    let stored = Checkpoint::load(&memory, "projection").await.unwrap();
    let options = resuming(&memory, SaveEvery::entries(4));
    let reader = read_with(&server, options, stored, None, seen.quick()).await;
    until("the rest", || reader.last_handled_offset() == Some(8)).await;
    assert!(matches!(reader.stop().await, ReaderEnd::Stopped));
    assert_eq!(*memory.saved.lock(), [3, 7, 8]);
    // What was handled after the last store is there again, and nothing before it.
    assert_eq!(seen.offsets(), (0..8).chain(4..9).collect::<Vec<_>>());
}
