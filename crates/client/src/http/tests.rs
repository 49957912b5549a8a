//! Servers that say nothing, and servers that are no Kelda.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

mod owners;

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener};
use std::time::Duration;

use crate::read::{RangeReader, ReadOptions};
use crate::start::StartAt;
use crate::{Binary, Error, Kelda, RetryPolicy};

/// The clock stands still unless all wait, so no limit takes its time.
#[tokio::test(start_paused = true)]
async fn a_server_that_never_answers_is_given_up() {
    // The system takes the connections; nobody ever looks at them.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let kelda = Kelda::builder(&format!("http://{}", listener.local_addr().unwrap()));
    let kelda = kelda.retry(RetryPolicy::never()).build().unwrap();
    let patience = Duration::from_secs(2);
    let mut errors = vec![kelda.head("a").await.unwrap_err(), kelda.list("", None).await.unwrap_err()];
    errors.push(kelda.delete("a").await.unwrap_err());
    let one = crate::encode_bodies([&b"x"[..]].into_iter()).unwrap();
    errors.push(kelda.append_once("a", one).await.unwrap_err());
    errors.extend(kelda.producer::<[u8]>("a").codec(Binary).open().await.err());
    assert_eq!(errors.len(), 5);
    for follow in [false, true] {
        let options = ReadOptions { start: StartAt::Offset(0), until: None, count: None, follow, patience };
        errors.push(RangeReader::new(&kelda, "a", options).next().await.unwrap_err());
    }
    for error in errors {
        assert!(error.is_lost_connection(), "{error}");
    }
}

/// What a client is told that asks a server which answers this.
async fn answered(answer: &'static str) -> [String; 2] {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let kelda = Kelda::builder(&format!("http://{}", listener.local_addr().unwrap()));
    let kelda = kelda.retry(RetryPolicy::never()).build().unwrap();
    let server = std::thread::spawn(move || {
        for _ in 0..2 {
            let (mut connection, _) = listener.accept().unwrap();
            let mut request = [0; 4096];
            assert!(connection.read(&mut request).unwrap() > 0);
            connection.write_all(answer.as_bytes()).unwrap();
        }
    });
    let said =
        |result: Result<(), Error>| result.map_or_else(|error| error.to_string(), |()| "done".to_owned());
    let both = [said(kelda.head("x").await.map(drop)), said(kelda.delete("x").await)];
    server.join().unwrap();
    both
}

#[tokio::test]
async fn a_server_that_is_no_kelda_is_told_apart() {
    let page = "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    for said in answered(page).await {
        assert!(said.contains("http://127.0.0.1:") && said.contains("sent no"), "{said}");
    }
    let missing =
        "HTTP/1.1 404 Not Found\r\ncontent-type: text/html\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    for said in answered(missing).await {
        assert!(said.contains("http://127.0.0.1:") && said.contains("not as a Kelda server does"), "{said}");
    }
    let ours = "HTTP/1.1 404 Not Found\r\ncontent-type: application/problem+json\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    for said in answered(ours).await {
        assert!(said.contains("(404)"), "{said}");
    }
    let gone = "HTTP/1.1 204 No Content\r\nkelda-stream-id: 1\r\nconnection: close\r\n\r\n";
    assert_eq!(answered(gone).await[1], "done");
}

/// An answer that ends, or stops, in the middle of its body.
async fn cut(answer: &'static str, stays_open: bool) -> [Error; 2] {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let kelda = Kelda::builder(&format!("http://{}", listener.local_addr().unwrap()));
    let kelda = kelda.retry(RetryPolicy::never()).idle_timeout(Duration::from_millis(50)).build().unwrap();
    let server = std::thread::spawn(move || {
        let mut open = Vec::new();
        for _ in 0..2 {
            let (mut connection, _) = listener.accept().unwrap();
            let mut request = [0; 4096];
            assert!(connection.read(&mut request).unwrap() > 0);
            connection.write_all(answer.as_bytes()).unwrap();
            if !stays_open {
                connection.shutdown(Shutdown::Write).unwrap();
            }
            // To drop it with something unread would take back the answer as well.
            open.push(connection);
        }
        open
    });
    let one = crate::encode_bodies([&b"x"[..]].into_iter()).unwrap();
    let append = kelda.append_once("x", one).await.unwrap_err();
    let errors = [append, kelda.list("", None).await.unwrap_err()];
    drop(server.join().unwrap());
    errors
}

#[tokio::test]
async fn an_error_whose_body_is_cut_is_a_lost_connection() {
    let refused = "HTTP/1.1 409 Conflict\r\ncontent-type: application/problem+json\r\ncontent-length: 90\r\n\r\n{\"type\":\"urn";
    let broken = "HTTP/1.1 503 Service Unavailable\r\ncontent-length: 90\r\n\r\n{\"type\":\"urn";
    for stays_open in [false, true] {
        for error in cut(refused, stays_open).await {
            assert!(matches!(error, Error::Unreachable { .. }), "a refusal wrote nothing: {error}");
            assert!(!error.to_string().contains("refused"), "{error}");
        }
        let [append, read] = cut(broken, stays_open).await;
        assert!(append.is_outcome_unknown(), "the code that would say more is lost: {append}");
        assert!(matches!(read, Error::Unreachable { .. }), "{read}");
    }
    let moved = "HTTP/1.1 503 Service Unavailable\r\nkelda-owner: http://x:1\r\ncontent-length: 90\r\n\r\n{\"type\":\"urn";
    for error in cut(moved, false).await {
        assert_eq!(error.code(), Some("owned-elsewhere"), "the head says it all");
    }
}
