//! The S3 API that the tests run against: its address comes in a variable, so that whoever runs the tests chooses it.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use kelda_env::Env;
use kelda_env::layers::Patience;
use kelda_store::{Remote, StoreUrl, open};

/// The address of the server, such as `http://127.0.0.1:5000`. `./check` starts one.
const ENDPOINT: &str = "KELDA_TEST_S3";
/// Set where a run without the server is a failure.
const REQUIRED: &str = "KELDA_CHECK";
const NAME: &str = "kelda-test";

/// A prefix of its own in the bucket of the tests.
pub struct Bucket {
    pub endpoint: String,
    pub prefix: String,
}

impl Bucket {
    /// A new prefix, or nothing when there is no server.
    pub fn new() -> Option<Bucket> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let Ok(endpoint) = std::env::var(ENDPOINT) else {
            assert!(std::env::var(REQUIRED).is_err(), "{ENDPOINT} is not set");
            println!("skipped: {ENDPOINT} is not set; ./check starts a server and sets it");
            return None;
        };
        assert!(std::env::var("AWS_ACCESS_KEY_ID").is_ok(), "AWS_ACCESS_KEY_ID is not set; any will do");
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos();
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        create(&endpoint);
        Some(Bucket { endpoint, prefix: format!("{}-{now}-{number}", std::process::id()) })
    }

    pub fn url(&self) -> String {
        let Bucket { endpoint, prefix } = self;
        format!("s3://{NAME}/{prefix}?region=us-east-1&endpoint={endpoint}&allow_http=true")
    }

    pub fn open(&self, env: &Env) -> Remote {
        at(&self.url(), env)
    }
}

/// The store at a URL.
pub fn at(url: &str, env: &Env) -> Remote {
    let StoreUrl::Remote(url) = url.parse().unwrap() else { panic!("{url}") };
    open(&url, env, Patience::default()).unwrap()
}

/// Creates the bucket; one that is there is left alone.
fn create(endpoint: &str) {
    let address = endpoint.strip_prefix("http://").expect("the server speaks plain HTTP");
    let mut stream = TcpStream::connect(address).expect("the server answers");
    write!(
        stream,
        "PUT /{NAME} HTTP/1.1\r\nHost: {address}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.contains(" 200 ") || answer.contains("BucketAlreadyOwnedByYou"), "{answer}");
}
