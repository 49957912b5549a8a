//! The only door to the outside: clock, randomness, tasks, disk and object store; real and simulated.
//!
//! Owns every call to the system clock, timers, the system's randomness, `std::fs` and a concrete object store;
//! everything above is handed an [`Env`] and a [`Store`]. Guarantees that the real and the simulated versions answer
//! one contract suite alike (`tests/it`). Never knows what is stored through it.

mod clock;
mod disk;
mod disk_error;
mod env;
pub mod fault;
pub mod layers;
mod probe;
mod random;
pub mod real;
pub mod sim;
mod store;
mod store_error;
mod tasks;
pub mod watch;

pub use clock::{Clock, Elapsed, timeout};
pub use disk::{Disk, DiskFile, LockGuard, OpenMode, Place, Space};
pub use disk_error::{DiskError, DiskOp};
pub use env::Env;
pub use fault::{FaultDisk, Faults};
pub use probe::{ProbeError, Probed, probe};
pub use random::Random;
pub use real::{LocalStore, RealClock, RealDisk, RealRandom, RealTasks};
pub use real::{processor_time, raise_open_files_limit, resident_bytes};
pub use store::{Adopted, ObjectInfo, Store, Tag, check_key};
pub use store_error::{StoreError, StoreOp};
pub use tasks::{TaskEnd, TaskHandle, Tasks};
