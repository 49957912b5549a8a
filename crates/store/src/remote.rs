//! A store of the network behind the store port: owns the client and the prefix. Guarantees that a request of the caller is
//! one request to the service, listings and large adoptions apart. Never repeats one, other than a piece of an upload.

use std::ops::Range;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use futures::{StreamExt, TryStreamExt, stream};
use kelda_env::layers::Patience;
use kelda_env::{Adopted, Disk, Env, ObjectInfo, Store, StoreError, StoreOp, Tag, check_key};
use object_store::multipart::MultipartStore;
use object_store::path::Path;
use object_store::{
    GetOptions, GetRange, ObjectMeta, ObjectStore, ObjectStoreExt, PutMode, PutOptions, PutPayload,
    PutResult, UpdateVersion,
};

use crate::error::translate;
use crate::http::{Seen, watched};
use crate::upload;
use crate::url::{RemoteUrl, Service};

/// The client of a service.
pub(crate) struct Client {
    pub(crate) objects: Arc<dyn ObjectStore>,
    pub(crate) pieces: Arc<dyn MultipartStore>,
    keys_per_delete: usize,
}

impl Client {
    pub(crate) fn of<S: ObjectStore + MultipartStore>(service: S, keys_per_delete: usize) -> Client {
        let service = Arc::new(service);
        Client { objects: Arc::clone(&service) as Arc<dyn ObjectStore>, pieces: service, keys_per_delete }
    }
}

/// A store of the network.
pub struct Remote {
    pub(crate) client: Client,
    pub(crate) env: Env,
    pub(crate) patience: Patience,
    url: RemoteUrl,
}

impl Remote {
    pub(crate) fn new(url: RemoteUrl, client: Client, env: &Env, patience: Patience) -> Remote {
        Remote { client, env: env.clone(), patience, url }
    }

    /// The key of the service for a key of ours.
    pub(crate) fn path(&self, key: &str) -> Path {
        match self.url.prefix.as_str() {
            "" => Path::from(key),
            prefix => Path::from(format!("{prefix}/{key}")),
        }
    }

    /// The path that a listing of `prefix` is below; nothing for the whole bucket.
    fn below(&self, prefix: &str) -> Result<Option<Path>, StoreError> {
        let Some(inner) = prefix.strip_suffix('/') else {
            if prefix.is_empty() {
                let root = self.url.prefix.as_str();
                return Ok((!root.is_empty()).then(|| Path::from(root)));
            }
            let reason = "a prefix of a listing ends with a slash".to_owned();
            return Err(StoreError::BadKey { key: prefix.to_owned(), reason });
        };
        check_key(inner)?;
        Ok(Some(self.path(inner)))
    }

    /// What the service says of an object, under our key.
    fn info(&self, meta: ObjectMeta) -> Option<ObjectInfo> {
        let path = String::from(meta.location);
        let key = match self.url.prefix.as_str() {
            "" => path,
            prefix => path.strip_prefix(prefix)?.strip_prefix('/')?.to_owned(),
        };
        let modified = u64::try_from(meta.last_modified.timestamp_millis()).unwrap_or(0);
        let tag = self.tag(meta.e_tag, meta.version);
        Some(ObjectInfo { key, len: meta.size, modified, tag })
    }

    /// The word of the service for a version of an object: Google compares generations, the others entity tags.
    fn tag(&self, e_tag: Option<String>, version: Option<String>) -> Option<Tag> {
        match self.url.service {
            Service::Google => version,
            Service::S3 | Service::Azure => e_tag,
        }
        .map(Tag)
    }

    pub(crate) async fn put_as(
        &self,
        key: &str,
        op: StoreOp,
        body: Bytes,
        mode: PutMode,
    ) -> Result<PutResult, StoreError> {
        let path = self.path(key);
        let options = PutOptions { mode, ..PutOptions::default() };
        let call = self.client.objects.put_opts(&path, PutPayload::from_bytes(body), options);
        let (answer, seen) = watched(call).await;
        answer.map_err(|error| translate(key, op, error, seen))
    }

    async fn get_as(&self, key: &str, range: Option<Range<u64>>) -> Result<(Bytes, u64), StoreError> {
        let path = self.path(key);
        let options = GetOptions { range: range.map(GetRange::Bounded), ..GetOptions::default() };
        let call = async {
            let found = self.client.objects.get_opts(&path, options).await?;
            let len = found.meta.size;
            Ok((found.bytes().await?, len))
        };
        let (answer, seen) = watched(call).await;
        answer.map_err(|error| match seen {
            // The range begins behind the end, which the caller completes.
            Some(Seen { status: 416, .. }) => {
                StoreError::OutOfRange { key: key.to_owned(), start: 0, end: 0, len: 0 }
            }
            _ => translate(key, StoreOp::Get, error, seen),
        })
    }

    async fn page(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<ObjectInfo>, StoreError> {
        let below = self.below(prefix)?;
        let objects = &self.client.objects;
        let listed = match after {
            Some(after) => objects.list_with_offset(below.as_ref(), &self.path(after)),
            None => objects.list(below.as_ref()),
        };
        let call = listed.take(limit).try_collect::<Vec<_>>();
        let (answer, seen) = watched(call).await;
        let found = answer.map_err(|error| translate(prefix, StoreOp::List, error, seen))?;
        let mut found: Vec<ObjectInfo> = found.into_iter().filter_map(|meta| self.info(meta)).collect();
        found.sort_unstable_by(|a, b| a.key.cmp(&b.key));
        Ok(found)
    }
}

#[async_trait]
impl Store for Remote {
    async fn put_if_absent(&self, key: &str, body: Bytes) -> Result<(), StoreError> {
        check_key(key)?;
        self.put_as(key, StoreOp::Put, body, PutMode::Create).await.map(drop)
    }

    async fn put(&self, key: &str, body: Bytes) -> Result<(), StoreError> {
        check_key(key)?;
        self.put_as(key, StoreOp::Put, body, PutMode::Overwrite).await.map(drop)
    }

    async fn swap(&self, key: &str, body: Bytes, expected: &Tag) -> Result<Tag, StoreError> {
        check_key(key)?;
        let version = match self.url.service {
            Service::Google => UpdateVersion { e_tag: None, version: Some(expected.0.clone()) },
            Service::S3 | Service::Azure => UpdateVersion { e_tag: Some(expected.0.clone()), version: None },
        };
        let made = self.put_as(key, StoreOp::Swap, body, PutMode::Update(version)).await?;
        self.tag(made.e_tag, made.version)
            .ok_or_else(|| StoreError::failed(key, StoreOp::Swap, "the answer has no tag of the new object"))
    }

    async fn get(&self, key: &str) -> Result<Bytes, StoreError> {
        check_key(key)?;
        self.get_as(key, None).await.map(|(bytes, _)| bytes)
    }

    async fn get_range(&self, key: &str, range: Range<u64>) -> Result<Bytes, StoreError> {
        check_key(key)?;
        if range.is_empty() {
            return Ok(Bytes::new());
        }
        let (start, end) = (range.start, range.end);
        let short = |len| StoreError::OutOfRange { key: key.to_owned(), start, end, len };
        match self.get_as(key, Some(range)).await {
            Ok((bytes, _)) if bytes.len() as u64 == end - start => Ok(bytes),
            Ok((_, len)) => Err(short(len)),
            Err(StoreError::OutOfRange { .. }) => {
                let found = self.head(key).await?;
                Err(found
                    .map_or_else(|| StoreError::NotFound { key: key.to_owned() }, |found| short(found.len)))
            }
            Err(error) => Err(error),
        }
    }

    async fn head(&self, key: &str) -> Result<Option<ObjectInfo>, StoreError> {
        check_key(key)?;
        let path = self.path(key);
        let (answer, seen) = watched(self.client.objects.head(&path)).await;
        match answer.map_err(|error| translate(key, StoreOp::Head, error, seen)) {
            Ok(meta) => Ok(self.info(meta)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn delete(&self, key: &str) -> Result<(), StoreError> {
        self.delete_many(&[key.to_owned()]).await
    }

    async fn delete_many(&self, keys: &[String]) -> Result<(), StoreError> {
        for key in keys {
            check_key(key)?;
        }
        let paths: Vec<_> = keys.iter().map(|key| Ok(self.path(key))).collect();
        let call = self.client.objects.delete_stream(stream::iter(paths).boxed()).collect::<Vec<_>>();
        let (answers, seen) = watched(call).await;
        let key = keys.first().map_or("", String::as_str);
        for answer in answers {
            match answer {
                Ok(_) | Err(object_store::Error::NotFound { .. }) => {}
                Err(error) => return Err(translate(key, StoreOp::Delete, error, seen)),
            }
        }
        Ok(())
    }

    fn keys_per_delete(&self) -> usize {
        self.client.keys_per_delete
    }

    async fn list(&self, prefix: &str) -> Result<Vec<ObjectInfo>, StoreError> {
        self.page(prefix, None, usize::MAX).await
    }

    async fn list_page(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<ObjectInfo>, StoreError> {
        self.page(prefix, after, limit).await
    }

    async fn adopt(&self, disk: &dyn Disk, path: &str, key: &str) -> Result<Adopted, StoreError> {
        check_key(key)?;
        upload::adopt(self, disk, path, key).await
    }
}
