//! Data directories that cannot be used, and one that fills up.

use std::time::Duration;

use kelda_env::Faults;
use kelda_server::node::StartError;
use tempfile::TempDir;

use crate::support::{Options, TestNode, start_in};

async fn error(dir: &std::path::Path) -> StartError {
    match start_in(dir, &Options::default()).await {
        Ok(_) => panic!("it started"),
        Err(error) => error,
    }
}

/// A directory that a node has used and left cleanly.
async fn used() -> TempDir {
    let mut node = TestNode::start().await;
    node.filled("/s", &["a", "b"]).await;
    assert!(node.node.take().unwrap().stop().await);
    node.dir
}

#[tokio::test]
async fn one_process_at_a_time() {
    let node = TestNode::start().await;
    let error = error(node.dir.path()).await;
    assert!(matches!(error, StartError::InUse { .. }), "{error:?}");
    let text = error.to_string();
    assert!(text.contains(node.dir.path().to_str().unwrap()) && text.contains("in use"), "{text}");
    assert_eq!(node.get("/").await.status, 200, "the first goes on");
}

#[tokio::test]
async fn listeners_that_others_can_reach_need_a_word() {
    let dir = TempDir::new().unwrap();
    for flag in ["--listen=0.0.0.0:0", "--amqp-listen=0.0.0.0:0", "--admin-listen=[::]:0"] {
        let error = match start_in(dir.path(), &Options::flags(&[flag])).await {
            Ok(_) => panic!("{flag} started"),
            Err(error) => error,
        };
        assert!(matches!(error, StartError::Exposed { .. }), "{error:?}");
        assert!(error.to_string().contains("--allow-anonymous"), "{error}");
    }
    let (node, _) =
        start_in(dir.path(), &Options::flags(&["--listen=0.0.0.0:0", "--allow-anonymous"])).await.unwrap();
    assert!(node.stop().await);
}

#[tokio::test]
async fn an_address_in_use_is_named() {
    let node = TestNode::start().await;
    let dir = TempDir::new().unwrap();
    let error = match start_in(dir.path(), &Options::flags(&[&format!("--listen={}", node.address())])).await
    {
        Ok(_) => panic!("it started"),
        Err(error) => error,
    };
    let text = error.to_string();
    assert!(text.contains(&node.address().to_string()) && text.contains("--listen"), "{text}");
}

#[tokio::test]
async fn metadata_of_another_cluster_is_not_mixed_in() {
    let (one, other) = (used().await, used().await);
    std::fs::remove_dir_all(one.path().join("meta")).unwrap();
    std::fs::rename(other.path().join("meta"), one.path().join("meta")).unwrap();
    let error = error(one.path()).await;
    assert!(matches!(error, StartError::OtherCluster { .. }), "{error:?}");
    assert!(error.to_string().contains("another cluster"), "{error}");
}

#[tokio::test]
async fn metadata_that_is_gone_is_not_begun_anew_over_old_objects() {
    let dir = used().await;
    std::fs::remove_dir_all(dir.path().join("meta")).unwrap();
    let gone = error(dir.path()).await;
    assert!(matches!(gone, StartError::Damaged { .. }), "{gone:?}");
    assert!(gone.to_string().contains("log.sqlite is missing"), "{gone}");
    assert!(!dir.path().join("meta").exists(), "nothing was begun");
    std::fs::create_dir(dir.path().join("meta")).unwrap();
    std::fs::write(dir.path().join("meta/log.sqlite"), "").unwrap();
    let emptied = error(dir.path()).await;
    assert!(emptied.to_string().contains("log.sqlite is empty"), "{emptied}");
}

#[tokio::test]
async fn another_node_id_is_named() {
    let mut node = TestNode::start().await;
    node.filled("/s", &["a"]).await;
    // As after a crash: the write-ahead log of the session is there.
    let wal = std::fs::read_dir(node.dir.path().join("wal")).unwrap().next().unwrap().unwrap().path();
    assert!(node.node.take().unwrap().stop().await);
    std::fs::create_dir_all(wal).unwrap();
    let error = match start_in(node.dir.path(), &Options::flags(&["--node-id=7"])).await {
        Ok(_) => panic!("it started"),
        Err(error) => error,
    };
    assert!(error.to_string().contains("--node-id 1"), "{error}");
}

#[tokio::test]
async fn a_newer_version_is_told_from_damage() {
    let dir = used().await;
    let file = dir.path().join("meta/log.sqlite");
    let mut bytes = std::fs::read(&file).unwrap();
    // The user version of the database, big-endian at byte 60 of the file's header.
    bytes[60..64].copy_from_slice(&999u32.to_be_bytes());
    std::fs::write(&file, bytes).unwrap();
    let error = error(dir.path()).await;
    assert!(matches!(error, StartError::Newer { .. }), "{error:?}");
    assert!(error.to_string().contains("newer"), "{error}");
}

#[tokio::test]
async fn damage_is_named_and_nothing_is_guessed() {
    let dir = used().await;
    let file = dir.path().join("meta/log.sqlite");
    let before = std::fs::read(&file).unwrap();
    let mut bytes = before.clone();
    bytes[0..16].fill(0x55);
    std::fs::write(&file, &bytes).unwrap();
    let found = error(dir.path()).await;
    assert!(matches!(found, StartError::Damaged { .. }), "{found:?}");
    assert!(found.to_string().contains("log.sqlite"), "{found}");
    assert_eq!(std::fs::read(&file).unwrap(), bytes, "nothing was changed");

    std::fs::write(&file, before).unwrap();
    let marker = dir.path().join("objects/kelda-cluster");
    let mut bytes = std::fs::read(&marker).unwrap();
    bytes[20] ^= 1;
    std::fs::write(&marker, bytes).unwrap();
    let found = error(dir.path()).await;
    assert!(matches!(found, StartError::Damaged { .. }), "{found:?}");
    assert!(found.to_string().contains("kelda-cluster"), "{found}");
}

#[tokio::test]
async fn commits_that_a_damaged_frame_would_hide_are_not_lost_in_silence() {
    // What a node that was killed left.
    let golden =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../cli/tests/golden/data-0.1/data.tar.gz");
    let dir = tempfile::tempdir().unwrap();
    let unpacked =
        std::process::Command::new("tar").arg("-xzf").arg(golden).arg("-C").arg(dir.path()).status();
    assert!(unpacked.unwrap().success());
    let (data, log) = (dir.path().join("data"), dir.path().join("data/meta/log.sqlite-wal"));
    let whole = std::fs::read(&log).unwrap();
    // The third frame: a header of 32 bytes, then frames of 24 bytes and a page.
    let third = 32 + 2 * (24 + 4096);
    let mut bytes = whole.clone();
    bytes[third + 2000] ^= 1;
    std::fs::write(&log, &bytes).unwrap();
    let found = error(&data).await;
    assert!(matches!(found, StartError::Damaged { .. }), "{found:?}");
    let named = format!("log.sqlite-wal at byte {third}: commits follow");
    assert!(found.to_string().contains(&named), "{found}");
    assert_eq!(std::fs::read(&log).unwrap(), bytes, "nothing was changed");
    std::fs::write(&log, whole).unwrap();
    assert!(start_in(&data, &Options::default()).await.is_ok());
}

#[tokio::test]
async fn a_directory_that_cannot_be_written_is_named() {
    // /proc takes no directories, whoever asks.
    let found = match kelda_env::Env::real(std::path::Path::new("/proc/kelda")) {
        Ok(_) => panic!("/proc took a directory"),
        Err(error) => error,
    };
    assert!(found.to_string().contains("/proc/kelda"), "{found}");

    let dir = used().await;
    let locked = dir.path().join("lock");
    let made = std::process::Command::new("chattr").arg("+i").arg(&locked).status();
    if !made.is_ok_and(|status| status.success()) {
        return;
    }
    let error = error(dir.path()).await;
    std::process::Command::new("chattr").arg("-i").arg(&locked).status().unwrap();
    assert!(matches!(error, StartError::ReadOnly { .. }), "{error:?}");
}

#[tokio::test]
async fn a_full_disk_refuses_appends_serves_reads_and_recovers() {
    let options = Options { segment_bytes: Some(1 << 20), ..Options::default() };
    let node = TestNode::with(options).await;
    node.create("/s", "application/octet-stream").await;
    node.disk.set(Faults { capacity: Some(0), ..Faults::default() });
    let body = vec![7; 200_000];
    let plain = [("content-type", "application/octet-stream")];
    let mut taken = 0;
    let refused = loop {
        let reply = node.send("POST", "/s", &plain, body.clone()).await;
        if reply.status != 204 {
            break reply;
        }
        taken += 1;
        assert!(taken < 200, "the disk never was full");
    };
    assert_eq!(refused.refused(), (507, "disk-full".to_owned()));
    assert!(refused.header("retry-after").is_some());
    let ready = node.admin("/ready").await;
    assert_eq!((ready.status, ready.json()["status"].as_str()), (200, Some("disk-full")));
    assert_eq!(node.get("/s?bytes=16000000").await.body.len(), taken * body.len(), "reads go on");
    node.disk.set(Faults::default());
    let deadline = std::time::Instant::now() + Duration::from_secs(20);
    while node.send("POST", "/s", &plain, body.clone()).await.status != 204 {
        assert!(std::time::Instant::now() < deadline, "space came back unnoticed");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(node.admin("/ready").await.json()["status"], "ready");
    assert_eq!(node.get("/s?bytes=16000000").await.body.len(), (taken + 1) * body.len());
}
