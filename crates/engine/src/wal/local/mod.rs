//! The write-ahead log of one session on the local disk: owns its queue, its writer, its segment files and the
//! scan that reads them back. Guarantees P11 and P17 on the writing side. Never reads the metadata, never decides
//! what an entry says.

pub(crate) mod prepare;
pub(crate) mod queue;
pub(crate) mod room;
pub(crate) mod scan;
pub(crate) mod segment;
pub(crate) mod writer;
pub(crate) mod zeros;
