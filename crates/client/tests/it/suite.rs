//! What a reader and a producer promise on every transport: owns the scenarios, each a function of a world. Guarantees that
//! the same code runs over HTTP and AMQP, against Kelda and RabbitMQ. Never starts a server.

pub mod declaring;
pub mod failing;
pub mod messages;
pub mod positions;
pub mod producing;
pub mod proxy;
pub mod resuming;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use kelda_client::{Kelda, StreamLimits, Text};
use parking_lot::Mutex;

/// Which transport to which server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// Kelda over HTTP.
    Http,
    /// Kelda over AMQP.
    #[cfg_attr(not(feature = "amqp"), expect(dead_code, reason = "it is not there"))]
    Kelda,
    /// RabbitMQ over AMQP.
    RabbitMq,
}

impl Over {
    pub fn is_amqp(self) -> bool {
        self != Over::Http
    }
}

/// Ends all connections to the server from its side or on the way.
pub type Cut = Arc<dyn Fn() + Send + Sync>;

/// A server, two ways to it, and a stream of this test's own.
pub struct World {
    /// The way that is cut.
    pub kelda: Kelda,
    /// The way that is not.
    pub direct: Kelda,
    pub over: Over,
    pub cut: Cut,
    /// The name of this test's stream, which does not exist yet.
    pub stream: String,
}

static STREAMS: AtomicU64 = AtomicU64::new(0);

impl World {
    pub fn new(kelda: Kelda, direct: Kelda, over: Over, cut: Cut) -> World {
        let number = STREAMS.fetch_add(1, Ordering::Relaxed);
        let stream = format!("suite-{}-{number}", std::process::id());
        World { kelda, direct, over, cut, stream }
    }

    /// A server whose connections are cut on the way.
    pub async fn behind_a_proxy(url: &str, over: Over) -> World {
        let (scheme, rest) = url.split_once("://").unwrap();
        let (credentials, rest) = rest.split_once('@').map_or(("", rest), |(user, rest)| (user, rest));
        let (address, path) = rest.split_once('/').unwrap_or((rest, ""));
        let proxy = proxy::Proxy::start(address).await;
        let user = if credentials.is_empty() { String::new() } else { format!("{credentials}@") };
        let kelda = client(format!("{scheme}://{user}{}/{path}", proxy.address).trim_end_matches('/'));
        World::new(kelda, client(url), over, Arc::new(move || proxy.cut()))
    }

    /// Makes the stream, with the records `0`, `1` and so on.
    pub async fn filled(&self, records: u64) {
        self.direct.declare_stream(&self.stream, limits()).await.unwrap();
        self.fill(0..records).await;
    }

    /// Appends these numbers, one after the other, by the way that is not cut.
    pub async fn fill(&self, numbers: std::ops::Range<u64>) {
        let producer = self.direct.producer::<str>(&self.stream).codec(Text).open().await.unwrap();
        for number in numbers {
            producer.send(&number.to_string()).await.unwrap().await.unwrap();
        }
        producer.close().await.unwrap();
    }

    /// The records of a stream from the first, up to one with this text.
    pub async fn held(&self, stream: &str, last: &str) -> Vec<String> {
        let mut messages =
            self.direct.stream::<String>(stream).codec(Text).from_first().messages().await.unwrap();
        let mut held = Vec::new();
        while held.last().map(String::as_str) != Some(last) {
            let message = messages.next().await.unwrap().unwrap();
            held.push(message.payload().clone());
            message.done().await;
        }
        held
    }
}

/// A client of this server.
pub fn client(url: &str) -> Kelda {
    Kelda::builder(url).client_name("suite").build().unwrap()
}

/// Limits that every transport can say.
pub fn limits() -> StreamLimits {
    StreamLimits::new().max_bytes(1 << 30)
}

/// Waits until this is so; the limit is only there so that a failure ends.
pub async fn until(what: &str, mut so: impl FnMut() -> bool) {
    for _ in 0..12_000 {
        if so() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("never: {what}");
}

/// What handlers were given.
#[derive(Clone, Default)]
pub struct Seen(Arc<Mutex<Vec<String>>>);

impl Seen {
    pub fn add(&self, text: &str) {
        self.0.lock().push(text.to_owned());
    }

    pub fn list(&self) -> Vec<String> {
        self.0.lock().clone()
    }

    pub fn count(&self) -> usize {
        self.0.lock().len()
    }

    /// What was given more than once, and how often.
    pub fn repeated(&self) -> BTreeMap<String, usize> {
        let mut times = BTreeMap::new();
        self.0.lock().iter().for_each(|text| *times.entry(text.clone()).or_default() += 1);
        times.retain(|_, times| *times > 1);
        times
    }
}

/// The numbers as texts.
pub fn texts(numbers: std::ops::Range<u64>) -> Vec<String> {
    numbers.map(|number| number.to_string()).collect()
}
