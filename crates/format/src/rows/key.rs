//! Rows of the key space: own what front ends and operators store beside streams.

use bytes::Bytes;

use crate::wire::{wire_enum, wire_struct};

wire_enum! {
    /// What a key of the key space is about.
    #[derive(Copy, PartialOrd, Ord)]
    pub enum KeySpace {
        /// AMQP exchanges.
        1 => Exchange,
        /// AMQP bindings.
        2 => Binding,
        /// Subscriptions.
        3 => Subscription,
        /// Access tokens, hashed.
        4 => AccessToken,
        /// Cluster-wide settings.
        5 => Setting,
        /// AMQP virtual hosts beside `/`.
        6 => VirtualHost,
    }
}

wire_struct! {
    /// A key and its value.
    pub struct KeyRow {
        /// What it is about.
        pub space: KeySpace,
        /// The key, unique in its space.
        pub key: Bytes,
        /// The value.
        pub value: Bytes,
        /// Grows with every change; unique over all entries and keys.
        pub version: u64,
    }
}
