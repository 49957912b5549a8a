//! Stores around a store: owns what every remote store needs and none brings: counting, a bound on requests in flight, time
//! limits and retries, and delays for measurements. Guarantees that a layer changes no answer other than to make it come at
//! all. Never repeats a `put_if_absent`, a `swap` or an `adopt`: what became of those is for the caller to find out (P8).
//!
//! From the outside in, a remote store is `Limited(Patient(Counted(Delayed(store))))`: a request that waits for its turn
//! uses up none of its time limit, one that is repeated keeps its place, and what is counted is what the store is asked,
//! which is what it bills.

mod counted;
mod counts;
mod delayed;
mod limited;
mod patient;
mod retry;

pub use counted::Counted;
pub use counts::{Outcome, StoreCounts, StoreSnapshot};
pub use delayed::{Delayed, Delays};
pub use limited::Limited;
pub use patient::{Patience, Patient};
pub use retry::Retry;
