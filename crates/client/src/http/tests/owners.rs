//! Two nodes of one cluster, and a stream that is now here, now there.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Method, Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use kelda_format::records::decode_write;
use parking_lot::Mutex;
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::http::MAX_HOPS;
use crate::{Diagnostic, Error, Kelda, ReaderEnd, RetryPolicy, Text};

/// What the nodes have in common.
struct Cluster {
    addresses: Mutex<Vec<SocketAddr>>,
    /// The node that each node believes to be the owner.
    owner: watch::Sender<[usize; 2]>,
    sealed: watch::Sender<bool>,
    records: Mutex<Vec<String>>,
    /// Requests by node, with a token in all of them.
    asked: [AtomicUsize; 3],
    /// Whether connections break instead of being answered.
    down: [watch::Sender<bool>; 2],
}

impl Cluster {
    async fn start() -> Arc<Cluster> {
        let cluster = Arc::new(Cluster {
            addresses: Mutex::default(),
            owner: watch::Sender::new([1, 1]),
            sealed: watch::Sender::new(false),
            records: Mutex::default(),
            asked: [const { AtomicUsize::new(0) }; 3],
            down: std::array::from_fn(|_| watch::Sender::new(false)),
        });
        for node in 0..3 {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            cluster.addresses.lock().push(listener.local_addr().unwrap());
            tokio::spawn(serve(Arc::clone(&cluster), node, listener));
        }
        cluster
    }

    /// A client of the first two; the third address is of nobody that it knows.
    fn client(&self, retry: RetryPolicy) -> Kelda {
        let addresses = self.addresses.lock();
        let builder = Kelda::builder(&format!("http://{}", addresses[0])).token("secret");
        builder.nodes([addresses[1].to_string()]).retry(retry).build().unwrap()
    }

    fn asked(&self) -> [usize; 3] {
        std::array::from_fn(|node| self.asked[node].load(Ordering::Relaxed))
    }

    async fn answer(&self, node: usize, request: Request<Incoming>) -> Response<Full<Bytes>> {
        assert_eq!(request.headers()["authorization"], "Bearer secret");
        self.asked[node].fetch_add(1, Ordering::Relaxed);
        let waits = request.uri().query().is_some_and(|query| query.contains("live=long-poll"));
        let (mut owner, mut sealed) = (self.owner.subscribe(), self.sealed.subscribe());
        loop {
            let now = owner.borrow_and_update()[node];
            if now != node {
                return self.elsewhere(request.method(), now);
            }
            let sealed_now = *sealed.borrow_and_update();
            if !waits || sealed_now {
                return self.done(request, sealed_now).await;
            }
            tokio::select! {
                _ = owner.changed() => {}
                _ = sealed.changed() => {}
            }
        }
    }

    fn elsewhere(&self, method: &Method, owner: usize) -> Response<Full<Bytes>> {
        let owner = self.addresses.lock()[owner].to_string();
        let body = format!(r#"{{"type":"urn:kelda:problem:owned-elsewhere","title":"x","owner":"{owner}"}}"#);
        let body = if method == Method::HEAD { String::new() } else { body };
        let answer = Response::builder().status(503).header("kelda-owner", owner);
        answer.header("content-type", "application/problem+json").body(Full::from(body)).unwrap()
    }

    async fn done(&self, request: Request<Incoming>, sealed: bool) -> Response<Full<Bytes>> {
        let mut answer =
            Response::builder().header("kelda-stream-id", "5").header("stream-up-to-date", "true");
        let post = request.method() == Method::POST;
        let body = request.into_body().collect().await.unwrap().to_bytes();
        let mut records = self.records.lock();
        if post && !body.is_empty() {
            answer = answer.header("kelda-first-offset", records.len().to_string());
            let batch = decode_write(&body).unwrap();
            records.extend(batch.records().map(|one| String::from_utf8(one.body.to_vec()).unwrap()));
        }
        if sealed {
            answer = answer.header("stream-closed", "true");
        }
        answer.header("stream-next-offset", records.len().to_string()).body(Full::default()).unwrap()
    }
}

async fn serve(cluster: Arc<Cluster>, node: usize, listener: TcpListener) {
    while let Ok((connection, _)) = listener.accept().await {
        let cluster = Arc::clone(&cluster);
        tokio::spawn(async move {
            let answers = Arc::clone(&cluster);
            let answer = service_fn(move |request| {
                let cluster = Arc::clone(&answers);
                async move { Ok::<_, Infallible>(cluster.answer(node, request).await) }
            });
            let server = auto::Builder::new(TokioExecutor::new());
            let serving = server.serve_connection(TokioIo::new(connection), answer);
            match cluster.down.get(node).map(watch::Sender::subscribe) {
                // One that is down answers nothing any more, whatever it could answer.
                Some(mut down) => tokio::select! {
                    biased;
                    _ = down.wait_for(|down| *down) => {}
                    _ = serving => {}
                },
                None => drop(serving.await),
            }
        });
    }
}

fn batch(body: &str) -> Bytes {
    crate::encode_bodies([body.as_bytes()].into_iter()).unwrap()
}

#[tokio::test]
async fn the_owner_is_followed_at_once_whatever_is_asked_and_found_directly_from_then_on() {
    for first in ["head", "append", "seal", "delete"] {
        let cluster = Cluster::start().await;
        let kelda = cluster.client(RetryPolicy::never());
        match first {
            "head" => drop(kelda.head("s").await.unwrap()),
            "append" => drop(kelda.append_once("s", batch("x")).await.unwrap()),
            "seal" => drop(kelda.seal("s").await.unwrap()),
            _ => kelda.delete("s").await.unwrap(),
        }
        assert_eq!(cluster.asked(), [1, 1, 0], "{first}");
        kelda.append_once("s", batch("y")).await.unwrap();
        assert_eq!(cluster.asked(), [1, 2, 0], "{first}");
        assert_eq!(cluster.records.lock().last().map(String::as_str), Some("y"));
    }
}

#[tokio::test]
async fn no_request_goes_to_an_owner_that_was_not_given() {
    let cluster = Cluster::start().await;
    cluster.owner.send_replace([2, 2]);
    let kelda = cluster.client(RetryPolicy::never());
    for _ in 0..2 {
        let error = kelda.append_once("s", batch("x")).await.unwrap_err();
        assert_eq!(error.code(), Some("owned-elsewhere"), "{error}");
        let error = kelda.head("s").await.unwrap_err();
        assert_eq!(error.code(), Some("owned-elsewhere"), "{error}");
    }
    assert_eq!(cluster.asked(), [4, 0, 0]);
}

#[tokio::test]
async fn nodes_that_name_each_other_are_not_followed_for_ever() {
    let cluster = Cluster::start().await;
    cluster.owner.send_replace([1, 0]);
    let kelda = cluster.client(RetryPolicy::never());
    let error = kelda.append_once("s", batch("x")).await.unwrap_err();
    assert_eq!(error.code(), Some("owned-elsewhere"), "{error}");
    assert_eq!(cluster.asked().iter().sum::<usize>(), 1 + MAX_HOPS);
}

#[tokio::test]
async fn a_reader_at_the_tail_goes_along_when_the_stream_moves() {
    let cluster = Cluster::start().await;
    let kelda = cluster.client(RetryPolicy::never());
    let mut diagnostics = kelda.diagnostics();
    let reader = kelda.stream::<String>("s").codec(Text).from_first().consume(|_| async {}).await.unwrap();
    // Asked for the stream, for the first page, and waiting.
    until(|| cluster.asked() == [1, 3, 0]).await;
    cluster.owner.send_replace([0, 0]);
    until(|| cluster.asked() == [2, 3, 0]).await;
    cluster.sealed.send_replace(true);
    let end = reader.join().await;
    assert!(matches!(end, ReaderEnd::Sealed), "{end:?}");
    assert_eq!(diagnostics.try_next(), None, "nothing was lost");
}

#[tokio::test]
async fn a_reader_whose_owner_is_gone_finds_the_next() {
    let cluster = Cluster::start().await;
    let kelda = cluster.client(RetryPolicy::never());
    let mut diagnostics = kelda.diagnostics();
    let reader = kelda.stream::<String>("s").codec(Text).from_first().consume(|_| async {}).await.unwrap();
    until(|| cluster.asked() == [1, 3, 0]).await;
    cluster.owner.send_replace([0, 1]);
    cluster.down[1].send_replace(true);
    cluster.sealed.send_replace(true);
    let end = reader.join().await;
    assert!(matches!(end, ReaderEnd::Sealed), "{end:?}");
    assert!(matches!(diagnostics.try_next(), Some(Diagnostic::ReaderReconnecting { .. })));
}

#[tokio::test]
async fn a_producer_goes_along_when_the_stream_moves() {
    let cluster = Cluster::start().await;
    let kelda = cluster.client(RetryPolicy::never()).clone();
    let producer =
        kelda.producer::<str>("s").codec(Text).reconnect(RetryPolicy::never()).open().await.unwrap();
    for (number, owner) in [1, 0, 1, 0].into_iter().enumerate() {
        cluster.owner.send_replace([owner, owner]);
        let sent: Result<_, Error> = producer.send(&number.to_string()).await.unwrap().await;
        assert_eq!(sent.unwrap().offset, Some(number as u64));
    }
    assert_eq!(*cluster.records.lock(), ["0", "1", "2", "3"]);
}

/// Waits until this is so; the limit is only there so that a failure ends.
async fn until(mut so: impl FnMut() -> bool) {
    for _ in 0..10_000 {
        if so() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    panic!("never");
}
