//! Checkpoints and projections in databases, as the examples have them, in processes that die at chosen points: owns the
//! stream that all of them read.

mod exactly_once;
mod plain;
mod postgres;
mod process;

#[allow(dead_code)]
#[path = "../../../client/examples/postgres_checkpoint.rs"]
mod postgres_checkpoint;
#[allow(dead_code)]
#[path = "../../../client/examples/postgres_exactly_once.rs"]
mod postgres_revenue;
#[allow(dead_code)]
#[path = "../../../client/examples/projection.rs"]
mod projection;
#[allow(dead_code)]
#[path = "../../../client/examples/sqlite_checkpoint.rs"]
mod sqlite_checkpoint;
#[allow(dead_code)]
#[path = "../../../client/examples/exactly_once.rs"]
mod sqlite_revenue;

use std::time::Duration;

use kelda_client::{Kelda, StreamLimits, Text};

use crate::node::Node;

/// Orders in the stream.
const ORDERS: u64 = 30;
/// Orders that are there first.
const FIRST_ORDERS: u64 = 5;

/// A node with the sealed stream `orders`.
struct World {
    node: Node,
    kelda: Kelda,
    directory: tempfile::TempDir,
}

impl World {
    /// The order at offset n comes to 3^n cents, so that the sum shows how often each was counted.
    async fn new() -> World {
        let world = World::beginning().await;
        world.orders(FIRST_ORDERS..ORDERS).await;
        world
    }

    /// With the first orders only, and not sealed.
    async fn beginning() -> World {
        let directory = tempfile::tempdir().unwrap();
        let node = Node::start(&directory.path().join("data"));
        let kelda = Kelda::builder(&node.endpoint()).build().unwrap();
        let world = World { node, kelda, directory };
        world.orders(0..FIRST_ORDERS).await;
        world
    }

    /// Appends these orders; after the last the stream is sealed.
    async fn orders(&self, ids: std::ops::Range<u64>) {
        let limits = StreamLimits::new().max_bytes(1 << 40).content_type("application/json");
        self.kelda.declare_stream("orders", limits).await.unwrap();
        let producer = self.kelda.producer::<str>("orders").codec(Text).open().await.unwrap();
        for id in ids.clone() {
            let order = format!(r#"{{"id":{id},"total_cents":{}}}"#, 3_i64.pow(id as u32));
            drop(producer.send(&order).await.unwrap());
        }
        producer.close().await.unwrap();
        if ids.end == ORDERS {
            self.kelda.seal("orders").await.unwrap();
        }
    }
}

/// What all orders up to and with this offset come to.
fn cents(last: u64) -> i64 {
    (0..=last).map(|id| 3_i64.pow(id as u32)).sum()
}

/// Waits until this is so; the limit is only there so that a failure ends.
async fn until<F: Future<Output = bool>>(what: &str, mut so: impl FnMut() -> F) {
    for _ in 0..12_000 {
        if so().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("never: {what}");
}
