//! Configuration.
//!
//! Owns how settings are declared, found and shown. A setting is declared once, in [`node`]; its flag, its variable, its
//! key in the file, its help and its default follow from that. Flags win over variables, variables over the file, the
//! file over defaults, and [`Loaded`] remembers which it was. Per-node settings ([`NodeSettings`]) and cluster-wide ones
//! ([`ClusterSettings`]) are two types: the first comes from this machine, the second from the metadata, never mixed.

mod cluster;
mod load;
mod node;
mod print;
mod value;

pub use cluster::ClusterSettings;
pub use kelda_store::StoreUrl;
pub use load::{ConfigError, Loaded, Source, Sources, command, load};
pub use node::{NodeSettings, Setting};
pub use print::print;
pub use value::{Bytes, Linger, Listen, MetaKind, WalKind};

#[cfg(test)]
mod tests;
