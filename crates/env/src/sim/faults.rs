//! What goes wrong in a simulated world, and how often. Probabilities are per operation, from 0.0 (never) to 1.0 (always).

use std::time::Duration;

/// The faults of a whole world.
#[derive(Clone, Debug, Default)]
pub struct FaultPlan {
    /// Of every disk.
    pub disk: DiskFaults,
    /// Of every store.
    pub store: StoreFaults,
    /// A task that could run lets the others run first.
    pub task_yield: f64,
}

/// The faults of a disk.
#[derive(Clone, Debug, Default)]
pub struct DiskFaults {
    /// The longest delay of an operation; about half of them are not delayed.
    pub max_delay: Duration,
    /// A write stops somewhere and fails with an I/O error.
    pub write_error: f64,
    /// A write stops somewhere and finds the disk full.
    pub write_full: f64,
    /// A read fails with an I/O error.
    pub read_error: f64,
    /// A sync of a file fails; any part of what it had to write is durable, and no later sync writes the rest.
    pub sync_error: f64,
    /// A sync of a directory fails; nothing of it became durable.
    pub dir_sync_error: f64,
}

/// The faults of a store.
#[derive(Clone, Debug, Default)]
pub struct StoreFaults {
    /// The longest delay of a request, and of its answer; about half of them are not delayed.
    pub max_delay: Duration,
    /// A request fails before it has an effect.
    pub fail_before: f64,
    /// A request has its effect, and its answer is an error.
    pub fail_after: f64,
    /// The answer is an error, and the effect comes later, up to ten times `max_delay`.
    pub late: f64,
    /// A create-if-absent or a swap collides with its own first attempt: it took effect and the answer is "exists", or "is
    /// another one".
    pub self_collision: f64,
    /// A request is refused with the wish for fewer of them.
    pub throttled: f64,
    /// A request is lost, and ten times `max_delay` later the answer is that no answer came in time.
    pub timed_out_before: f64,
    /// A request has its effect, and ten times `max_delay` later the answer is that no answer came in time.
    pub timed_out_after: f64,
    /// A request is never answered; in half of the cases it has its effect.
    pub hanging: f64,
    /// A listing shows the objects as they were up to `stale_by` ago.
    pub stale_list: f64,
    /// How far back a stale listing goes; at most a minute.
    pub stale_by: Duration,
    /// A delete is answered with success and does nothing.
    pub lying_delete: f64,
    /// The upload of a file breaks off after some of its pieces, which stay behind where no listing shows them.
    pub partial_upload: f64,
}

impl FaultPlan {
    /// Nothing goes wrong and nothing takes time.
    #[must_use]
    pub fn calm() -> FaultPlan {
        FaultPlan::default()
    }

    /// Everything takes time and tasks interleave, but nothing fails.
    #[must_use]
    pub fn slow() -> FaultPlan {
        FaultPlan {
            disk: DiskFaults { max_delay: Duration::from_millis(8), ..DiskFaults::default() },
            store: StoreFaults { max_delay: Duration::from_millis(80), ..StoreFaults::default() },
            task_yield: 0.2,
        }
    }

    /// As [`FaultPlan::slow`], and now and then something fails that a node has to live with.
    #[must_use]
    pub fn rough() -> FaultPlan {
        let slow = FaultPlan::slow();
        FaultPlan {
            disk: DiskFaults {
                write_error: 0.002,
                write_full: 0.002,
                sync_error: 0.002,
                dir_sync_error: 0.002,
                ..slow.disk
            },
            store: StoreFaults {
                fail_before: 0.02,
                fail_after: 0.02,
                late: 0.01,
                self_collision: 0.02,
                throttled: 0.02,
                timed_out_before: 0.005,
                timed_out_after: 0.005,
                ..slow.store
            },
            ..slow
        }
    }
}
