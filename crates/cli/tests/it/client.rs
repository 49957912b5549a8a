//! The client library against a node as a process: real HTTP, lost connections, kill -9.

mod declaring;
mod edges;
mod failing;
mod gate;
mod killed;
mod messages;
mod outages;
mod positions;
mod producing;
mod proxy;
mod steps;

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::BoxFuture;
use kelda_client::{Kelda, Message, Producer, Text};

use crate::node::Node;

/// A node of one test.
pub struct World {
    pub node: Node,
    pub kelda: Kelda,
    _directory: tempfile::TempDir,
}

impl World {
    pub fn new() -> World {
        let directory = tempfile::tempdir().unwrap();
        let node = Node::start(directory.path());
        let kelda = Kelda::builder(&node.endpoint()).build().unwrap();
        World { node, kelda, _directory: directory }
    }

    /// A text stream with the records `0`, `1` and so on.
    pub async fn filled(&self, name: &str, records: u64) {
        self.kelda.declare_stream(name, text()).await.unwrap();
        self.fill(name, 0..records).await;
    }

    /// Appends these numbers.
    pub async fn fill(&self, name: &str, numbers: Range<u64>) {
        let producer = self.kelda.producer::<str>(name).codec(Text).open().await.unwrap();
        for number in numbers {
            drop(producer.send(&number.to_string()).await.unwrap());
        }
        producer.close().await.unwrap();
    }
}

/// Limits of a text stream.
pub fn text() -> kelda_client::StreamLimits {
    kelda_client::StreamLimits::new().max_bytes(1 << 40).content_type("text/plain")
}

/// Waits until this is so; the limit is only there so that a failure ends.
pub async fn until(what: &str, mut so: impl FnMut() -> bool) {
    for _ in 0..24_000 {
        if so() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("never: {what}");
}

/// Counts, from several places.
#[derive(Clone, Default)]
pub struct Count(Arc<AtomicU64>);

impl Count {
    pub fn add(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }

    pub fn get(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }
}

/// The numbers that a handler has finished, in that order.
pub type Seen = Arc<Mutex<Vec<u64>>>;

/// A handler that others may come between, and that notes each number when it is done.
pub fn noting(seen: &Seen) -> impl Fn(Message<String>) -> BoxFuture<'static, ()> + Send + Sync + 'static {
    let seen = Arc::clone(seen);
    move |message| {
        let seen = Arc::clone(&seen);
        Box::pin(async move {
            tokio::task::yield_now().await;
            seen.lock().unwrap().push(message.payload().parse().unwrap());
        })
    }
}

/// Appends these numbers one by one, with a rest now and then, each of which has to get the offset that it is.
pub async fn load(producer: Producer<str, Text>, numbers: Range<u64>, acknowledged: Count) {
    for number in numbers {
        let sent = producer.send(&number.to_string()).await.unwrap();
        let counted = acknowledged.clone();
        tokio::spawn(async move {
            assert_eq!(sent.await.unwrap().offset, Some(number));
            counted.add();
        });
        if number % 10 == 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
    producer.close().await.unwrap();
}
