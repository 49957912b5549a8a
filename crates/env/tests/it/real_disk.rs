//! What only the host's file system can show: the system's error codes, other processes, blocking threads.

use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use bytes::Bytes;
use kelda_env::{Disk, DiskError, DiskOp, Env, OpenMode, RealDisk};

#[test]
fn system_codes_become_kinds() {
    let kind = |code| DiskError::from_io("wal/1", DiskOp::Write, io::Error::from_raw_os_error(code));
    let codes =
        |errno: &[rustix::io::Errno]| errno.iter().map(|errno| errno.raw_os_error()).collect::<Vec<_>>();
    use rustix::io::Errno;
    for code in codes(&[Errno::NOSPC, Errno::DQUOT, Errno::FBIG]) {
        assert!(kind(code).is_full(), "{code}");
    }
    for code in codes(&[Errno::ROFS, Errno::ACCESS, Errno::PERM]) {
        assert!(matches!(kind(code), DiskError::ReadOnly { .. }), "{code}");
    }
    assert!(kind(Errno::NOENT.raw_os_error()).is_not_found());
    assert!(matches!(kind(Errno::EXIST.raw_os_error()), DiskError::Exists { .. }));
    assert!(matches!(kind(Errno::IO.raw_os_error()), DiskError::Other { .. }));
    let text = kind(Errno::NOSPC.raw_os_error()).to_string();
    assert!(text.starts_with("cannot write wal/1: no space left"), "{text}");
}

#[tokio::test]
async fn a_full_device_is_full() {
    if !Path::new("/dev/full").exists() {
        return;
    }
    let disk = RealDisk::open(Path::new("/dev")).unwrap();
    let file = disk.open("full", OpenMode::ReadWrite).await.unwrap();
    let error = file.write_at(&[Bytes::from_static(b"x")], 0).await.unwrap_err();
    assert!(error.is_full(), "{error}");
}

#[tokio::test]
async fn a_file_that_cannot_be_allocated_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let disk = RealDisk::open(dir.path()).unwrap();
    let total = disk.space().await.unwrap().total;
    let error = disk.create_preallocated("huge", total.max(1 << 40) * 4).await.err().unwrap();
    assert!(error.is_full(), "{error}");
    assert_eq!(disk.read_dir("").await.unwrap(), [""; 0]);
}

#[tokio::test]
async fn the_root_is_made() {
    let dir = tempfile::tempdir().unwrap();
    let disk = RealDisk::open(&dir.path().join("a/b/c")).unwrap();
    disk.create("file").await.unwrap();
    assert!(dir.path().join("a/b/c/file").is_file());
    std::fs::write(dir.path().join("plain"), "").unwrap();
    assert!(RealDisk::open(&dir.path().join("plain")).is_err());
}

#[tokio::test]
async fn a_disk_for_reading_only_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    assert!(RealDisk::open_read_only(&dir.path().join("none")).err().unwrap().is_not_found());
    assert!(!dir.path().join("none").exists());
    std::fs::write(dir.path().join("file"), "text").unwrap();
    assert!(RealDisk::open_read_only(&dir.path().join("file")).is_err());
    let disk = RealDisk::open_read_only(dir.path()).unwrap();
    assert!(disk.lock("lock").await.err().unwrap().is_not_found(), "no lock file is made");
    assert_eq!(disk.read("file").await.unwrap(), "text");
    let file = disk.open("file", OpenMode::Read).await.unwrap();
    assert!(file.write_at(&[Bytes::from_static(b"x")], 0).await.is_err());
    assert!(file.set_len(0).await.is_err());
    let refused = [
        disk.create("new").await.err(),
        disk.create_preallocated("new", 10).await.err(),
        disk.open("file", OpenMode::ReadWrite).await.err(),
        disk.remove("file").await.err(),
        disk.remove_dir("file").await.err(),
        disk.rename("file", "new").await.err(),
        disk.link("file", "new").await.err(),
        disk.create_dir_all("dir/below").await.err(),
    ];
    for error in refused {
        assert!(matches!(error, Some(DiskError::ReadOnly { .. })), "{error:?}");
    }
    std::fs::write(dir.path().join("lock"), "process 1").unwrap();
    let held = disk.lock("lock").await.unwrap();
    let other = RealDisk::open(dir.path()).unwrap();
    assert!(
        matches!(other.lock("lock").await.err(), Some(DiskError::Locked { .. })),
        "the lock is a real one"
    );
    drop(held);
    assert_eq!(disk.read("lock").await.unwrap(), "process 1");
    assert_eq!(disk.read_dir("").await.unwrap(), ["file", "lock"]);
}

/// Not a test by itself: the process that `another_process_is_seen` starts.
#[test]
fn lock_holder() {
    let Ok(dir) = std::env::var("KELDA_TEST_LOCK_DIR") else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let disk = RealDisk::open(Path::new(&dir)).unwrap();
        let _guard = disk.lock("lock").await.unwrap();
        println!("\nlocked");
        std::thread::sleep(Duration::from_secs(60));
    });
}

#[tokio::test]
async fn another_process_is_seen() {
    let dir = tempfile::tempdir().unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "real_disk::lock_holder", "--nocapture", "--test-threads=1"])
        .env("KELDA_TEST_LOCK_DIR", dir.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.map_while(Result::ok).any(|line| line == "locked"));

    let disk = RealDisk::open(dir.path()).unwrap();
    let error = disk.lock("lock").await.err().unwrap().to_string();
    let expected = format!("lock is locked by process {}", child.id());
    assert!(error.starts_with(&expected), "{error}");

    child.kill().unwrap();
    child.wait().unwrap();
    disk.lock("lock").await.unwrap();
}

#[tokio::test]
async fn a_thread_may_block() {
    let dir = tempfile::tempdir().unwrap();
    let env = Env::real(dir.path()).unwrap();
    let blocked =
        env.tasks.spawn_thread("blocked", Box::pin(async { std::thread::sleep(Duration::from_millis(200)) }));
    let before = env.clock.monotonic();
    env.spawn("free", async {}).join().await.unwrap();
    assert!(env.clock.monotonic() - before < Duration::from_millis(150));
    blocked.join().await.unwrap();
}
