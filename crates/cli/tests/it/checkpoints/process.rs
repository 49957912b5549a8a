//! The process that dies: owns this test binary's second run, which does what its variables say. Guarantees that a process
//! ends with the test that started it.

use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};

use kelda_client::{Checkpoint, FileCheckpoint, Kelda, Message, Position, ReaderEnd, StoreError, Text};

use super::{World, postgres_checkpoint, postgres_revenue, projection, sqlite_checkpoint, sqlite_revenue};

const WHAT: &str = "KELDA_TEST_PROCESS";
const ENDPOINT: &str = "KELDA_TEST_PROCESS_ENDPOINT";
/// A directory, or how to connect to a database.
const STORE: &str = "KELDA_TEST_PROCESS_STORE";
const LOG: &str = "KELDA_TEST_PROCESS_LOG";
/// Where to die, as `POINT:OFFSET`.
const DEATH: &str = "KELDA_TEST_PROCESS_DEATH";

pub struct Process(Child);

impl Process {
    /// Starts what is called `what`.
    pub fn start(world: &World, what: &str, store: &str, death: &str) -> Process {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["checkpoints::process::the_second_run", "--exact"]);
        command.env(WHAT, what).env(ENDPOINT, world.node.endpoint()).env(STORE, store).env(DEATH, death);
        command.env(LOG, world.directory.path().join("log"));
        Process(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }

    /// kill -9.
    pub fn kill(mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }

    /// Its end, which it comes to by itself.
    pub fn wait(mut self) -> ExitStatus {
        self.0.wait().unwrap()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Nothing, unless a test started it as a process.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_second_run() {
    let Ok(what) = std::env::var(WHAT) else { return };
    let kelda = Kelda::connect(&std::env::var(ENDPOINT).unwrap()).await.unwrap();
    let store = std::env::var(STORE).unwrap();
    let path = Path::new(&store);
    match what.as_str() {
        "file" => log(&kelda, FileCheckpoint::new(path)).await,
        "sqlite" => log(&kelda, sqlite_checkpoint::SqliteCheckpoint::open(path).unwrap()).await,
        "postgres" => log(&kelda, postgres_checkpoint::PostgresCheckpoint::open(&store).await.unwrap()).await,
        "projection" => {
            let end = projection::start(&kelda, path).await.unwrap().join().await;
            assert!(matches!(end, ReaderEnd::Sealed), "{end}");
        }
        "sqlite revenue" => sqlite_revenue::run(&kelda, path).await.unwrap(),
        "postgres revenue" => postgres_revenue::run(&kelda, &store).await.unwrap(),
        other => panic!("{other:?} is nothing to do"),
    }
}

/// Dies when it is at this point of this entry.
fn at(point: &str, offset: u64) {
    if std::env::var(DEATH).unwrap() == format!("{point}:{offset}") {
        std::process::abort();
    }
}

/// A store that dies before or after it stored.
struct Dying<C>(C);

impl<C: Checkpoint> Checkpoint for Dying<C> {
    async fn load(&self, name: &str) -> Result<Option<Position>, StoreError> {
        self.0.load(name).await
    }

    async fn save(&self, name: &str, position: Position) -> Result<(), StoreError> {
        at("before the store", position.offset);
        self.0.save(name, position).await?;
        at("after the store", position.offset);
        Ok(())
    }
}

/// Writes the offset of each entry to the log.
async fn log(kelda: &Kelda, checkpoint: impl Checkpoint) {
    let handler = |message: Message<String>| async move {
        at("before it is handled", message.offset());
        let mut log = std::fs::File::options().append(true).create(true).open(std::env::var(LOG).unwrap())?;
        log.write_all(format!("{}\n", message.offset()).as_bytes())?;
        at("after it is handled", message.offset());
        Ok::<_, std::io::Error>(())
    };
    let orders = kelda.stream::<String>("orders").codec(Text).from_first();
    let end = orders.resume_with(Dying(checkpoint), "log").consume(handler).await.unwrap().join().await;
    assert!(matches!(end, ReaderEnd::Sealed), "{end}");
}
