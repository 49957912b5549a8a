//! The object store: owns the port and what a key may look like. Guarantees that an acknowledged object is durable and
//! whole, and that no reader ever sees part of one. Never lists to find data: keys come from the metadata.

use std::ops::Range;

use async_trait::async_trait;
use bytes::Bytes;

use crate::{Disk, StoreError, StoreOp};

/// The longest key in bytes; below what every object store and file system takes.
pub const MAX_KEY_BYTES: usize = 512;

/// A place for immutable objects.
///
/// Dropping the future of a writing call, or an error of it for which [`StoreError::is_outcome_unknown`] says so, leaves
/// the outcome unknown: the object may appear later. P8 says how to find out.
#[async_trait]
pub trait Store: Send + Sync + 'static {
    /// Creates an object, only if the key is free. No layer ever repeats it: what an unknown outcome means is for the
    /// caller to find out.
    ///
    /// # Errors
    /// `AlreadyExists`, which is a hint and not a fact (P8): it may be the caller's own bytes.
    async fn put_if_absent(&self, key: &str, body: Bytes) -> Result<(), StoreError>;

    /// Creates or replaces an object.
    ///
    /// # Errors
    /// `Full`, `SyncFailed`, `Failed`.
    async fn put(&self, key: &str, body: Bytes) -> Result<(), StoreError>;

    /// Replaces an object, only if it is still the one that `expected` is of, and answers the tag of the new one. No layer
    /// ever repeats it.
    ///
    /// # Errors
    /// `Stale` when there is another object or none; `Unsupported` when the store has no such operation.
    async fn swap(&self, key: &str, body: Bytes, expected: &Tag) -> Result<Tag, StoreError> {
        let _ = (body, expected);
        check_key(key)?;
        Err(StoreError::Unsupported { key: key.to_owned(), op: StoreOp::Swap })
    }

    /// The whole object.
    ///
    /// # Errors
    /// `NotFound`, `Failed`.
    async fn get(&self, key: &str) -> Result<Bytes, StoreError>;

    /// Exactly the bytes of `range` of an object. An empty range is answered with nothing.
    ///
    /// # Errors
    /// `NotFound`; `OutOfRange` when the object ends before the range does; `Failed`.
    async fn get_range(&self, key: &str, range: Range<u64>) -> Result<Bytes, StoreError>;

    /// Several ranges of an object, in their order, none of them empty and each behind the one before. Close to one
    /// another, so that one request for all may be the best way; no answer keeps the bytes of another in memory.
    ///
    /// # Errors
    /// As [`Store::get_range`].
    async fn get_ranges(&self, key: &str, ranges: &[Range<u64>]) -> Result<Vec<Bytes>, StoreError> {
        let (Some(first), Some(last)) = (ranges.first(), ranges.last()) else { return Ok(Vec::new()) };
        let whole = self.get_range(key, first.start..last.end).await?;
        if ranges.len() == 1 {
            return Ok(vec![whole]);
        }
        let at = |position: u64| usize::try_from(position - first.start).unwrap_or(usize::MAX);
        Ok(ranges.iter().map(|it| Bytes::copy_from_slice(&whole[at(it.start)..at(it.end)])).collect())
    }

    /// What is known of an object, or nothing when there is none.
    ///
    /// # Errors
    /// The answer is not known: `Failed`.
    async fn head(&self, key: &str) -> Result<Option<ObjectInfo>, StoreError>;

    /// Deletes an object, durably. A missing one is success, as object stores have it.
    ///
    /// # Errors
    /// `SyncFailed`, `Failed`.
    async fn delete(&self, key: &str) -> Result<(), StoreError>;

    /// Deletes several objects, durably; missing ones are success. A store that can does it with few requests.
    ///
    /// # Errors
    /// As [`Store::delete`], of the first that failed; any of the others may be gone or not.
    async fn delete_many(&self, keys: &[String]) -> Result<(), StoreError> {
        for key in keys {
            self.delete(key).await?;
        }
        Ok(())
    }

    /// How many keys one request of [`Store::delete_many`] takes; at least one.
    fn keys_per_delete(&self) -> usize {
        1
    }

    /// The objects whose keys begin with `prefix`, in byte order. The prefix ends with `/`, or is empty for all.
    ///
    /// # Errors
    /// `Failed`.
    async fn list(&self, prefix: &str) -> Result<Vec<ObjectInfo>, StoreError>;

    /// The first `limit` of those objects whose keys come after `after` in byte order, which need not be one of them. Fewer
    /// than `limit` is the end of the listing.
    ///
    /// # Errors
    /// As [`Store::list`].
    async fn list_page(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<ObjectInfo>, StoreError> {
        let mut found = self.list(prefix).await?;
        found.retain(|object| after.is_none_or(|after| object.key.as_str() > after));
        found.truncate(limit);
        Ok(found)
    }

    /// Makes a file of `disk` an object, without copying its bytes where that is possible. The caller has synced the file
    /// and does not write to it any more. Durable when it returns; the file keeps its name.
    ///
    /// # Errors
    /// `AlreadyExists` as for [`Store::put_if_absent`]; `NotFound` when the file is missing.
    async fn adopt(&self, disk: &dyn Disk, path: &str, key: &str) -> Result<Adopted, StoreError>;
}

/// How a file became an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Adopted {
    /// By a second name for the same bytes.
    Linked,
    /// By a copy, with one request.
    Copied,
    /// By a copy in pieces, with so many requests.
    Pieces(u32),
}

/// What a store knows of an object without reading it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectInfo {
    /// Its key.
    pub key: String,
    /// Its length in bytes.
    pub len: u64,
    /// When it got its bytes, in milliseconds since the Unix epoch by the clock of the store, which may count in seconds.
    pub modified: u64,
    /// What tells this object from others that had or will have its key, where the store has such a thing.
    pub tag: Option<Tag>,
}

/// The store's word for one version of an object; equal only when the object is the same.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Tag(
    /// As the store spells it.
    pub String,
);

/// Whether a key is one that every store takes: segments of ASCII letters, digits, `-`, `_` and `.` between single slashes,
/// none of them `.` or `..`, at most [`MAX_KEY_BYTES`] in all.
///
/// # Errors
/// `BadKey` with the reason.
pub fn check_key(key: &str) -> Result<(), StoreError> {
    let bad = |reason: &str| Err(StoreError::BadKey { key: key.to_owned(), reason: reason.to_owned() });
    if key.len() > MAX_KEY_BYTES {
        return bad("it is longer than 512 bytes");
    }
    for segment in key.split('/') {
        match segment {
            "" => return bad("it has an empty segment"),
            "." | ".." => return bad("it has a segment . or .."),
            _ => {}
        }
        if !segment.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.')) {
            return bad("only ASCII letters, digits, '-', '_' and '.' are allowed between slashes");
        }
    }
    Ok(())
}

/// A prefix of a listing without its final slash.
pub(crate) fn check_prefix(prefix: &str) -> Result<&str, StoreError> {
    let Some(inner) = prefix.strip_suffix('/') else {
        let reason = "a prefix of a listing ends with a slash".to_owned();
        return Err(StoreError::BadKey { key: prefix.to_owned(), reason });
    };
    check_key(inner).map(|()| inner)
}

/// The error of an adoption whose file cannot be read.
pub(crate) fn adopt_error(key: &str, error: crate::DiskError) -> StoreError {
    if error.is_not_found() {
        StoreError::NotFound { key: key.to_owned() }
    } else {
        StoreError::failed(key, crate::StoreOp::Adopt, error)
    }
}
