//! Bounds, each with its answer.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::{Options, TestNode, exchange, read_all};

#[tokio::test]
async fn a_body_that_says_it_is_too_large_is_refused_before_it_comes() {
    let node = TestNode::start().await;
    node.create("/s", "text/plain").await;
    let head = format!(
        "POST /s HTTP/1.1\r\nhost: x\r\ncontent-type: text/plain\r\ncontent-length: {}\r\nexpect: 100-continue\r\n\r\n",
        (128 << 20) + 1
    );
    let reply = exchange(node.address(), head.as_bytes()).await;
    assert!(reply.starts_with("HTTP/1.1 413"), "{reply}");
    assert!(reply.contains("urn:kelda:problem:too-large") && reply.contains("134217728"), "{reply}");
}

#[tokio::test]
async fn a_body_that_turns_out_too_large_is_refused() {
    let node = TestNode::start().await;
    node.create("/s", "application/octet-stream").await;
    let mut stream = TcpStream::connect(node.address()).await.unwrap();
    let head = "POST /s HTTP/1.1\r\nhost: x\r\ncontent-type: application/octet-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    stream.write_all(head.as_bytes()).await.unwrap();
    let piece = [b"400000\r\n".to_vec(), vec![7; 4 << 20], b"\r\n".to_vec()].concat();
    let (mut read, mut write) = stream.into_split();
    let sending = async {
        for _ in 0..40 {
            if write.write_all(&piece).await.is_err() {
                break;
            }
        }
    };
    let receiving = async {
        let mut buffer = vec![0; 4096];
        let count = read.read(&mut buffer).await.unwrap_or(0);
        String::from_utf8_lossy(&buffer[..count]).into_owned()
    };
    let (reply, ()) = tokio::join!(receiving, sending);
    assert!(reply.is_empty() || reply.starts_with("HTTP/1.1 413"), "{reply}");
    assert_eq!(node.head("/s").await.offset("stream-next-offset"), 0);
}

#[tokio::test]
async fn the_largest_record_goes_in_and_out() {
    let node = TestNode::start().await;
    node.create("/s", "application/octet-stream").await;
    let body = bytes::Bytes::from(vec![9; 128 << 20]);
    let reply = node.send("POST", "/s", &[("content-type", "application/octet-stream")], body.clone()).await;
    assert_eq!(reply.status, 204, "{}", reply.text());
    let reply = node.get("/s").await;
    assert!(reply.body == body);
}

#[tokio::test]
async fn header_blocks_have_a_limit() {
    let node = TestNode::start().await;
    let long = "x".repeat(65 << 10);
    let reply =
        exchange(node.address(), format!("GET /s HTTP/1.1\r\nhost: x\r\nx-long: {long}\r\n\r\n").as_bytes())
            .await;
    assert!(reply.starts_with("HTTP/1.1 431"), "{reply}");
    let many: String = (0..200).map(|n| format!("x-{n}: y\r\n")).collect();
    let reply =
        exchange(node.address(), format!("GET /s HTTP/1.1\r\nhost: x\r\n{many}\r\n").as_bytes()).await;
    assert!(reply.starts_with("HTTP/1.1 431"), "{reply}");
    let fine = "x".repeat(40 << 10);
    let request = format!("GET /s HTTP/1.1\r\nhost: x\r\nconnection: close\r\nx-long: {fine}\r\n\r\n");
    let reply = exchange(node.address(), request.as_bytes()).await;
    assert!(reply.starts_with("HTTP/1.1 404"), "{reply}");
}

#[tokio::test]
async fn one_connection_too_many_is_told_so() {
    let node = TestNode::with(Options::flags(&["--max-connections=3"])).await;
    let mut held = Vec::new();
    for _ in 0..3 {
        held.push(TcpStream::connect(node.address()).await.unwrap());
    }
    tokio::time::sleep(Duration::from_millis(100)).await;
    let mut fourth = TcpStream::connect(node.address()).await.unwrap();
    let reply = read_all(&mut fourth).await;
    assert!(reply.starts_with("HTTP/1.1 503") && reply.contains("retry-after: 1"), "{reply}");
    assert!(reply.contains("urn:kelda:problem:overloaded"), "{reply}");
    drop(held);
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(node.get("/").await.status, 200, "a seat is free again");
}

#[tokio::test]
async fn bodies_that_do_not_fit_in_memory_together_wait_and_then_are_refused() {
    let options = Options { speed: Some(10), ..Options::flags(&["--request-memory=192MiB"]) };
    let node = TestNode::with(options).await;
    node.create("/s", "application/octet-stream").await;
    let mut held = Vec::new();
    for _ in 0..2 {
        let mut stream = TcpStream::connect(node.address()).await.unwrap();
        let head = format!(
            "POST /s HTTP/1.1\r\nhost: x\r\ncontent-type: application/octet-stream\r\ncontent-length: {}\r\n\r\n",
            100 << 20
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        held.push(stream);
    }
    let piece = vec![0; 90 << 20];
    for stream in &mut held {
        stream.write_all(&piece).await.unwrap();
    }
    let body = bytes::Bytes::from(vec![1; 20 << 20]);
    let reply = node.send("POST", "/s", &[("content-type", "application/octet-stream")], body.clone()).await;
    assert_eq!(reply.refused(), (503, "overloaded".to_owned()));
    assert_eq!(reply.header("retry-after"), Some("1"));
    drop(held);
    tokio::time::sleep(Duration::from_millis(300)).await;
    let reply = node.send("POST", "/s", &[("content-type", "application/octet-stream")], body).await;
    assert_eq!(reply.status, 204, "room is given back");
}

#[tokio::test]
async fn what_is_not_http_is_answered_and_closed() {
    let node = TestNode::start().await;
    let reply = exchange(node.address(), b"hello there\r\n\r\n").await;
    assert!(reply.starts_with("HTTP/1.1 400"), "{reply}");
    assert_eq!(node.get("/").await.status, 200);
}
