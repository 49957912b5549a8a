//! A part of an object in memory, moved on as it is read from its beginning to its end: owns the requests. Guarantees that
//! not more is held than one window or the range asked for. Never interprets a byte.

use std::sync::Arc;

use bytes::Bytes;
use kelda_env::{Store, StoreError};

/// Bytes that are read at once.
const WINDOW_BYTES: u64 = 4 << 20;

/// A window on the bytes of an object up to `end`.
pub(super) struct Window<'a> {
    store: &'a Arc<dyn Store>,
    key: &'a str,
    end: u64,
    at: u64,
    bytes: Bytes,
}

impl<'a> Window<'a> {
    pub(super) fn new(store: &'a Arc<dyn Store>, key: &'a str, end: u64) -> Window<'a> {
        Window { store, key, end, at: 0, bytes: Bytes::new() }
    }

    /// The `len` bytes from `position` on, fewer at the end.
    pub(super) async fn get(&mut self, position: u64, len: u64) -> Result<Bytes, StoreError> {
        let end = position.saturating_add(len).min(self.end);
        if position < self.at || end > self.at + self.bytes.len() as u64 {
            let until = end.max(position.saturating_add(WINDOW_BYTES)).min(self.end);
            self.bytes = Bytes::new();
            self.bytes = self.store.get_range(self.key, position..until).await?;
            self.at = position;
        }
        let from = usize::try_from(position - self.at).unwrap_or(usize::MAX);
        Ok(self.bytes.slice(from..from + usize::try_from(end.saturating_sub(position)).unwrap_or(usize::MAX)))
    }
}
