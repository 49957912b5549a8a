//! A node that is told to stop.

use std::time::{Duration, Instant};

use crate::support::{TestNode, start_in};

#[tokio::test]
async fn readers_that_wait_end_cleanly_and_what_is_in_flight_finishes() {
    let mut node = TestNode::start().await;
    node.filled("/s", &["a"]).await;
    let mut events = node.events("/s?offset=0&live=sse", &[]).await;
    events.expect("data").await;
    events.control().await;
    let taken = node.node.take().unwrap();
    let address = taken.listen().unwrap();
    let url = format!("http://{address}/s?offset=1&live=long-poll");
    let client: hyper_util::client::legacy::Client<_, http_body_util::Full<bytes::Bytes>> =
        hyper_util::client::legacy::Client::builder(hyper_util::rt::TokioExecutor::new()).build_http();
    let poll = client.get(url.parse().unwrap());
    let begun = Instant::now();
    let (reply, clean) = tokio::join!(poll, async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        taken.stop().await
    });
    let reply = reply.unwrap();
    assert_eq!(
        (reply.status().as_u16(), reply.headers()["stream-up-to-date"].as_bytes()),
        (204, &b"true"[..])
    );
    assert!(clean, "everything was closed");
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    events.end().await;
    assert!(tokio::net::TcpStream::connect(address).await.is_err(), "the listener is closed");
}

#[tokio::test]
async fn a_peer_that_does_not_finish_does_not_hold_up_the_stop() {
    use tokio::io::AsyncWriteExt;
    let mut node = TestNode::start().await;
    node.filled("/s", &["a"]).await;
    let mut stream = tokio::net::TcpStream::connect(node.address()).await.unwrap();
    stream
        .write_all(b"POST /s HTTP/1.1\r\nhost: x\r\ncontent-type: text/plain\r\ncontent-length: 5\r\n\r\nab")
        .await
        .unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    let begun = Instant::now();
    node.node.take().unwrap().stop().await;
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    let (again, _) = start_in(node.dir.path(), &crate::support::Options::default()).await.unwrap();
    assert!(again.stop().await);
}
