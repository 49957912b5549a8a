//! Reads of committed records from the object store.

use std::sync::Arc;

use kelda_env::Store;
use kelda_format::{Block, Offset, StreamId, Timestamp};
use kelda_meta::State;

use crate::error::ReadError;
use crate::types::ReadLimit;

/// Bounds of the object reader.
#[derive(Clone, Copy, Debug)]
pub struct ObjectReaderConfig {
    /// Bytes of indexes and pages that are kept.
    pub cache_bytes: u64,
}

/// Reads committed blocks.
pub struct ObjectReader {
    _store: Arc<dyn Store>,
    _config: ObjectReaderConfig,
}

impl ObjectReader {
    /// A reader of what is in `store`.
    pub fn new(store: Arc<dyn Store>, config: ObjectReaderConfig) -> ObjectReader {
        ObjectReader { _store: store, _config: config }
    }

    /// Blocks from `from` on, cut to `limit`.
    ///
    /// # Errors
    /// See [`ReadError`].
    pub async fn read(
        &self,
        _view: &State,
        _stream: StreamId,
        _from: Offset,
        _limit: &ReadLimit,
    ) -> Result<Vec<Block>, ReadError> {
        Err(ReadError::Unavailable("not built yet".to_owned()))
    }

    /// The first committed record at or after `timestamp`.
    ///
    /// # Errors
    /// See [`ReadError`].
    pub async fn find_time(
        &self,
        _view: &State,
        _stream: StreamId,
        _timestamp: Timestamp,
    ) -> Result<Option<Offset>, ReadError> {
        Err(ReadError::Unavailable("not built yet".to_owned()))
    }
}
