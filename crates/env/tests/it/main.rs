//! The contract of the ports, run against every implementation, and what is particular to each of them.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::disallowed_types, missing_docs)]

mod contract;
mod disk_contract;
mod fault_layer;
mod layers;
mod misc_contract;
mod probe;
mod real_disk;
mod real_store;
mod sim_crash;
mod sim_faults;
mod sim_model;
mod sim_store_faults;
mod store_contract;
