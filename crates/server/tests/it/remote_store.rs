//! A node whose objects are in a store of the network, with its log on the local disk.

use kelda_server::node::StartError;
use tempfile::TempDir;

use crate::s3::Bucket;
use crate::support::{Options, TestNode, start_in};

fn options(url: &str) -> Options {
    Options {
        flags: vec!["--store".to_owned(), url.to_owned(), "--wal=local".to_owned()],
        segment_bytes: Some(256 << 10),
        ..Options::default()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn records_survive_a_restart_and_lie_in_the_bucket() {
    let Some(bucket) = Bucket::new() else { return };
    let mut node = TestNode::with(options(&bucket.url())).await;
    assert_eq!(node.create("/s", "text/plain").await.status, 201);
    let body = |number: usize| format!("{number:04};").repeat(2000);
    for number in 0..100 {
        assert_eq!(node.append("/s", &body(number)).await.status, 204);
    }
    node.restart().await;
    let wanted: String = (0..100).map(body).collect();
    let mut read = String::new();
    let mut offset = "0".to_owned();
    while read.len() < wanted.len() {
        let reply = node.get(&format!("/s?offset={offset}")).await;
        assert_eq!(reply.status, 200, "{}", reply.text());
        read.push_str(reply.text());
        offset = reply.header("stream-next-offset").unwrap().to_owned();
    }
    assert!(read == wanted);
    let metrics = node.admin("/metrics").await;
    let gets = metrics
        .text()
        .lines()
        .find(|line| line.starts_with("kelda_store_requests_total{kind=\"get\",outcome=\"ok\""));
    assert!(!gets.unwrap().ends_with(" 0"), "{gets:?}");
    let dir = TempDir::new().unwrap();
    let env = kelda_env::Env::real(dir.path()).unwrap();
    let keys = kelda_env::Store::list(&bucket.open(&env), "").await.unwrap();
    assert!(keys.iter().any(|object| object.key == "kelda-cluster"), "{keys:?}");
    assert!(keys.iter().filter(|object| object.key.contains("/data/")).count() >= 3, "{keys:?}");
    assert!(!keys.iter().any(|object| object.key.contains("/probe/")), "{keys:?}");
    assert!(!node.dir.path().join("objects").exists(), "nothing is kept twice");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_store_of_somebody_else_and_an_empty_one_are_refused() {
    let (Some(bucket), Some(empty)) = (Bucket::new(), Bucket::new()) else { return };
    let mut node = TestNode::with(options(&bucket.url())).await;
    node.filled("/s", &[&"x".repeat(300 << 10), "b"]).await;
    assert!(node.node.take().unwrap().stop().await);
    let error = refused(node.dir.path(), &empty.url()).await;
    assert!(matches!(&error, StartError::Store { .. }), "{error:?}");
    let text = error.to_string();
    assert!(
        text.contains(&empty.prefix) && text.contains("--store") && text.contains("kelda-cluster"),
        "{text}"
    );
    let other = TempDir::new().unwrap();
    let error = refused(other.path(), &bucket.url()).await;
    assert!(matches!(&error, StartError::OtherCluster { .. }), "{error:?}");
    assert!(error.to_string().contains(&bucket.prefix), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bucket_that_is_not_there_is_named() {
    let Some(bucket) = Bucket::new() else { return };
    let dir = TempDir::new().unwrap();
    let error = refused(dir.path(), &bucket.url().replace("kelda-test", "kelda-none")).await.to_string();
    assert!(error.contains("s3://kelda-none/") && error.contains("NoSuchBucket"), "{error}");
}

async fn refused(dir: &std::path::Path, url: &str) -> StartError {
    match start_in(dir, &options(url)).await {
        Ok(_) => panic!("it started"),
        Err(error) => error,
    }
}
