//! The clients of a run: one file per kind of client. Each owns its loop and writes down what it was told; none judges.

mod admin;
mod idempotent;
mod plain;
mod reader;

pub use admin::administer;
pub use idempotent::produce_once;
pub use plain::produce;
pub use reader::follow;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use kelda_env::Random as _;
use kelda_format::{Batch, Record, StreamName};
use kelda_service::{Caller, Content, CreateRequest, Expiry, Retention, StreamConfig};

use crate::history::History;
use crate::world::World;

/// What a client needs.
#[derive(Clone)]
pub struct Client {
    /// The world it lives in.
    pub world: Arc<World>,
    /// Where it writes down what it was told.
    pub history: History,
    /// Its name, which no other client has.
    pub name: String,
}

/// The streams of a run; the first may be deleted and made anew, the second trimmed, the third sealed; the last is bounded.
pub const STREAMS: [&str; 5] = ["sim/deleted", "sim/trimmed", "sim/sealed", "sim/plain", "sim/bounded"];

/// What bounds the last stream.
const BOUND: Retention =
    Retention { max_age_ms: None, max_bytes: Some(40 << 10), segment_bytes: Some(10 << 10) };

/// Pause after an answer that says "not now".
const RETRY: Duration = Duration::from_millis(40);

impl Client {
    async fn pause(&self) {
        let ms = self.world.sim.random().below(120);
        self.world.sim.sleep(Duration::from_millis(ms)).await;
    }

    async fn retry(&self) {
        self.world.sim.sleep(RETRY).await;
    }

    fn stream(&self) -> StreamName {
        parse(self.world.sim.random().pick::<&str>(&STREAMS))
    }

    /// The bodies of a batch that nobody else sends: one to four, from a few bytes to a few pages.
    fn bodies(&self, number: u64) -> Vec<String> {
        let random = self.world.sim.random();
        let count = 1 + random.below(4);
        let body = |index: u64| {
            let padding = "x".repeat(random.below(3000) as usize);
            format!("{}-{number}#{index}/{count} {padding}", self.name)
        };
        let bodies: Vec<String> = (0..count).map(body).collect();
        self.history.note(|facts| facts.sent.extend(bodies.iter().cloned()));
        bodies
    }
}

fn parse(name: &str) -> StreamName {
    StreamName::parse(name).expect("names of the simulation are well formed")
}

fn content(bodies: &[String]) -> Content {
    let record = |body: &String| Record { body: Bytes::from(body.clone()), ..Record::default() };
    let records: Vec<Record> = bodies.iter().map(record).collect();
    Content::Records(Batch::from_records(&records).expect("batches of the simulation are small"))
}

/// A request that creates a text stream.
fn creation(name: &StreamName) -> CreateRequest {
    let config = StreamConfig {
        content_type: Some("text/plain".to_owned()),
        expiry: Some(Expiry::Never),
        retention: if name.as_str() == STREAMS[4] { BOUND } else { Retention::default() },
        ..StreamConfig::default()
    };
    CreateRequest { config, ..CreateRequest::new(name.clone()) }
}

/// Creates every stream of the run, as often as it takes.
pub async fn create_all(client: &Client) {
    for name in STREAMS {
        let name = parse(name);
        while !matches!(create(client, creation(&name)).await, Some(Ok(_))) {
            client.retry().await;
        }
    }
}

async fn create(
    client: &Client,
    request: CreateRequest,
) -> Option<Result<kelda_service::Created, kelda_service::CreateError>> {
    let call =
        |service: kelda_service::Service| async move { service.create(&Caller::anonymous(), request).await };
    client.world.call(call).await
}
