//! What a node counts and measures, as text.
//!
//! Owns the names of the metrics (`docs/guide/metrics.md` is their table). Guarantees that a counter is there from the
//! first moment, at zero, so that a rate can be told of it. Never measures anything itself.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use kelda_env::StoreOp;
use kelda_env::layers::{Outcome, StoreSnapshot};
use kelda_service::Gauges;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;

use crate::amqp::{Count, Counts};

/// What the text is.
pub(crate) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// What was seen of a node at one moment; what is absent is not there yet.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) ready: bool,
    pub(crate) uptime: Duration,
    pub(crate) store: StoreSnapshot,
    pub(crate) streams: Option<usize>,
    pub(crate) applied: Option<u64>,
    pub(crate) gauges: Option<Gauges>,
    pub(crate) amqp: Arc<Counts>,
}

/// The text of `/metrics`.
pub(crate) fn text(seen: Seen) -> String {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(seen));
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = encode(&mut text, &registry);
    text
}

impl Collector for Seen {
    fn encode(&self, mut encoder: DescriptorEncoder) -> fmt::Result {
        let whole = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        let mut requests = encoder.encode_descriptor(
            "kelda_store_requests",
            "Requests to the object store, by kind and by how they ended",
            None,
            MetricType::Counter,
        )?;
        for op in StoreOp::ALL {
            for outcome in Outcome::ALL {
                let labels = [("kind", op.name()), ("outcome", outcome.name())];
                let count = ConstCounter::new(self.store.count(op, outcome));
                count.encode(requests.encode_family(&labels)?)?;
            }
        }
        for (name, help, count) in [
            ("kelda_store_read_bytes", "Bytes that the object store answered", self.store.bytes_read),
            ("kelda_store_written_bytes", "Bytes that the object store took", self.store.bytes_written),
            ("kelda_amqp_published", "Messages that came over AMQP", self.amqp.published.get()),
            ("kelda_amqp_confirmed", "Messages that were confirmed over AMQP", self.amqp.confirmed.get()),
            ("kelda_amqp_delivered", "Messages that were delivered over AMQP", self.amqp.delivered.get()),
            ("kelda_amqp_acknowledged", "Deliveries acknowledged over AMQP", self.amqp.acknowledged.get()),
        ] {
            let metric = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
            ConstCounter::new(count).encode(metric)?;
        }
        let gauges = self.gauges;
        let size = |pick: fn(&Gauges) -> usize| gauges.as_ref().map(|gauges| whole(pick(gauges) as u64));
        let open = |count: &Count| Some(whole(count.get()));
        for (name, help, value) in [
            ("kelda_ready", "Whether the node does what it is there for", Some(i64::from(self.ready))),
            ("kelda_uptime_seconds", "Seconds since the process began", Some(whole(self.uptime.as_secs()))),
            ("kelda_streams", "Streams that are not deleted", self.streams.map(|count| whole(count as u64))),
            (
                "kelda_metadata_applied",
                "Entries of the metadata log that this node has applied",
                self.applied.map(whole),
            ),
            ("kelda_expiring_streams", "Streams that have an expiry", size(|gauges| gauges.deadlines)),
            ("kelda_unfinished_creations", "Creations to be cleared up", size(|gauges| gauges.leftovers)),
            ("kelda_amqp_connections", "Connections over AMQP", open(&self.amqp.connections)),
            ("kelda_amqp_channels", "Channels over AMQP", open(&self.amqp.channels)),
            ("kelda_amqp_consumers", "Consumers over AMQP", open(&self.amqp.consumers)),
        ] {
            let Some(value) = value else { continue };
            let metric = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            ConstGauge::new(value).encode(metric)?;
        }
        Ok(())
    }
}
