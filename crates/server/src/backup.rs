//! Copies of a cluster: backups, their restoration, and the move to another object store.
//!
//! Owns the order of each and what is verified on the way. Guarantees that a backup counts only with its manifest, which is
//! written last; that what was acknowledged before a backup was asked for is in it; that a copy which did not get to its end
//! is never served by a node; and that memory is bounded ([`copy`]). Never deletes an object, and never changes the store
//! that it copies from.
//!
//! A place of backups is a store prefix with a marker of its own kind. Objects lie in it under the keys that they have in a
//! node's store; their ids are never given out twice (P13), not even by a node that goes on from a backup, so that backups of
//! one cluster share them: what is there already is not copied again.

mod copy;
mod error;
mod list;
mod manifest;
mod migrate;
mod place;
mod progress;
mod restore;
mod settle;
mod take;
mod target;
mod unfinished;

pub use copy::Copied;
pub use error::BackupError;
pub use kelda_format::ObjectId;
pub use kelda_format::backup::Manifest;
pub use list::list;
pub use manifest::describe;
pub use migrate::{Migrated, migrate};
pub use place::Place;
pub use progress::{Progress, Stage, Status};
pub use restore::{Restored, restore};
pub use take::{Taken, of_running, of_stopped};
pub(crate) use unfinished::unfinished;
