//! The rows of the metadata state: own what the cluster remembers about each noun, as plain data.
//!
//! Guarantee that a row means the same in memory, in a snapshot and on every node. Never decide anything: which
//! changes are legal is the business of `kelda_meta`.

mod cluster;
mod key;
mod object;
mod producer;
mod stream;

pub use cluster::{
    ClusterRow, CommandResult, FeatureRange, FlushRow, NodeRow, Nonce, SessionRow, SessionState, WalKind,
};
pub use key::{KeyRow, KeySpace};
pub use object::{
    DestroyReason, DestroyRow, ObjectKind, ObjectRefRow, ObjectRow, ReservationRow, TransferRow,
};
pub use producer::{ProducerId, ProducerResult, ProducerRow};
pub use stream::{EntryRow, EntryState, Expiry, ForkPoint, Retention, StreamKind, StreamRow};
