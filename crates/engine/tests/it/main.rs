//! What the engine guarantees, tested over a simulated disk and store and the in-memory metadata log.

#![allow(missing_docs, clippy::unwrap_used)]

mod back_pressure;
mod commit;
mod compaction;
mod corruption;
mod cut_short;
mod damaged_reads;
mod disk_full;
mod filters;
mod garbage;
mod lifecycle;
mod order;
mod producers;
mod reads;
mod real;
mod restart;
mod retention;
mod store_wal;
mod sync_failure;
mod times;
mod waiting;
mod world;
