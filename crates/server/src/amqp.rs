//! AMQP 0-9-1: programs written for RabbitMQ's stream queues.
//!
//! Owns the protocol on the socket and what its words mean for named streams. Guarantees that a confirm is sent only after
//! the message is durable, that no consumer gets more than its prefetch, and that whatever a peer sends ends at most its own
//! connection. Never decides what a stream may do: that is the service's.

mod channel;
mod connection;
mod consumer;
mod counts;
mod exchange;
mod lane;
mod listener;
mod login;
mod message;
mod name;
mod producer;
mod queue;
mod reply;
mod term;
pub mod vhost;
mod wire;

pub use counts::{Count, Counts};
pub use listener::{Amqp, run};
