//! A node in this process, a client, and a clock that runs faster.

use std::sync::Arc;
use std::time::Duration;

use axum::http::HeaderMap;
use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use http_body_util::{BodyExt, Full};
use hyper::{Method, Request};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use kelda_engine::EngineConfig;
use kelda_env::{Clock, Env, FaultDisk, RealClock};
use kelda_format::rows::WalKind;
use kelda_server::config::{self, NodeSettings, Sources};
use kelda_server::node::{Node, StartError, prepare};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// How a node of a test differs from a usual one.
#[derive(Clone, Debug, Default)]
pub struct Options {
    pub flags: Vec<String>,
    /// How many times faster its clock runs.
    pub speed: Option<u32>,
    pub segment_bytes: Option<u64>,
}

impl Options {
    pub fn flags(flags: &[&str]) -> Options {
        Options { flags: flags.iter().map(|flag| (*flag).to_owned()).collect(), ..Options::default() }
    }
}

pub struct TestNode {
    pub node: Option<Node>,
    pub disk: Arc<FaultDisk>,
    pub dir: TempDir,
    options: Options,
    client: Client<HttpConnector, Full<Bytes>>,
}

pub struct Reply {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Reply {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("{:?}", self.body))
    }

    /// The code of the problem that the reply is.
    pub fn code(&self) -> String {
        assert_eq!(self.header("content-type"), Some("application/problem+json"), "{}", self.text());
        let json = self.json();
        assert_eq!(json["status"], self.status);
        assert!(json["detail"].as_str().is_some_and(|detail| !detail.is_empty()));
        json["type"].as_str().unwrap().strip_prefix("urn:kelda:problem:").unwrap().to_owned()
    }

    /// Status and code of a refusal.
    pub fn refused(&self) -> (u16, String) {
        (self.status, self.code())
    }

    /// The offset that a field holds.
    pub fn offset(&self, name: &str) -> u64 {
        let text = self.header(name).unwrap_or_else(|| panic!("no {name}"));
        assert_eq!(text.len(), 20, "{text}");
        text.parse().unwrap()
    }
}

pub fn settings(dir: &std::path::Path, flags: &[String]) -> NodeSettings {
    let listeners = ["--listen=127.0.0.1:0", "--amqp-listen=127.0.0.1:0", "--admin-listen=127.0.0.1:0"];
    let mut all: Vec<String> = listeners.map(str::to_owned).into();
    all.push(format!("--data-dir={}", dir.display()));
    all.extend_from_slice(flags);
    let command = config::command(clap::Command::new("serve").no_binary_name(true).args_override_self(true));
    config::load(&command.get_matches_from(all), &Sources::default()).unwrap().settings
}

/// Starts a node in a directory.
pub async fn start_in(
    dir: &std::path::Path,
    options: &Options,
) -> Result<(Node, Arc<FaultDisk>), StartError> {
    let mut env = Env::real(dir).unwrap();
    if let Some(factor) = options.speed {
        let real = RealClock::new();
        env.clock = Arc::new(FastClock { first_ms: real.now(), real, factor });
    }
    let disk = Arc::new(FaultDisk::new(Arc::clone(&env.disk), Arc::clone(&env.clock)));
    let env = env.with_disk(Arc::clone(&disk) as _);
    let prepared = prepare(env, settings(dir, &options.flags)).await?;
    let mut config = EngineConfig::default();
    // This configuration takes the place of what the flags say.
    if options.flags.iter().any(|flag| flag == "--wal=store") {
        config.wal = WalKind::Object;
    }
    if let Some(bytes) = options.segment_bytes {
        config.segment_bytes = bytes;
    }
    Ok((prepared.with_engine(config).start().await?, disk))
}

impl TestNode {
    pub async fn start() -> TestNode {
        TestNode::with(Options::default()).await
    }

    pub async fn with(options: Options) -> TestNode {
        let dir = TempDir::new().unwrap();
        let (node, disk) = start_in(dir.path(), &options).await.unwrap();
        let client = Client::builder(TokioExecutor::new()).build_http();
        TestNode { node: Some(node), disk, dir, options, client }
    }

    /// Stops the node cleanly and starts it again in its directory.
    pub async fn restart(&mut self) {
        assert!(self.node.take().unwrap().stop().await, "not a clean stop");
        let (node, disk) = start_in(self.dir.path(), &self.options).await.unwrap();
        (self.node, self.disk) = (Some(node), disk);
    }

    pub fn address(&self) -> std::net::SocketAddr {
        self.node.as_ref().unwrap().listen().unwrap()
    }

    pub fn url(&self, target: &str) -> String {
        format!("http://{}{target}", self.address())
    }

    pub async fn send(
        &self,
        method: &str,
        target: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Reply {
        self.send_to(&self.url(target), method, headers, body).await
    }

    pub async fn admin(&self, target: &str) -> Reply {
        let address = self.node.as_ref().unwrap().admin_listen().unwrap();
        self.send_to(&format!("http://{address}{target}"), "GET", &[], "").await
    }

    pub async fn admin_put(&self, target: &str) -> Reply {
        let address = self.node.as_ref().unwrap().admin_listen().unwrap();
        self.send_to(&format!("http://{address}{target}"), "PUT", &[], "").await
    }

    async fn send_to(
        &self,
        url: &str,
        method: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Reply {
        let mut request = Request::builder().method(method.parse::<Method>().unwrap()).uri(url);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = self.client.request(request.body(Full::new(body.into())).unwrap()).await.unwrap();
        let (parts, body) = response.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        Reply { status: parts.status.as_u16(), headers: parts.headers, body }
    }

    pub async fn get(&self, target: &str) -> Reply {
        self.send("GET", target, &[], "").await
    }

    pub async fn head(&self, target: &str) -> Reply {
        self.send("HEAD", target, &[], "").await
    }

    /// Creates a stream that has to be new.
    pub async fn create(&self, target: &str, content_type: &str) -> Reply {
        let reply = self.send("PUT", target, &[("content-type", content_type)], "").await;
        assert_eq!(reply.status, 201, "{}", reply.text());
        reply
    }

    /// Appends text that has to be taken.
    pub async fn append(&self, target: &str, body: &str) -> Reply {
        let reply = self.post(target, &[], body).await;
        assert_eq!(reply.status, 204, "{}", reply.text());
        reply
    }

    /// Posts text.
    pub async fn post(&self, target: &str, headers: &[(&str, &str)], body: &str) -> Reply {
        let mut all = vec![("content-type", "text/plain")];
        all.extend_from_slice(headers);
        self.send("POST", target, &all, body.to_owned()).await
    }

    /// A text stream with one record per text.
    pub async fn filled(&self, target: &str, records: &[&str]) {
        self.create(target, "text/plain").await;
        for record in records {
            self.append(target, record).await;
        }
    }

    /// Opens an event stream.
    pub async fn events(&self, target: &str, headers: &[(&str, &str)]) -> Events {
        let mut request = Request::builder().uri(self.url(target));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = self.client.request(request.body(Full::default()).unwrap()).await.unwrap();
        let (parts, body) = response.into_parts();
        Events { status: parts.status.as_u16(), headers: parts.headers, body, text: String::new() }
    }
}

/// An event stream that is being read.
pub struct Events {
    pub status: u16,
    pub headers: HeaderMap,
    body: hyper::body::Incoming,
    text: String,
}

impl Events {
    /// Name and payload of the next event; comments have the name "". Nothing at the end.
    pub async fn next(&mut self) -> Option<(String, String)> {
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let (event, rest) = (event.to_owned(), rest.to_owned());
                self.text = rest;
                let (mut name, mut data) = (String::new(), Vec::new());
                for line in event.lines() {
                    let (field, value) = line.split_once(':').unwrap();
                    let value = value.strip_prefix(' ').unwrap_or(value);
                    match field {
                        "event" => value.clone_into(&mut name),
                        "data" => data.push(value),
                        _ => {}
                    }
                }
                return Some((name, data.join("\n")));
            }
            match self.body.frame().await {
                Some(Ok(frame)) => {
                    if let Ok(bytes) = frame.into_data() {
                        self.text.push_str(std::str::from_utf8(&bytes).unwrap());
                    }
                }
                Some(Err(error)) => panic!("the event stream broke: {error}"),
                None => {
                    assert_eq!(self.text, "", "the event stream ended inside an event");
                    return None;
                }
            }
        }
    }

    /// The next event, which has to have this name.
    pub async fn expect(&mut self, name: &str) -> String {
        let limit = Duration::from_secs(10);
        let next =
            tokio::time::timeout(limit, self.next()).await.unwrap_or_else(|_| panic!("no {name} event came"));
        let (found, data) = next.unwrap_or_else(|| panic!("ended before a {name} event"));
        assert_eq!(found, name, "{data}");
        data
    }

    /// The next event, which has to be a control event.
    pub async fn control(&mut self) -> serde_json::Value {
        serde_json::from_str(&self.expect("control").await).unwrap()
    }

    /// The end, which has to come now.
    pub async fn end(&mut self) {
        let next = tokio::time::timeout(Duration::from_secs(10), self.next()).await;
        assert_eq!(next.expect("the event stream goes on"), None);
    }
}

/// Sends bytes on a connection of its own and reads what comes until the peer closes.
pub async fn exchange(address: std::net::SocketAddr, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(bytes).await.unwrap();
    read_all(&mut stream).await
}

/// What comes until the peer closes or resets.
pub async fn read_all(stream: &mut TcpStream) -> String {
    let mut all = Vec::new();
    let mut buffer = [0; 4096];
    while let Ok(count) = stream.read(&mut buffer).await {
        if count == 0 {
            break;
        }
        all.extend_from_slice(&buffer[..count]);
    }
    String::from_utf8_lossy(&all).into_owned()
}

/// A clock that runs a number of times faster, so that limits of half a minute can be waited for.
struct FastClock {
    real: RealClock,
    first_ms: u64,
    factor: u32,
}

impl Clock for FastClock {
    fn now(&self) -> u64 {
        self.first_ms + u64::try_from(self.monotonic().as_millis()).unwrap()
    }

    fn monotonic(&self) -> Duration {
        self.real.monotonic() * self.factor
    }

    fn monotonic_asleep(&self) -> Duration {
        self.monotonic()
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        self.real.sleep(duration / self.factor).boxed()
    }
}
