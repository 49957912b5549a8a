//! Reads across WAL tail, cache and objects.

use kelda_format::{Offset, StreamId, Timestamp};

use crate::engine::Engine;
use crate::error::ReadError;
use crate::types::{Chunk, ReadLimit};

impl Engine {
    /// Records of a stream from an offset on, never past the durable tail.
    ///
    /// # Errors
    /// See [`ReadError`].
    pub async fn read(
        &self,
        _stream: StreamId,
        _from: Offset,
        _limit: ReadLimit,
    ) -> Result<Chunk, ReadError> {
        Err(ReadError::Unavailable("not built yet".to_owned()))
    }

    /// The first record at or after a time; the tail when there is none.
    ///
    /// # Errors
    /// See [`ReadError`].
    pub async fn find_time(&self, _stream: StreamId, _timestamp: Timestamp) -> Result<Offset, ReadError> {
        Err(ReadError::Unavailable("not built yet".to_owned()))
    }
}
