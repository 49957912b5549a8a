//! Producers of the client library: owns one run of one, as a user would have it. Guarantees that what is counted is in the
//! stream: the tail has to be where that many records end. Never looks at single receipts.

use bytes::Bytes;
use kelda_client::Binary;
use kelda_env::processor_time;

use crate::bench::payload;
use crate::bench::report::{Counts, Measurement};
use crate::bench::size;
use crate::bench::streams::Streams;
use crate::bench::world::World;
use crate::exit::Failure;

/// Different bodies that take turns, so that no two neighbours are alike.
const BODIES: usize = 256;

/// A producer to be measured.
#[derive(Clone, Copy, Debug)]
pub(super) struct Produce {
    pub(super) records: u64,
    pub(super) record_bytes: u64,
    pub(super) idempotent: bool,
    /// Batches in flight; that of the library with none.
    pub(super) window: Option<usize>,
    pub(super) keep: bool,
}

impl Produce {
    pub(super) async fn measure(&self, world: &World, endpoint: &str) -> Result<Measurement, Failure> {
        let content_type = "application/octet-stream";
        let streams = Streams::create(endpoint, &*world.random, 1, content_type, self.keep).await?;
        let stream = streams.names().remove(0);
        streams.during(self.produce(world, endpoint, &stream)).await
    }

    async fn produce(&self, world: &World, endpoint: &str, stream: &str) -> Result<Measurement, Failure> {
        let bodies: Vec<Bytes> =
            (0..BODIES).map(|_| payload::record(&*world.random, self.record_bytes as usize)).collect();
        let kelda = crate::remote::client(endpoint)?;
        let mut builder = kelda.producer::<Bytes>(stream).codec(Binary);
        if !self.idempotent {
            builder = builder.idempotent(false);
        }
        if let Some(window) = self.window {
            builder = builder.window(window);
        }
        let producer = builder.open().await?;
        let (began, processor) = (world.clock.monotonic(), processor_time());
        for body in bodies.iter().cycle().zip(0..self.records).map(|(body, _)| body) {
            // A failure ends the producer, and what is missing would show at the tail.
            drop(producer.send(body).await?);
        }
        producer.close().await?;
        let (elapsed, processor) = (world.clock.monotonic() - began, processor_time() - processor);
        let stored = kelda.head(stream).await?.next_offset;
        if stored != self.records {
            return Err(Failure::local(format!("{stored} records are stored, {} were sent", self.records)));
        }
        let (records, bytes) = (self.records, self.records * self.record_bytes);
        let counts = Counts { requests: 0, records, bytes, errors: 0 };
        Ok(Measurement::new(self.name(), elapsed, counts).with_cpu(processor))
    }

    fn name(&self) -> String {
        let how = match (self.idempotent, self.window) {
            (true, None) => "defaults".to_owned(),
            (true, Some(window)) => format!("window of {window}"),
            (false, _) => "without idempotence".to_owned(),
        };
        format!("producer, {how}, {}", size::format(self.record_bytes))
    }
}
