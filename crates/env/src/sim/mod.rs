//! The simulated world: owns virtual time, seeded randomness, nodes with disks that lose what was not synced, and a store
//! that delays and fails. Guarantees that a run is a function of its seed: the same seed gives the same trace. Never touches
//! the host.
//!
//! ```no_run
//! use kelda_env::sim::{FaultPlan, Sim};
//!
//! Sim::run(7, |sim| async move {
//!     sim.set_faults(FaultPlan::rough());
//!     let node = sim.node("a");
//!     let env = node.env();
//!     let file = env.disk.create("wal").await.unwrap();
//!     node.crash().await; // the power fails: `file` was never synced, its name may be gone too
//!     let env = node.env(); // the node starts again
//!     assert!(file.len().await.is_err());
//!     drop(env);
//! });
//! ```
#![expect(
    clippy::disallowed_methods,
    reason = "virtual time is tokio's paused clock, and nodes are tokio tasks"
)]

mod clock;
mod disk;
mod fate;
mod faults;
mod file;
mod inode;
mod medium;
mod node;
mod objects;
mod random;
mod store;
mod tasks;
mod trace;
mod world;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

pub use disk::{SimDisk, SimLink};
pub use faults::{DiskFaults, FaultPlan, StoreFaults};
pub use node::SimNode;
pub use random::SimRandom;
pub use store::SimStore;
use world::World;

/// A run that takes more virtual time than this is taken for stuck.
const MAX_VIRTUAL_TIME: Duration = Duration::from_secs(30 * 24 * 3600);

/// One simulated world. Cheap to clone.
#[derive(Clone)]
pub struct Sim {
    world: Arc<World>,
}

impl Sim {
    /// Runs `body` in a world made from `seed`, on virtual time, and answers what it answers.
    ///
    /// # Panics
    /// When `body` panics, when a task of a node panicked, or when the run makes no progress for 30 virtual days.
    pub fn run<F, R>(seed: u64, body: F) -> R::Output
    where
        F: FnOnce(Sim) -> R,
        R: Future,
    {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let runtime =
            builder.enable_time().start_paused(true).build().expect("a runtime without I/O can be made");
        runtime.block_on(async move {
            let sim = Sim::new(seed);
            let ended = tokio::time::timeout(MAX_VIRTUAL_TIME, body(sim.clone())).await;
            let panics = sim.panics();
            assert!(panics.is_empty(), "seed {seed}: tasks panicked: {panics:?}\n{}", sim.recent_trace());
            ended.unwrap_or_else(|_| panic!("seed {seed}: the run is stuck\n{}", sim.recent_trace()))
        })
    }

    /// A world made from `seed` in the current runtime, which must be single-threaded with paused time (as under
    /// `#[tokio::test(start_paused = true)]`).
    #[must_use]
    pub fn new(seed: u64) -> Sim {
        Sim { world: World::new(seed) }
    }

    /// The seed.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.world.seed
    }

    /// A new node with an empty disk. `name` is for the trace.
    #[must_use]
    pub fn node(&self, name: &str) -> SimNode {
        SimNode::new(self.world.clone(), name)
    }

    /// A new, empty object store.
    #[must_use]
    pub fn store(&self) -> SimStore {
        SimStore::new(self.world.clone())
    }

    /// Randomness for the test itself, independent of what nodes and faults draw.
    #[must_use]
    pub fn random(&self) -> Arc<SimRandom> {
        self.world.test_random.clone()
    }

    /// From now on these faults, everywhere.
    pub fn set_faults(&self, plan: FaultPlan) {
        *self.world.plan.lock() = plan;
    }

    /// Virtual time since the world began.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.world.elapsed()
    }

    /// Lets virtual time pass.
    pub async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }

    /// Starts a task that belongs to no node (a client), so no crash ends it.
    pub fn spawn<F>(&self, future: F) -> tokio::task::JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        tokio::spawn(future)
    }

    /// Adds a line to the trace.
    pub fn note(&self, line: &str) {
        self.world.note(line);
    }

    /// A digest of everything that disks, stores and notes did so far, in order and with its time.
    #[must_use]
    pub fn trace_hash(&self) -> u64 {
        self.world.trace.lock().hash()
    }

    /// The last lines of the trace.
    #[must_use]
    pub fn recent_trace(&self) -> String {
        self.world.trace.lock().recent()
    }

    /// The panics of tasks of nodes so far.
    #[must_use]
    pub fn panics(&self) -> Vec<String> {
        self.world.panics.lock().clone()
    }
}
