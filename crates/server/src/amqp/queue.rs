//! Stream queues.
//!
//! Owns what the arguments of queues and consumers mean. Pure.

pub mod arguments;
pub mod filter;
pub mod offset;
pub mod span;
pub mod tag;

use super::wire::Short;

/// How errors name a queue.
pub fn described(queue: &Short, vhost: &Short) -> String {
    format!("queue '{}' in vhost '{}'", queue.text(), vhost.text())
}

#[cfg(test)]
mod tests;
