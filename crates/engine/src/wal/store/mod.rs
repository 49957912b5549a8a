//! The write-ahead log of one session in the object store: owns its queue, its writer and the upload of its slots.
//! Guarantees P8 and P17 on the writing side, and acknowledgement strictly in the order of slots. Never reads the metadata,
//! never decides what an entry says.

pub(crate) mod queue;
pub(crate) mod range;
pub(crate) mod slot;
pub(crate) mod trim;
pub(crate) mod writer;
