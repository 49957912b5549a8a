//! Front ends, configuration and assembly of a Kelda node.
//!
//! Owns what a client speaks to ([`http`], [`amqp`]), what an operator speaks to ([`config`], [`admin`], [`check`], [`backup`], [`serve()`]), the sockets
//! ([`net`]) and the order in which a node's parts start and stop ([`node`]). Never decides what a request may do: that is
//! the service's.

pub mod admin;
pub mod amqp;
pub mod backup;
pub mod check;
pub mod config;
pub mod duration;
pub mod http;
mod metrics;
pub mod net;
pub mod node;
mod serve;
pub mod time;

pub use serve::{ServeArgs, runtime, serve};
