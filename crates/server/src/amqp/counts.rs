//! What is counted of AMQP.
//!
//! Owns the numbers that `/metrics` shows. Guarantees that what a connection has open is taken off again with it. Never
//! prints.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A number that many connections change.
#[derive(Debug, Default)]
pub struct Count(AtomicU64);

impl Count {
    /// Adds to it.
    pub fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }

    /// Takes off what was added before.
    pub fn sub(&self, less: u64) {
        self.0.fetch_sub(less, Ordering::Relaxed);
    }

    /// What it is.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The numbers of a node.
#[derive(Debug, Default)]
pub struct Counts {
    /// Connections that are open.
    pub connections: Count,
    /// Their channels.
    pub channels: Count,
    /// Their consumers.
    pub consumers: Count,
    /// Messages that came.
    pub published: Count,
    /// Messages that were confirmed as stored, or as reaching no queue.
    pub confirmed: Count,
    /// Messages that were delivered.
    pub delivered: Count,
    /// Deliveries that were acknowledged.
    pub acknowledged: Count,
}

/// What one connection has open.
#[derive(Debug)]
pub struct Share {
    counts: Arc<Counts>,
    channels: u64,
    consumers: u64,
}

impl Share {
    /// A connection that was just opened.
    pub fn new(counts: Arc<Counts>) -> Share {
        counts.connections.add(1);
        Share { counts, channels: 0, consumers: 0 }
    }

    /// It has so many now.
    pub fn set(&mut self, channels: usize, consumers: usize) {
        let (channels, consumers) = (channels as u64, consumers as u64);
        if (channels, consumers) != (self.channels, self.consumers) {
            self.counts.channels.add(channels);
            self.counts.channels.sub(self.channels);
            self.counts.consumers.add(consumers);
            self.counts.consumers.sub(self.consumers);
            (self.channels, self.consumers) = (channels, consumers);
        }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.counts.connections.sub(1);
        self.set(0, 0);
    }
}
