//! The fault layer: each fault shows, counts right, and goes away.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use kelda_env::{Disk, DiskError, DiskFile, Env, FaultDisk, Faults, OpenMode};

struct Fixture {
    _dir: tempfile::TempDir,
    env: Env,
    disk: FaultDisk,
}

fn fixture() -> Fixture {
    let dir = tempfile::tempdir().unwrap();
    let env = Env::real(&dir.path().join("data")).unwrap();
    let disk = FaultDisk::new(env.disk.clone(), env.clock.clone());
    Fixture { _dir: dir, env, disk }
}

async fn write(file: &Arc<dyn DiskFile>, len: usize, offset: u64) -> Result<(), DiskError> {
    file.write_at(&[Bytes::from(vec![b'x'; len])], offset).await
}

#[tokio::test]
async fn capacity_bounds_what_files_hold_together() {
    let Fixture { disk, .. } = &fixture();
    let old = disk.create("old").await.unwrap();
    write(&old, 100, 0).await.unwrap();
    disk.set(Faults { capacity: Some(1000), ..Faults::default() });
    let file = disk.create_preallocated("a", 600).await.unwrap();
    write(&file, 600, 0).await.unwrap();
    let error = disk.create_preallocated("b", 600).await.err().unwrap();
    assert!(error.is_full(), "{error}");
    assert!(!disk.exists("b").await.unwrap());
    write(&file, 100, 600).await.unwrap();
    assert!(write(&file, 500, 700).await.unwrap_err().is_full());
    assert!(file.set_len(5000).await.unwrap_err().is_full());
    assert_eq!(disk.space().await.unwrap().free, 200);
    disk.remove("a").await.unwrap();
    disk.create_preallocated("b", 600).await.unwrap();
    disk.set(Faults::default());
    disk.create_preallocated("c", 60_000).await.unwrap();
}

#[tokio::test]
async fn the_nth_write_fails_once() {
    let Fixture { disk, .. } = &fixture();
    let file = disk.create("a").await.unwrap();
    disk.set(Faults { fail_write_at: Some(2), ..Faults::default() });
    write(&file, 1, 0).await.unwrap();
    let error = write(&file, 1, 1).await.unwrap_err();
    assert!(matches!(error, DiskError::Other { .. }), "{error}");
    write(&file, 1, 2).await.unwrap();
    disk.set(Faults { fail_writes: true, ..Faults::default() });
    assert!(write(&file, 1, 3).await.is_err());
    assert!(write(&file, 1, 3).await.is_err());
}

#[tokio::test]
async fn a_failed_sync_is_for_ever_on_its_file() {
    let Fixture { disk, .. } = &fixture();
    let (file, other) = (disk.create("a").await.unwrap(), disk.create("b").await.unwrap());
    disk.set(Faults { fail_sync_at: Some(2), ..Faults::default() });
    file.sync_data().await.unwrap();
    for _ in 0..3 {
        let error = file.sync_data().await.unwrap_err();
        assert!(matches!(error, DiskError::SyncFailed { .. }), "{error}");
    }
    disk.set(Faults::default());
    assert!(file.sync_data().await.is_err());
    other.sync_data().await.unwrap();
    disk.open("a", OpenMode::ReadWrite).await.unwrap().sync_data().await.unwrap();
    disk.set(Faults { fail_syncs: true, ..Faults::default() });
    assert!(other.sync_data().await.is_err());
}

#[tokio::test]
async fn directory_syncs_fail() {
    let Fixture { disk, .. } = &fixture();
    disk.set(Faults { fail_dir_syncs: true, ..Faults::default() });
    let error = disk.sync_dir("").await.unwrap_err();
    assert!(matches!(error, DiskError::SyncFailed { .. }), "{error}");
}

#[tokio::test]
async fn slowness_takes_time() {
    let Fixture { disk, env, .. } = &fixture();
    let file = disk.create("a").await.unwrap();
    disk.set(Faults { slow: Duration::from_millis(30), ..Faults::default() });
    let before = env.clock.monotonic();
    write(&file, 1, 0).await.unwrap();
    file.sync_data().await.unwrap();
    assert!(env.clock.monotonic() - before >= Duration::from_millis(60));
}

#[tokio::test]
async fn a_control_file_sets_and_lifts_faults() {
    let Fixture { env, _dir: dir, .. } = &fixture();
    let control = dir.path().join("faults");
    let disk = FaultDisk::controlled(env.disk.clone(), env.clock.clone(), control.clone());
    let file = disk.create("a").await.unwrap();
    write(&file, 10, 0).await.unwrap();
    std::fs::write(&control, "capacity=100\nfail-sync-at=1").unwrap();
    assert!(write(&file, 200, 0).await.unwrap_err().is_full());
    assert!(file.sync_data().await.is_err());
    std::fs::remove_file(&control).unwrap();
    write(&file, 200, 0).await.unwrap();
}

#[test]
fn faults_are_read_as_text() {
    let text =
        "capacity=1000, fail-writes fail-write-at=3\nfail-syncs,fail-sync-at=4 fail-dir-syncs slow-ms=5";
    let faults = Faults::parse(text).unwrap();
    let expected = Faults {
        capacity: Some(1000),
        fail_writes: true,
        fail_write_at: Some(3),
        fail_syncs: true,
        fail_sync_at: Some(4),
        fail_dir_syncs: true,
        slow: Duration::from_millis(5),
    };
    assert_eq!(faults, expected);
    assert_eq!(Faults::parse("").unwrap(), Faults::default());
    assert!(Faults::parse("capacity=much").unwrap_err().contains("capacity=much"));
    assert!(Faults::parse("no-such").unwrap_err().contains("no-such"));
}
