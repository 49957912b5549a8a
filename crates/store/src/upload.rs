//! Files that become objects of a service: owns the upload in pieces. Guarantees that only a few pieces are in memory at a
//! time, however large the file, and that the object appears whole or not at all. An upload that fails is called off; what
//! cannot be called off is left to the bucket's rule for unfinished uploads. Never completes an upload twice.

use std::time::Duration;

use bytes::Bytes;
use futures::{StreamExt, TryStreamExt, stream};
use kelda_env::{Adopted, Disk, DiskError, DiskFile, OpenMode, Store, StoreError, StoreOp};
use object_store::multipart::PartId;
use object_store::path::Path;
use object_store::{MultipartId, PutMode, PutPayload};

use crate::error::translate;
use crate::http::watched;
use crate::remote::Remote;

/// A file up to this length is sent with one request, and a longer one in pieces of it, in bytes.
const PIECE_BYTES: u64 = 16 << 20;
/// Pieces in memory and on their way at once.
const PIECES_AT_ONCE: usize = 4;
/// The most pieces that every service takes; longer files have longer pieces.
const MAX_PIECES: u64 = 10_000;
/// A piece is given the time to be moved at this rate on top of the limit of a request, in bytes per second.
const SLOWEST_RATE: u64 = 1 << 20;

/// A failure that began as one of the disk.
fn disk_error(key: &str, error: DiskError) -> StoreError {
    match error.is_not_found() {
        true => StoreError::NotFound { key: key.to_owned() },
        false => StoreError::failed(key, StoreOp::Adopt, error),
    }
}

/// Makes a file an object.
///
/// # Errors
/// As [`Store::adopt`].
pub(crate) async fn adopt(
    store: &Remote,
    disk: &dyn Disk,
    path: &str,
    key: &str,
) -> Result<Adopted, StoreError> {
    let file = disk.open(path, OpenMode::Read).await.map_err(|error| disk_error(key, error))?;
    let len = file.len().await.map_err(|error| disk_error(key, error))?;
    if len <= PIECE_BYTES {
        let body = read(&*file, key, 0, len).await?;
        store.put_as(key, StoreOp::Adopt, body, PutMode::Create).await?;
        return Ok(Adopted::Copied);
    }
    // P13: ids are never used twice, so nobody creates this key between the look and the completion, which replaces.
    if store.head(key).await?.is_some() {
        return Err(StoreError::AlreadyExists { key: key.to_owned() });
    }
    let upload = Upload { store, file: &*file, len, key, location: store.path(key) };
    let id = upload.begin().await?;
    match upload.send(&id).await {
        Ok(requests) => Ok(Adopted::Pieces(requests)),
        Err(error) => {
            upload.call_off(&id).await;
            Err(error)
        }
    }
}

async fn read(file: &dyn DiskFile, key: &str, at: u64, len: u64) -> Result<Bytes, StoreError> {
    let want = usize::try_from(len).unwrap_or(usize::MAX);
    let bytes = file.read_at(at, want).await.map_err(|error| disk_error(key, error))?;
    if bytes.len() == want {
        return Ok(bytes);
    }
    let detail =
        format!("the file ends at byte {}, but has to reach byte {}", at + bytes.len() as u64, at + len);
    Err(StoreError::failed(key, StoreOp::Adopt, detail))
}

/// One upload in pieces.
struct Upload<'a> {
    store: &'a Remote,
    file: &'a dyn DiskFile,
    len: u64,
    key: &'a str,
    location: Path,
}

impl Upload<'_> {
    async fn begin(&self) -> Result<MultipartId, StoreError> {
        self.patiently(0, || self.store.client.pieces.create_multipart(&self.location)).await
    }

    /// Sends all pieces and completes the upload; answers how many requests that took.
    async fn send(&self, id: &MultipartId) -> Result<u32, StoreError> {
        let piece = PIECE_BYTES.max(self.len.div_ceil(MAX_PIECES));
        let count = self.len.div_ceil(piece);
        let parts: Vec<PartId> = stream::iter(0..count)
            .map(|number| self.piece(id, number, number * piece, piece.min(self.len - number * piece)))
            .buffered(PIECES_AT_ONCE)
            .try_collect()
            .await?;
        // Not repeated: a second completion of a finished upload is an error, which says nothing of the first.
        let call = self.store.client.pieces.complete_multipart(&self.location, id, parts);
        let (answer, seen) = watched(call).await;
        answer.map_err(|error| translate(self.key, StoreOp::Adopt, error, seen))?;
        // The look, the beginning and the completion besides the pieces.
        Ok(u32::try_from(count + 3).unwrap_or(u32::MAX))
    }

    async fn piece(&self, id: &MultipartId, number: u64, at: u64, len: u64) -> Result<PartId, StoreError> {
        let body = read(self.file, self.key, at, len).await?;
        let index = usize::try_from(number).unwrap_or(usize::MAX);
        let pieces = &self.store.client.pieces;
        self.patiently(len, || {
            pieces.put_part(&self.location, id, index, PutPayload::from_bytes(body.clone()))
        })
        .await
    }

    /// Attempts of a request that may be repeated, since only the completion makes an object of what was sent.
    async fn patiently<T, F>(&self, bytes: u64, mut attempt: impl FnMut() -> F) -> Result<T, StoreError>
    where
        F: Future<Output = object_store::Result<T>>,
    {
        let (env, patience) = (&self.store.env, &self.store.patience);
        let limit = patience.timeout + Duration::from_secs(bytes / SLOWEST_RATE);
        let mut made = 0;
        loop {
            let error = match env.timeout(limit, watched(attempt())).await {
                Ok((Ok(value), _)) => return Ok(value),
                Ok((Err(error), seen)) => translate(self.key, StoreOp::Adopt, error, seen),
                Err(_) => StoreError::TimedOut { key: self.key.to_owned(), op: StoreOp::Adopt, after: limit },
            };
            made += 1;
            let Some(wait) = patience.retry.wait(made, &error, &*env.random) else { return Err(error) };
            tracing::debug!(%error, attempt = made, ?wait, "a piece of an upload is sent again");
            env.clock.sleep(wait).await;
        }
    }

    async fn call_off(&self, id: &MultipartId) {
        let called_off =
            self.patiently(0, || self.store.client.pieces.abort_multipart(&self.location, id)).await;
        if let Err(error) = called_off {
            tracing::warn!(
                key = self.key,
                %error,
                "pieces of an upload stay behind until the bucket's rule for unfinished uploads removes them"
            );
        }
    }
}
