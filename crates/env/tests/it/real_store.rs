//! What only a store on the host's file system can show.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use kelda_env::{
    Adopted, Disk, DiskError, DiskFile, LocalStore, LockGuard, OpenMode, Place, RealDisk, Space, Store,
};
use kelda_env::{StoreError, sim::Sim};

#[tokio::test]
async fn what_interrupted_puts_left_is_removed_and_never_listed() {
    let dir = tempfile::tempdir().unwrap();
    let store = LocalStore::open(dir.path()).unwrap();
    store.put_if_absent("c/data/00/1", Bytes::from_static(b"one")).await.unwrap();
    std::fs::write(dir.path().join("c/data/00/2#1"), "half").unwrap();
    std::fs::write(dir.path().join("c/data/00/2#12"), "half").unwrap();
    assert_eq!(store.list("").await.unwrap().len(), 1);
    assert_eq!(store.remove_leftovers().await.unwrap(), 2);
    assert_eq!(store.remove_leftovers().await.unwrap(), 0);
    assert_eq!(store.get("c/data/00/1").await.unwrap(), "one");
}

#[tokio::test]
async fn adoption_links_and_does_not_copy() {
    use std::os::unix::fs::MetadataExt;
    let dir = tempfile::tempdir().unwrap();
    let disk = RealDisk::open(&dir.path().join("data")).unwrap();
    let store = LocalStore::open(&dir.path().join("objects")).unwrap();
    disk.create("segment").await.unwrap();
    store.adopt(&disk, "segment", "c/data/00/1").await.unwrap();
    let inode = |path: &str| std::fs::metadata(dir.path().join(path)).unwrap().ino();
    assert_eq!(inode("data/segment"), inode("objects/c/data/00/1"));
}

/// A disk whose files have no place that a store could link to.
struct Placeless(Arc<dyn Disk>);

#[async_trait]
impl Disk for Placeless {
    async fn create(&self, path: &str) -> Result<Arc<dyn DiskFile>, DiskError> {
        self.0.create(path).await
    }
    async fn create_preallocated(&self, path: &str, len: u64) -> Result<Arc<dyn DiskFile>, DiskError> {
        self.0.create_preallocated(path, len).await
    }
    async fn open(&self, path: &str, mode: OpenMode) -> Result<Arc<dyn DiskFile>, DiskError> {
        self.0.open(path, mode).await
    }
    async fn read_dir(&self, path: &str) -> Result<Vec<String>, DiskError> {
        self.0.read_dir(path).await
    }
    async fn remove(&self, path: &str) -> Result<(), DiskError> {
        self.0.remove(path).await
    }
    async fn remove_dir(&self, path: &str) -> Result<(), DiskError> {
        self.0.remove_dir(path).await
    }
    async fn rename(&self, from: &str, to: &str) -> Result<(), DiskError> {
        self.0.rename(from, to).await
    }
    async fn link(&self, from: &str, to: &str) -> Result<(), DiskError> {
        self.0.link(from, to).await
    }
    async fn sync_dir(&self, path: &str) -> Result<(), DiskError> {
        self.0.sync_dir(path).await
    }
    async fn create_dir_all(&self, path: &str) -> Result<(), DiskError> {
        self.0.create_dir_all(path).await
    }
    async fn exists(&self, path: &str) -> Result<bool, DiskError> {
        self.0.exists(path).await
    }
    async fn len(&self, path: &str) -> Result<u64, DiskError> {
        self.0.len(path).await
    }
    async fn lock(&self, path: &str) -> Result<LockGuard, DiskError> {
        self.0.lock(path).await
    }
    async fn space(&self) -> Result<Space, DiskError> {
        self.0.space().await
    }
    fn place(&self, _: &str) -> Place {
        Place::Nowhere
    }
}

async fn adopts_by_copy(disk: Placeless, store: &dyn Store) {
    let file = disk.create("segment").await.unwrap();
    file.write_at(&[Bytes::from_static(b"0123456789")], 0).await.unwrap();
    file.sync_data().await.unwrap();
    assert_eq!(store.adopt(&disk, "segment", "c/data/00/1").await.unwrap(), Adopted::Copied);
    assert!(store.adopt(&disk, "segment", "c/data/00/1").await.unwrap_err().is_already_exists());
    assert!(store.adopt(&disk, "other", "c/data/00/2").await.unwrap_err().is_not_found());
    assert_eq!(store.get("c/data/00/1").await.unwrap(), "0123456789");
}

#[tokio::test]
async fn adoption_falls_back_to_a_copy() {
    let dir = tempfile::tempdir().unwrap();
    let disk = RealDisk::open(&dir.path().join("data")).unwrap();
    let store = LocalStore::open(&dir.path().join("objects")).unwrap();
    adopts_by_copy(Placeless(Arc::new(disk)), &store).await;
}

#[test]
fn simulated_adoption_falls_back_to_a_copy() {
    Sim::run(1, |sim| async move {
        adopts_by_copy(Placeless(sim.node("node").env().disk), &sim.store()).await;
    });
}

#[tokio::test]
async fn a_name_longer_than_the_file_system_takes_is_an_error_and_not_the_end() {
    let dir = tempfile::tempdir().unwrap();
    let store = LocalStore::open(dir.path()).unwrap();
    let error = store.put_if_absent(&"a".repeat(300), Bytes::new()).await.unwrap_err();
    assert!(matches!(error, StoreError::Failed { .. }), "{error}");
    store.put_if_absent("short", Bytes::new()).await.unwrap();
}

#[tokio::test]
async fn another_process_of_the_same_directory_sees_the_objects() {
    let dir = tempfile::tempdir().unwrap();
    LocalStore::open(dir.path()).unwrap().put_if_absent("a/b", Bytes::from_static(b"one")).await.unwrap();
    let store = LocalStore::open(dir.path()).unwrap();
    assert_eq!(store.get("a/b").await.unwrap(), "one");
    assert!(store.put_if_absent("a/b", Bytes::new()).await.unwrap_err().is_already_exists());
}
