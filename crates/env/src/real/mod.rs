//! The real world: owns the calls to the operating system. Guarantees honest errors. Never used in a simulation.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "this module is the one place that calls the system clock, timers, threads, std::fs and concrete stores"
)]

mod clock;
mod disk;
mod file;
mod local_store;
mod object_files;
mod process;
mod random;
mod tasks;

pub use clock::RealClock;
pub use disk::RealDisk;
pub use local_store::LocalStore;
pub use process::{processor_time, raise_open_files_limit, resident_bytes};
pub use random::RealRandom;
pub use tasks::RealTasks;
