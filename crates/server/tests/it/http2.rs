//! HTTP/2 without TLS, on the same listener.

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{Request, Version};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;

use crate::support::TestNode;

#[tokio::test]
async fn both_versions_on_one_listener() {
    let node = TestNode::start().await;
    node.create("/s", "text/plain").await;
    let client: Client<_, Full<Bytes>> = Client::builder(TokioExecutor::new()).http2_only(true).build_http();
    let send = |method: &'static str, target: String, body: String| {
        let (client, url) = (client.clone(), node.url(&target));
        async move {
            let request = Request::builder().method(method).uri(url).header("content-type", "text/plain");
            let response = client.request(request.body(Full::from(body)).unwrap()).await.unwrap();
            assert_eq!(response.version(), Version::HTTP_2);
            let (parts, body) = response.into_parts();
            (parts.status.as_u16(), parts.headers, body.collect().await.unwrap().to_bytes())
        }
    };
    let posts = (0..100).map(|n| send("POST", "/s".to_owned(), format!("{n:03}")));
    for (status, headers, _) in futures::future::join_all(posts).await {
        assert_eq!((status, headers.contains_key("kelda-first-offset")), (204, true));
    }
    let (status, _, body) = send("GET", "/s".to_owned(), String::new()).await;
    assert_eq!((status, body.len()), (200, 300));
    assert_eq!(node.get("/s").await.body, body, "HTTP/1.1 sees the same");
    let (status, headers, _) = send("PUT", "/two".to_owned(), String::new()).await;
    assert_eq!((status, headers["location"].to_str().unwrap()), (201, node.url("/two").as_str()));
    let ((status, _, body), _) =
        tokio::join!(send("GET", "/s?offset=now&live=long-poll".to_owned(), String::new()), async {
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
            node.append("/s", "new").await
        });
    assert_eq!((status, body.as_ref()), (200, &b"new"[..]));
}

#[tokio::test]
async fn a_large_body_both_ways() {
    let node = TestNode::start().await;
    node.create("/s", "application/octet-stream").await;
    let client: Client<_, Full<Bytes>> = Client::builder(TokioExecutor::new()).http2_only(true).build_http();
    let meant = Bytes::from((0..5_000_000u32).map(|n| u8::try_from(n % 249).unwrap()).collect::<Vec<_>>());
    let request = Request::builder()
        .method("POST")
        .uri(node.url("/s"))
        .header("content-type", "application/octet-stream");
    let response = client.request(request.body(Full::new(meant.clone())).unwrap()).await.unwrap();
    assert_eq!(response.status(), 204);
    let response =
        client.request(Request::builder().uri(node.url("/s")).body(Full::default()).unwrap()).await.unwrap();
    assert!(response.into_body().collect().await.unwrap().to_bytes() == meant);
}
