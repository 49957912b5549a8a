//! Backups, restorations and moves with an S3 API on one side or the other. Its address comes in a variable; `./check` starts
//! a server.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{SystemTime, UNIX_EPOCH};

use super::{Place, check_everything, clean};
use crate::golden::first_directory;
use crate::node::{Node, kelda};

const ENDPOINT: &str = "KELDA_TEST_S3";
const BUCKET: &str = "kelda-test";

/// A prefix of its own in the bucket of the tests; nothing without a server.
fn prefix(name: &str) -> Option<String> {
    let Ok(endpoint) = std::env::var(ENDPOINT) else {
        assert!(std::env::var("KELDA_CHECK").is_err(), "{ENDPOINT} is not set");
        println!("skipped: {ENDPOINT} is not set");
        return None;
    };
    let address = endpoint.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    let request = format!(
        "PUT /{BUCKET} HTTP/1.1\r\nHost: {address}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.contains(" 200 ") || answer.contains("BucketAlreadyOwnedByYou"), "{answer}");
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos();
    Some(format!("s3://{BUCKET}/{name}-{now}?region=us-east-1&endpoint={endpoint}&allow_http=true"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_in_a_bucket_comes_back() {
    let Some(backups) = prefix("backups") else { return };
    let place = Place::new();
    let data = first_directory(place.temporary.path());
    let mut node = Node::with(&data, &["--admin-listen", "127.0.0.1:0"]);
    let taken = place.json(&["backup", "--to", &backups, "--admin", node.admin()]);
    assert_eq!(taken["records"], 270);
    node.kill();
    let again = place.json(&["backup", "--to", &backups, "--data-dir", data.to_str().unwrap()]);
    assert_eq!(again["copied_objects"], 0, "all of it was there");
    let to = place.path("restored");
    place.json(&["restore", "--from", &backups, "--data-dir", to.to_str().unwrap()]);
    check_everything(Node::start(&to), &to, "local").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_moves_to_a_bucket_and_back() {
    let Some(bucket) = prefix("objects") else { return };
    let place = Place::new();
    let data = first_directory(place.temporary.path());
    let dir = data.to_str().unwrap();
    let moved = place.json(&["migrate", "--data-dir", dir, "--to", &bucket]);
    assert_eq!(moved["missing"], serde_json::json!([]));
    let again = place.json(&["migrate", "--data-dir", dir, "--to", &bucket]);
    assert_eq!((&again["copied_objects"], &again["present_objects"]), (&0.into(), &moved["copied_objects"]));
    std::fs::remove_dir_all(data.join("objects")).unwrap();
    let check = |args: &[&str]| {
        let output =
            kelda(&["check", "--json", "--data-dir", dir, "--store", &bucket]).args(args).output().unwrap();
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", report["findings"]);
        report
    };
    let report = check(&[]);
    assert!(report["totals"]["objects"].as_u64().unwrap() >= 3);
    assert_eq!(check(&["--repair", "--yes"])["repair"]["failed"], serde_json::json!([]));
    check_everything(Node::with(&data, &["--store", &bucket, "--wal", "local"]), &data, &bucket).await;
    let back = place.url("back");
    place.json(&["migrate", "--data-dir", dir, "--store", &bucket, "--to", &back]);
    clean(&data, &back);
    let mut node = Node::with(&data, &["--store", &back]);
    assert!(node.stdout(&["read", "golden/text"]).starts_with("line 0\nline 1\n"));
    assert!(node.stop().success());
}
