//! What the answers of a service mean, told by a server that says what it is told to.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::time::Duration;

use bytes::Bytes;
use kelda_env::{Env, Store, StoreError, StoreOp, Tag};
use kelda_store::Remote;

/// A server that gives every request this answer.
fn server(status: &'static str, headers: &'static str, body: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let (mut line, mut len, mut head) = (String::new(), 0, false);
            while reader.read_line(&mut line).is_ok_and(|read| read > 2) {
                head |= line.starts_with("HEAD ");
                if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                    len = value.trim().parse().unwrap();
                }
                line.clear();
            }
            reader.read_exact(&mut vec![0; len]).unwrap();
            let (shown, length) = (if head { "" } else { body }, body.len());
            let _ = write!(
                stream,
                "HTTP/1.1 {status}\r\nContent-Length: {length}\r\n{headers}Connection: close\r\n\r\n{shown}"
            );
        }
    });
    format!("s3://bucket/p?region=us-east-1&allow_http=true&endpoint=http://{address}")
}

/// What a request says that was answered so. Only where there are credentials, since without them none is sent.
fn answered<F: Future<Output = StoreError>>(
    status: &'static str,
    headers: &'static str,
    body: &'static str,
    ask: impl FnOnce(Remote) -> F,
) -> Option<StoreError> {
    crate::s3::Bucket::new()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let dir = tempfile::tempdir().unwrap();
    Some(runtime.block_on(async {
        let env = Env::real(dir.path()).unwrap();
        ask(crate::s3::at(&server(status, headers, body), &env)).await
    }))
}

async fn create(store: Remote) -> StoreError {
    store.put_if_absent("a", Bytes::from_static(b"x")).await.unwrap_err()
}

async fn swap(store: Remote) -> StoreError {
    store.swap("a", Bytes::from_static(b"x"), &Tag("\"1\"".to_owned())).await.unwrap_err()
}

async fn get(store: Remote) -> StoreError {
    store.get("a").await.unwrap_err()
}

async fn list(store: Remote) -> StoreError {
    store.list("").await.unwrap_err()
}

async fn head(store: Remote) -> StoreError {
    store.head("a").await.unwrap_err()
}

#[test]
fn a_store_that_wants_fewer_requests_is_understood_with_the_wait_it_asks_for() {
    let slow = "<Error><Code>SlowDown</Code></Error>";
    for (status, headers, asked) in [
        ("503 Slow Down", "", None),
        ("503 Slow Down", "Retry-After: 7\r\n", Some(Duration::from_secs(7))),
        ("429 Too Many Requests", "Retry-After: 2\r\n", Some(Duration::from_secs(2))),
    ] {
        let Some(error) = answered(status, headers, slow, create) else { return };
        let StoreError::Throttled { wait, op: StoreOp::Put, .. } = &error else { panic!("{error}") };
        assert_eq!(*wait, asked);
        assert!(error.is_retryable() && error.is_outcome_unknown());
    }
}

#[test]
fn refusals_are_told_from_failures() {
    let denied = "<Error><Code>AccessDenied</Code></Error>";
    let Some(error) = answered("403 Forbidden", "", denied, get) else { return };
    assert!(
        matches!(&error, StoreError::Denied { detail, .. } if detail.contains("AccessDenied")),
        "{error}"
    );
    assert!(!error.is_retryable());
    let error = answered("400 Bad Request", "", "<Error><Code>ExpiredToken</Code></Error>", create).unwrap();
    assert!(matches!(error, StoreError::Denied { .. }), "{error}");
    let error = answered("403 Forbidden", "", "", head).unwrap();
    assert!(matches!(error, StoreError::Denied { .. }), "{error}");
    let error = answered("500 Internal Server Error", "", "<Error>InternalError</Error>", create).unwrap();
    assert!(matches!(error, StoreError::Failed { .. }) && error.is_outcome_unknown(), "{error}");
    let error = answered("301 Moved Permanently", "", "", list).unwrap();
    assert!(matches!(error, StoreError::Failed { .. }), "{error}");
}

#[test]
fn only_an_object_that_is_missing_is_called_so() {
    let none = "<Error><Code>NoSuchKey</Code></Error>";
    let Some(error) = answered("404 Not Found", "", none, get) else { return };
    assert!(error.is_not_found(), "{error}");
    let no_bucket = "<Error><Code>NoSuchBucket</Code></Error>";
    for error in [
        answered("404 Not Found", "", no_bucket, get).unwrap(),
        answered("404 Not Found", "", no_bucket, create).unwrap(),
        answered("404 Not Found", "", no_bucket, list).unwrap(),
    ] {
        assert!(matches!(&error, StoreError::Failed { .. }), "{error}");
        assert!(error.to_string().contains("NoSuchBucket"), "{error}");
    }
}

#[test]
fn conflicts_are_told_from_requests_that_are_under_way() {
    let Some(error) = answered("412 Precondition Failed", "", "<Error/>", create) else { return };
    assert!(error.is_already_exists(), "{error}");
    let error = answered("412 Precondition Failed", "", "<Error/>", swap).unwrap();
    assert!(error.is_stale(), "{error}");
    let error = answered("404 Not Found", "", "<Error><Code>NoSuchKey</Code></Error>", swap).unwrap();
    assert!(error.is_stale(), "{error}");
    let under_way = "<Error><Code>ConditionalRequestConflict</Code></Error>";
    for error in [
        answered("409 Conflict", "", under_way, create).unwrap(),
        answered("409 Conflict", "", under_way, swap).unwrap(),
    ] {
        assert!(matches!(&error, StoreError::Failed { .. }) && error.is_outcome_unknown(), "{error}");
    }
}
