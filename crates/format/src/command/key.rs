//! Commands about the key space.

use bytes::Bytes;

use crate::rows::KeySpace;
use crate::wire::wire_struct;

wire_struct! {
    /// Stores a value under a key.
    pub struct PutKey {
        /// What it is about.
        pub space: KeySpace,
        /// The key.
        pub key: Bytes,
        /// The value.
        pub value: Bytes,
        /// The version that the change is based on; absent when the key must not exist.
        pub expected_version: Option<u64>,
    }

    /// Removes a key.
    pub struct DeleteKey {
        /// What it is about.
        pub space: KeySpace,
        /// The key.
        pub key: Bytes,
        /// The version that the removal is based on.
        pub expected_version: u64,
    }
}
