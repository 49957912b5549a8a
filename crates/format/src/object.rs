//! Objects: immutable files of records in the store. Owns the object header, the footer and who may read what
//! with which context; guarantees that a footer of another cluster is told apart; never knows the store.
//!
//! An object is either a *segment* (a WAL segment as it was written) or *packed* (an object header and blocks);
//! both are followed by an index and, as the last bytes, the footer.

mod builder;
mod footer;
mod index;
mod packed;
mod summaries;
mod walk;

pub use builder::{INDEX_EXTENT_MAX_BYTES, INDEX_FIXED_MAX_BYTES, INDEX_STREAM_MAX_BYTES, IndexBuilder};
pub use footer::{FOOTER_BYTES, Footer, ObjectKind, ObjectSource};
pub use index::{Extent, ObjectIndex, StreamIndex};
pub use packed::{OBJECT_HEADER_BYTES, PackedWriter, decode_object_header, encode_object_header};
pub use summaries::Summaries;
pub use walk::{Walk, walk_blocks};
