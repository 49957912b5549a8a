//! Limits of values in commands: own the bounds that only the metadata has. Guarantee that no row grows beyond
//! them.

use kelda_format::limits::{MAX_ARGUMENT_BYTES, MAX_ARGUMENTS, MAX_CONTENT_TYPE_BYTES, MAX_INTEGER};
use kelda_format::rows::Expiry;

use crate::{Limited, Rejection};

/// Bytes of a node's address: a host name and a port.
pub(super) const MAX_ADDRESS_BYTES: u64 = 512;

/// Placement slots of a node; a ratio needs no more.
pub(super) const MAX_SLOTS: u64 = 1 << 20;

/// Object ids that one command reserves: more than the objects of one commit.
pub(super) const MAX_RESERVED: u64 = 4096;

/// Objects that one command names.
pub(super) const MAX_OBJECTS: u64 = 16_384;

/// Bytes of an object, so that sums over objects stay far inside the range of numbers.
pub(super) const MAX_OBJECT_BYTES: u64 = 1 << 44;

/// Bytes of a queue's checkpoint: it is held in memory by every node.
pub(super) const MAX_CHECKPOINT_BYTES: u64 = 16 << 20;

/// Bytes of a key: a stream name with an exchange and a routing key beside it.
pub(super) const MAX_KEY_BYTES: u64 = 4096;

/// Bytes of a value: it is held in memory by every node.
pub(super) const MAX_VALUE_BYTES: u64 = 64 << 10;

/// Rejects a value outside `min..=max`.
pub(super) fn within(field: Limited, value: u64, min: u64, max: u64) -> Result<(), Rejection> {
    if value < min || value > max { Err(Rejection::Limit { field, value, min, max }) } else { Ok(()) }
}

/// Rejects more than `max` bytes.
pub(super) fn bytes(field: Limited, bytes: usize, max: u64) -> Result<(), Rejection> {
    within(field, bytes as u64, 0, max)
}

/// Rejects a content type that is too long.
pub(super) fn content_type(content_type: &str) -> Result<(), Rejection> {
    bytes(Limited::ContentTypeBytes, content_type.len(), MAX_CONTENT_TYPE_BYTES as u64)
}

/// Rejects a sliding expiry of no time or beyond what a client can write.
pub(super) fn expiry(expiry: &Expiry) -> Result<(), Rejection> {
    match expiry {
        Expiry::Sliding { ttl_ms } => within(Limited::TtlMs, *ttl_ms, 1, MAX_INTEGER),
        Expiry::Never | Expiry::At(_) => Ok(()),
    }
}

/// Rejects too many arguments, or one that is too long.
pub(super) fn arguments(arguments: &[(String, String)]) -> Result<(), Rejection> {
    within(Limited::Arguments, arguments.len() as u64, 0, MAX_ARGUMENTS as u64)?;
    arguments
        .iter()
        .flat_map(|(name, value)| [name, value])
        .try_for_each(|text| bytes(Limited::ArgumentBytes, text.len(), MAX_ARGUMENT_BYTES as u64))
}
