//! Sockets and connections.
//!
//! Owns listeners, the count of connections, and how long one may keep silent. Guarantees that every connection is
//! counted and bounded, that a peer which makes no progress is cut, and that a shutdown lets what is in flight finish.
//! Never knows a stream: what is served is a site that is handed in.

pub mod accept;
mod alarm;
mod bind;
mod connection;
mod executor;
pub mod noop;
mod pulse;
mod site;
mod watched;

pub use bind::{BindError, Bound, bind};
pub use pulse::Pulse;
pub use site::Site;
