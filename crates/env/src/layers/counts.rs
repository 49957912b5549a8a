//! Counts of requests to a store: owns one counter per kind and outcome and the bytes that were moved. Guarantees that they
//! never go down. Never locks.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::{StoreError, StoreOp};

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// As asked.
    Ok,
    /// There is no such object.
    NotFound,
    /// The key was taken, or the object is not the one that was to be replaced.
    Conflict,
    /// The store asked for fewer requests.
    Throttled,
    /// No answer came in time.
    TimedOut,
    /// The credentials were refused.
    Denied,
    /// Anything else.
    Failed,
    /// Whoever asked went away before the answer, or had waited long enough.
    GivenUp,
}

impl Outcome {
    /// All of them.
    pub const ALL: [Outcome; 8] = [
        Outcome::Ok,
        Outcome::NotFound,
        Outcome::Conflict,
        Outcome::Throttled,
        Outcome::TimedOut,
        Outcome::Denied,
        Outcome::Failed,
        Outcome::GivenUp,
    ];

    /// Its name in counters.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Ok => "ok",
            Outcome::NotFound => "not_found",
            Outcome::Conflict => "conflict",
            Outcome::Throttled => "throttled",
            Outcome::TimedOut => "timed_out",
            Outcome::Denied => "denied",
            Outcome::Failed => "failed",
            Outcome::GivenUp => "given_up",
        }
    }

    /// The outcome that an error is.
    #[must_use]
    pub fn of(error: &StoreError) -> Outcome {
        match error {
            StoreError::NotFound { .. } => Outcome::NotFound,
            StoreError::AlreadyExists { .. } | StoreError::Stale { .. } => Outcome::Conflict,
            StoreError::Throttled { .. } => Outcome::Throttled,
            StoreError::TimedOut { .. } => Outcome::TimedOut,
            StoreError::Denied { .. } => Outcome::Denied,
            _ => Outcome::Failed,
        }
    }
}

const KINDS: usize = StoreOp::ALL.len();
const OUTCOMES: usize = Outcome::ALL.len();

/// The counts of one store, since they were made.
#[derive(Default)]
pub struct StoreCounts {
    requests: [[AtomicU64; OUTCOMES]; KINDS],
    read: AtomicU64,
    written: AtomicU64,
}

impl StoreCounts {
    pub(super) fn add(&self, op: StoreOp, outcome: Outcome, requests: u64) {
        self.requests[op as usize][outcome as usize].fetch_add(requests, Ordering::Relaxed);
    }

    pub(super) fn add_read(&self, bytes: u64) {
        self.read.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(super) fn add_written(&self, bytes: u64) {
        self.written.fetch_add(bytes, Ordering::Relaxed);
    }

    /// What was counted so far.
    #[must_use]
    pub fn snapshot(&self) -> StoreSnapshot {
        let requests = self.requests.each_ref();
        StoreSnapshot {
            requests: requests.map(|row| row.each_ref().map(|count| count.load(Ordering::Relaxed))),
            bytes_read: self.read.load(Ordering::Relaxed),
            bytes_written: self.written.load(Ordering::Relaxed),
        }
    }
}

/// Counts at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoreSnapshot {
    requests: [[u64; OUTCOMES]; KINDS],
    /// Bytes of objects that were answered.
    pub bytes_read: u64,
    /// Bytes of objects that were sent and taken.
    pub bytes_written: u64,
}

impl StoreSnapshot {
    /// Requests of a kind that ended so.
    #[must_use]
    pub fn count(&self, op: StoreOp, outcome: Outcome) -> u64 {
        self.requests[op as usize][outcome as usize]
    }

    /// Requests of a kind, however they ended.
    #[must_use]
    pub fn of(&self, op: StoreOp) -> u64 {
        self.requests[op as usize].iter().sum()
    }

    /// All requests.
    #[must_use]
    pub fn total(&self) -> u64 {
        StoreOp::ALL.iter().map(|op| self.of(*op)).sum()
    }
}
