//! The behaviour of the metadata machine, one file per behaviour.
#![allow(clippy::unwrap_used, missing_docs, reason = "tests")]

mod commit;
mod compact;
mod feature_level;
mod flush;
mod forks;
mod generate;
mod keys;
mod memory;
mod names;
mod objects;
mod ownership;
mod placement;
mod producers;
mod queries;
mod replicas;
mod restored;
mod sessions;
mod transfers;
mod trim;
mod world;
