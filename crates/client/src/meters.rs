//! What is measured: owns the names of the library's metrics, guarantees that their labels are bounded and that measuring
//! costs a few additions for a page or a batch, and one for an entry that is finished. Never installs a recorder.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use metrics::{Counter, Gauge, Histogram, Label, Unit};

use crate::append::Appended;

/// Streams of one connection that have a label of their own; all others share [`OTHER`].
pub(crate) const MAX_LABELLED: usize = 1_000;
/// The label of streams beyond.
pub(crate) const OTHER: &str = "(other)";

#[derive(Clone, Copy, Debug)]
enum Kind {
    Counter,
    Gauge,
    Histogram,
}

/// Every metric, its kind, its unit and what it says.
const ALL: [(&str, Kind, Unit, &str); 21] = [
    (READER_RECORDS, Kind::Counter, Unit::Count, "Records that came from the server."),
    (READER_BYTES, Kind::Counter, Unit::Bytes, "Bytes of their bodies."),
    (READER_HANDLED, Kind::Counter, Unit::Count, "Entries that were handled."),
    (
        READER_FAILED,
        Kind::Counter,
        Unit::Count,
        "Entries that could not be handled, skipped ones among them.",
    ),
    (READER_SKIPPED, Kind::Counter, Unit::Count, "Entries that were skipped, each with a copy put aside."),
    (READER_RECONNECTS, Kind::Counter, Unit::Count, "Lost connections."),
    (READER_PAGE, Kind::Histogram, Unit::Count, "Records of a page."),
    (READER_REQUEST, Kind::Histogram, Unit::Seconds, "How long pages took, but for waits at the tail."),
    (READER_UNFINISHED, Kind::Gauge, Unit::Count, "Entries that came and are not finished."),
    (READER_POSITION, Kind::Gauge, Unit::Count, "The offset up to which everything is finished."),
    (READER_CAUGHT_UP, Kind::Gauge, Unit::Count, "Readers whose last page reached the tail."),
    (READER_RUNNING, Kind::Gauge, Unit::Count, "Readers that have not ended."),
    (PRODUCER_RECORDS, Kind::Counter, Unit::Count, "Records that were acknowledged."),
    (PRODUCER_BYTES, Kind::Counter, Unit::Bytes, "Bytes of the batches that were acknowledged, as sent."),
    (PRODUCER_FAILED, Kind::Counter, Unit::Count, "Records whose result was an error."),
    (PRODUCER_DUPLICATES, Kind::Counter, Unit::Count, "Batches that an earlier try had stored already."),
    (PRODUCER_RETRIES, Kind::Counter, Unit::Count, "Batches that were sent again, each time."),
    (PRODUCER_BATCH_RECORDS, Kind::Histogram, Unit::Count, "Records of a batch."),
    (PRODUCER_BATCH_BYTES, Kind::Histogram, Unit::Bytes, "Bytes of a batch, as sent."),
    (PRODUCER_REQUEST, Kind::Histogram, Unit::Seconds, "How long requests took that were answered."),
    (PRODUCER_UNACKNOWLEDGED, Kind::Gauge, Unit::Bytes, "Bytes that were taken and have no result yet."),
];

const READER_RECORDS: &str = "kelda_client_reader_records_total";
const READER_BYTES: &str = "kelda_client_reader_bytes_total";
const READER_HANDLED: &str = "kelda_client_reader_handled_records_total";
const READER_FAILED: &str = "kelda_client_reader_failed_records_total";
const READER_SKIPPED: &str = "kelda_client_reader_skipped_records_total";
const READER_RECONNECTS: &str = "kelda_client_reader_reconnects_total";
const READER_PAGE: &str = "kelda_client_reader_page_records";
const READER_REQUEST: &str = "kelda_client_reader_request_seconds";
const READER_UNFINISHED: &str = "kelda_client_reader_unfinished_records";
const READER_POSITION: &str = "kelda_client_reader_position_offset";
const READER_CAUGHT_UP: &str = "kelda_client_reader_caught_up_readers";
const READER_RUNNING: &str = "kelda_client_reader_running_readers";
const PRODUCER_RECORDS: &str = "kelda_client_producer_records_total";
const PRODUCER_BYTES: &str = "kelda_client_producer_bytes_total";
const PRODUCER_FAILED: &str = "kelda_client_producer_failed_records_total";
const PRODUCER_DUPLICATES: &str = "kelda_client_producer_duplicate_batches_total";
const PRODUCER_RETRIES: &str = "kelda_client_producer_retries_total";
const PRODUCER_BATCH_RECORDS: &str = "kelda_client_producer_batch_records";
const PRODUCER_BATCH_BYTES: &str = "kelda_client_producer_batch_bytes";
const PRODUCER_REQUEST: &str = "kelda_client_producer_request_seconds";
const PRODUCER_UNACKNOWLEDGED: &str = "kelda_client_producer_unacknowledged_bytes";

/// Tells the recorder that is installed what the metrics are.
pub(crate) fn describe() {
    for (name, kind, unit, what) in ALL {
        match kind {
            Kind::Counter => metrics::describe_counter!(name, unit, what),
            Kind::Gauge => metrics::describe_gauge!(name, unit, what),
            Kind::Histogram => metrics::describe_histogram!(name, unit, what),
        }
    }
}

/// Whose metrics they are.
#[derive(Clone, Debug)]
pub(crate) struct Labels(Vec<Label>);

impl Labels {
    pub(crate) fn new(stream: &str, client: &str) -> Labels {
        let label = |key, value: &str| Label::new(key, value.to_owned());
        Labels(vec![label("stream", stream), label("client", client)])
    }

    fn counter(&self, name: &'static str) -> Counter {
        metrics::counter!(name, self.0.clone())
    }

    fn gauge(&self, name: &'static str) -> Gauge {
        metrics::gauge!(name, self.0.clone())
    }

    fn histogram(&self, name: &'static str) -> Histogram {
        metrics::histogram!(name, self.0.clone())
    }

    fn share(&self, name: &'static str) -> Share {
        Share { gauge: self.gauge(name), now: AtomicU64::new(0) }
    }
}

/// The part of a gauge that one reader or producer has: several with the same labels add up, and what is gone is nothing.
struct Share {
    gauge: Gauge,
    now: AtomicU64,
}

impl Share {
    fn set(&self, now: u64) {
        let before = self.now.swap(now, Ordering::Relaxed);
        if now != before {
            self.gauge.increment(now as f64 - before as f64);
        }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.set(0);
    }
}

/// The metrics of one reader.
pub(crate) struct ReaderMeters {
    records: Counter,
    bytes: Counter,
    handled: Counter,
    failed: Counter,
    skipped: Counter,
    reconnects: Counter,
    page_records: Histogram,
    request_seconds: Histogram,
    unfinished: Share,
    position: Gauge,
    caught_up: Share,
    running: Share,
}

impl ReaderMeters {
    pub(crate) fn new(labels: &Labels) -> ReaderMeters {
        let meters = ReaderMeters {
            records: labels.counter(READER_RECORDS),
            bytes: labels.counter(READER_BYTES),
            handled: labels.counter(READER_HANDLED),
            failed: labels.counter(READER_FAILED),
            skipped: labels.counter(READER_SKIPPED),
            reconnects: labels.counter(READER_RECONNECTS),
            page_records: labels.histogram(READER_PAGE),
            request_seconds: labels.histogram(READER_REQUEST),
            unfinished: labels.share(READER_UNFINISHED),
            position: labels.gauge(READER_POSITION),
            caught_up: labels.share(READER_CAUGHT_UP),
            running: labels.share(READER_RUNNING),
        };
        meters.running.set(1);
        meters
    }

    /// A page came.
    pub(crate) fn page(&self, records: u64, bytes: u64, caught_up: bool) {
        self.caught_up.set(u64::from(caught_up));
        if records > 0 {
            self.records.increment(records);
            self.bytes.increment(bytes);
            self.page_records.record(records as f64);
        }
    }

    /// A page that was not waited for took so long.
    pub(crate) fn took(&self, took: Duration) {
        self.request_seconds.record(took.as_secs_f64());
    }

    /// How far it is, and how many entries are out.
    pub(crate) fn progress(&self, position: Option<u64>, unfinished: u64) {
        self.unfinished.set(unfinished);
        if let Some(position) = position {
            self.position.set(position as f64);
        }
    }

    pub(crate) fn handled(&self) {
        self.handled.increment(1);
    }

    pub(crate) fn skipped(&self) {
        self.failed.increment(1);
        self.skipped.increment(1);
    }

    pub(crate) fn failed(&self) {
        self.failed.increment(1);
    }

    pub(crate) fn lost(&self) {
        self.caught_up.set(0);
        self.reconnects.increment(1);
    }

    pub(crate) fn ended(&self) {
        self.unfinished.set(0);
        self.caught_up.set(0);
        self.running.set(0);
    }
}

/// The metrics of one producer.
pub(crate) struct ProducerMeters {
    records: Counter,
    bytes: Counter,
    failed: Counter,
    duplicates: Counter,
    retries: Counter,
    batch_records: Histogram,
    batch_bytes: Histogram,
    request_seconds: Histogram,
    unacknowledged: Share,
}

impl ProducerMeters {
    pub(crate) fn new(labels: &Labels) -> ProducerMeters {
        ProducerMeters {
            records: labels.counter(PRODUCER_RECORDS),
            bytes: labels.counter(PRODUCER_BYTES),
            failed: labels.counter(PRODUCER_FAILED),
            duplicates: labels.counter(PRODUCER_DUPLICATES),
            retries: labels.counter(PRODUCER_RETRIES),
            batch_records: labels.histogram(PRODUCER_BATCH_RECORDS),
            batch_bytes: labels.histogram(PRODUCER_BATCH_BYTES),
            request_seconds: labels.histogram(PRODUCER_REQUEST),
            unacknowledged: labels.share(PRODUCER_UNACKNOWLEDGED),
        }
    }

    /// A batch is sent, for the first time or again.
    pub(crate) fn sent(&self, records: u32, bytes: usize, again: bool) {
        if again {
            self.retries.increment(1);
        } else {
            self.batch_records.record(f64::from(records));
            self.batch_bytes.record(bytes as f64);
        }
    }

    /// A batch was acknowledged, after a request that took so long.
    pub(crate) fn acknowledged(&self, records: u32, bytes: usize, appended: &Appended, took: Duration) {
        self.records.increment(u64::from(records));
        self.bytes.increment(bytes as u64);
        self.duplicates.increment(u64::from(appended.duplicate));
        self.request_seconds.record(took.as_secs_f64());
    }

    pub(crate) fn failed(&self, records: u64) {
        self.failed.increment(records);
    }

    pub(crate) fn unacknowledged(&self, bytes: usize) {
        self.unacknowledged.set(bytes as u64);
    }
}

#[cfg(test)]
pub(crate) mod tests;
