//! Clients that are slow on purpose: they hold little and are cut when they stand still.

use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::{Options, TestNode, read_all};

/// The clock of these tests runs twenty times faster: 30 s are 1.5 s.
const SPEED: u32 = 20;
const LIMIT: Duration = Duration::from_millis(1_500);

async fn node() -> TestNode {
    let node = TestNode::with(Options { speed: Some(SPEED), ..Options::default() }).await;
    node.create("/s", "application/octet-stream").await;
    node
}

/// How long the peer takes to close.
async fn closed_after(stream: &mut TcpStream) -> (Duration, String) {
    let begun = Instant::now();
    let text = tokio::time::timeout(Duration::from_secs(20), read_all(stream)).await.expect("never cut");
    (begun.elapsed(), text)
}

#[tokio::test]
async fn a_connection_without_a_request_is_cut() {
    let node = node().await;
    let mut stream = TcpStream::connect(node.address()).await.unwrap();
    let (took, text) = closed_after(&mut stream).await;
    assert!(took >= LIMIT / 2 && took < LIMIT * 3, "{took:?}");
    assert_eq!(text, "");
}

#[tokio::test]
async fn a_head_that_does_not_end_is_cut_however_it_drips() {
    let node = node().await;
    let mut stream = TcpStream::connect(node.address()).await.unwrap();
    let begun = Instant::now();
    let mut drops = b"GET /s HTTP/1.1\r\nx: ".iter().chain(std::iter::repeat(&b'a'));
    loop {
        assert!(begun.elapsed() < LIMIT * 4, "never cut");
        if stream.write_all(&[*drops.next().unwrap()]).await.is_err() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(begun.elapsed() >= LIMIT / 2);
}

#[tokio::test]
async fn an_idle_connection_is_closed_later_than_load_balancers_do() {
    let node = node().await;
    let mut stream = TcpStream::connect(node.address()).await.unwrap();
    stream.write_all(b"HEAD /s HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    let mut buffer = [0; 4096];
    assert!(stream.read(&mut buffer).await.unwrap() > 0);
    let (took, _) = closed_after(&mut stream).await;
    let meant = Duration::from_secs(75) / SPEED;
    assert!(took >= meant * 9 / 10 && took < meant * 2, "{took:?}");
}

#[tokio::test]
async fn a_body_that_stands_still_is_cut_and_one_that_drips_is_not() {
    let node = node().await;
    let head = b"POST /s HTTP/1.1\r\nhost: x\r\ncontent-type: application/octet-stream\r\ncontent-length: 60\r\n\r\n";
    let mut still = TcpStream::connect(node.address()).await.unwrap();
    still.write_all(head).await.unwrap();
    still.write_all(b"abc").await.unwrap();
    let (took, text) = closed_after(&mut still).await;
    assert!(took >= LIMIT / 2 && took < LIMIT * 3, "{took:?}");
    assert!(text.starts_with("HTTP/1.1 408") && text.contains("urn:kelda:problem:request-timeout"), "{text}");

    let mut dripping = TcpStream::connect(node.address()).await.unwrap();
    dripping.write_all(head).await.unwrap();
    for _ in 0..60 {
        dripping.write_all(b"x").await.unwrap();
        tokio::time::sleep(Duration::from_secs(1) / SPEED).await;
    }
    let mut buffer = [0; 4096];
    let count = dripping.read(&mut buffer).await.unwrap();
    assert!(buffer[..count].starts_with(b"HTTP/1.1 204"), "one byte a second is progress");
    assert_eq!(node.head("/s").await.offset("stream-next-offset"), 1);
}

#[tokio::test]
async fn a_reader_that_takes_nothing_is_cut() {
    let node = node().await;
    for _ in 0..16 {
        node.send("POST", "/s", &[("content-type", "application/octet-stream")], vec![1; 1 << 20]).await;
    }
    let mut stream = TcpStream::connect(node.address()).await.unwrap();
    stream.write_all(b"GET /s?bytes=16000000 HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    tokio::time::sleep(LIMIT * 3).await;
    let mut taken = 0;
    let mut buffer = vec![0; 1 << 20];
    while let Ok(count) = tokio::time::timeout(LIMIT, stream.read(&mut buffer)).await.expect("still open") {
        if count == 0 {
            break;
        }
        taken += count;
    }
    assert!(taken < 15_000_000, "all {taken} bytes came: it was not cut");
}

/// Resident bytes of this process.
fn resident() -> u64 {
    let pages: u64 =
        std::fs::read_to_string("/proc/self/statm").unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    pages * 4096
}

/// A thousand clients of one kind, each doing one byte a second of this test's time; what each holds.
async fn held_by_each(node: &TestNode, requests: impl Fn(usize) -> Vec<u8>, drip: bool) -> u64 {
    const CLIENTS: usize = 1_000;
    let _ = kelda_env::raise_open_files_limit();
    let before = resident();
    let mut clients = Vec::new();
    for n in 0..CLIENTS {
        let mut stream = TcpStream::connect(node.address()).await.unwrap();
        stream.write_all(&requests(n)).await.unwrap();
        clients.push(stream);
    }
    let mut most = 0;
    for _ in 0..10 {
        for stream in &mut clients {
            let done = if drip {
                stream.write_all(b"x").await
            } else {
                stream.read_exact(&mut [0]).await.map(|_| ())
            };
            done.unwrap();
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
        most = most.max(resident().saturating_sub(before));
    }
    most / CLIENTS as u64
}

/// Runs an ignored test in a process of its own, where nothing else takes memory.
fn alone(test: &str) {
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--ignored", "--nocapture"])
        .output()
        .unwrap();
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

#[test]
fn a_thousand_slow_senders_hold_little() {
    alone("slow_clients::measured::senders");
}

#[test]
fn a_thousand_slow_readers_hold_little() {
    alone("slow_clients::measured::readers");
}

mod measured {
    use super::*;

    #[tokio::test]
    #[ignore = "measures memory: run by another test in a process of its own"]
    async fn senders() {
        let node = TestNode::start().await;
        node.create("/s", "application/octet-stream").await;
        let head = "POST /s HTTP/1.1\r\nhost: x\r\ncontent-type: application/octet-stream\r\ncontent-length: 100000000\r\n\r\n";
        let held = held_by_each(&node, |_| head.as_bytes().to_vec(), true).await;
        assert!(held < 64 << 10, "{held} bytes each");
        println!("slow senders hold {held} bytes each");
    }

    #[tokio::test]
    #[ignore = "measures memory: run by another test in a process of its own"]
    async fn readers() {
        let node = TestNode::start().await;
        for stream in 0..20 {
            let name = format!("/s{stream}");
            node.create(&name, "application/octet-stream").await;
            for _ in 0..40 {
                node.send("POST", &name, &[("content-type", "application/octet-stream")], vec![1; 20_000])
                    .await;
            }
        }
        for query in ["?offset=0", "?offset=0&live=sse", "?offset=0&as=records"] {
            let request =
                |n: usize| format!("GET /s{}{query} HTTP/1.1\r\nhost: x\r\n\r\n", n % 20).into_bytes();
            let held = held_by_each(&node, request, false).await;
            assert!(held < 64 << 10, "{query}: {held} bytes each");
            println!("slow readers of {query} hold {held} bytes each");
        }
    }
}
