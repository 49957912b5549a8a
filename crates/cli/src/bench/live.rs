//! Waiting readers: owns a writer of one stream and the readers that wait at its tail. Guarantees that every record that is
//! counted reached every reader, and that a latency begins just before its record is sent, by one clock. Never counts what
//! was sent to warm up.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use hyper::Method;
use hyper::http::response::Parts;
use kelda_env::{processor_time, timeout};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use super::args::{LiveArgs, Via};
use super::connection::{Connection, Sink, Target};
use super::latency::Latencies;
use super::load::{self, End, Work};
use super::payload::{self, Payload, stamps};
use super::read::next_offset;
use super::report::Measurement;
use super::sse::Events;
use super::streams::{Streams, uri};
use super::world::{Running, World};
use crate::exit::Failure;

/// How long readers may take to be ready, and the last record to reach all.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often it is looked whether the last record reached all.
const LOOK: Duration = Duration::from_millis(5);
/// Text, so that an event stream carries it as it is.
const CONTENT_TYPE: &str = "text/plain";

/// A writer, its readers, and what they do.
#[derive(Clone, Copy, Debug)]
pub struct Live {
    pub readers: u32,
    pub rate: f64,
    pub via: Via,
    pub record_bytes: u64,
    pub duration: Duration,
    pub warm_up: Duration,
    pub keep: bool,
}

impl Live {
    pub fn new(args: &LiveArgs, readers: u32) -> Live {
        let LiveArgs { rate, via, record_bytes, duration, warm_up, keep } = *args;
        Live { readers, rate, via, record_bytes, duration, warm_up, keep }
    }

    pub fn parameters(&self) -> Value {
        json!({
            "readers": self.readers,
            "rate": self.rate,
            "via": self.via,
            "record_bytes": self.record_bytes,
            "duration_seconds": self.duration.as_secs_f64(),
            "warm_up_seconds": self.warm_up.as_secs_f64(),
        })
    }

    pub async fn measure(&self, world: &World, endpoint: &str, name: &str) -> Result<Measurement, Failure> {
        let target = Target::new(endpoint)?;
        let streams = Streams::create(endpoint, &*world.random, 1, CONTENT_TYPE, self.keep).await?;
        let path = streams.paths()?[0].path().to_owned();
        let stream = streams.names().remove(0);
        let via = match self.via {
            Via::Sse => "SSE",
            Via::LongPoll => "long-poll",
            Via::Library => "library",
        };
        let readers =
            if self.readers == 1 { "1 reader".to_owned() } else { format!("{} readers", self.readers) };
        let name = format!("{name}, {readers}, {via}, {} a second", self.rate);
        streams.during(self.watch(world, endpoint, &target, &path, stream, name)).await
    }

    async fn watch(
        &self,
        world: &World,
        endpoint: &str,
        target: &Target,
        path: &str,
        stream: String,
        name: String,
    ) -> Result<Measurement, Failure> {
        let shared = Arc::new(Shared {
            world: world.clone(),
            target: target.clone(),
            path: path.to_owned(),
            endpoint: endpoint.to_owned(),
            stream,
            record_bytes: self.record_bytes as usize,
            counted_from: AtomicU64::new(u64::MAX),
            delivered: AtomicU64::new(0),
            latencies: Mutex::new(Latencies::new()),
            ready: Semaphore::new(0),
            failure: Mutex::new(None),
        });
        let readers = (0..self.readers)
            .map(|_| world.tasks.spawn("reader", Box::pin(follow(Arc::clone(&shared), self.via))));
        let _readers = Running(readers.collect());
        let ready = timeout(&*world.clock, PATIENCE, shared.ready.acquire_many(self.readers)).await;
        shared.check()?;
        if ready.is_err() {
            return Err(Failure::local(format!(
                "not all of {} readers were ready in {PATIENCE:?}",
                self.readers
            )));
        }
        let filling = payload::record(&*world.random, self.record_bytes as usize);
        let paths = vec![uri(path)?];
        let (payload, bytes) = (Payload::Stamped(filling), self.record_bytes);
        let work = Arc::new(Work { method: Method::POST, paths, payload, content_type: CONTENT_TYPE });
        let mut connections = load::connect(target, 1).await?;
        let mut before = 0;
        if !self.warm_up.is_zero() {
            let warm_up = End::After(self.warm_up);
            let (back, tally) = load::phase(world, connections, &work, Some(self.rate), warm_up).await?;
            (connections, before) = (back, tally.requests * u64::from(self.readers));
        }
        shared.until_delivered(before).await?;
        shared.counted_from.store(world.nanos(), Ordering::Release);
        let (began, processor) = (world.clock.monotonic(), processor_time());
        let end = End::After(self.duration);
        let (_, tally) = load::phase(world, connections, &work, Some(self.rate), end).await?;
        let expected = tally.requests * u64::from(self.readers);
        shared.until_delivered(before + expected).await?;
        let (elapsed, processor) = (world.clock.monotonic() - began, processor_time() - processor);
        let latencies = shared.latencies.lock().clone();
        let mut measured = Measurement::of_load(name, &tally, 1, bytes)
            .with_latency("delivery", &latencies)
            .with_cpu(processor);
        measured.deliveries = Some(expected);
        measured.deliveries_per_second = Some(expected as f64 / elapsed.as_secs_f64().max(1e-9));
        Ok(measured)
    }
}

struct Shared {
    world: World,
    target: Target,
    path: String,
    /// The same for the client library.
    endpoint: String,
    stream: String,
    record_bytes: usize,
    /// Records sent before this moment, in nanoseconds, are delivered but not counted.
    counted_from: AtomicU64,
    /// Records that reached a reader, over all readers.
    delivered: AtomicU64,
    latencies: Mutex<Latencies>,
    /// A permit for each reader that waits.
    ready: Semaphore,
    failure: Mutex<Option<String>>,
}

impl Shared {
    fn check(&self) -> Result<(), Failure> {
        self.failure.lock().take().map_or(Ok(()), |failure| Err(Failure::local(failure)))
    }

    /// Waits until so many records reached their readers.
    async fn until_delivered(&self, expected: u64) -> Result<(), Failure> {
        let clock = &self.world.clock;
        let deadline = clock.monotonic() + PATIENCE;
        loop {
            self.check()?;
            let delivered = self.delivered.load(Ordering::Acquire);
            if delivered == expected {
                return Ok(());
            }
            if delivered > expected || clock.monotonic() >= deadline {
                return Err(Failure::local(format!(
                    "{delivered} records were delivered, {expected} expected"
                )));
            }
            clock.sleep(LOOK).await;
        }
    }

    /// Counts records that just came.
    fn arrived(&self, records: &[u8]) -> Result<(), String> {
        let now = self.world.nanos();
        let from = self.counted_from.load(Ordering::Acquire);
        let mut count = 0;
        let mut latencies = self.latencies.lock();
        for stamp in stamps(records, self.record_bytes)? {
            count += 1;
            if stamp >= from {
                latencies.add_nanos(now.saturating_sub(stamp));
            }
        }
        drop(latencies);
        self.delivered.fetch_add(count, Ordering::AcqRel);
        Ok(())
    }
}

/// Reads what is appended until the end of the measurement.
async fn follow(shared: Arc<Shared>, via: Via) {
    let followed = match via {
        Via::Sse => follow_events(&shared).await,
        Via::LongPoll => follow_polls(&shared).await,
        Via::Library => follow_library(&shared).await,
    };
    let failure = followed.err();
    if let Some(message) = failure.as_ref().and_then(Failure::message) {
        *shared.failure.lock() = Some(format!("a reader failed: {message}"));
        shared.ready.close();
    }
}

/// An event stream of records.
struct EventSink<'a> {
    shared: &'a Shared,
    events: Events,
    next: Option<String>,
    announced: bool,
}

impl Sink for EventSink<'_> {
    fn head(&mut self, _parts: &Parts) -> Result<(), String> {
        if !std::mem::replace(&mut self.announced, true) {
            self.shared.ready.add_permits(1);
        }
        Ok(())
    }

    fn data(&mut self, bytes: &[u8]) -> Result<(), String> {
        let (shared, next) = (self.shared, &mut self.next);
        self.events.feed(bytes, |name, data| match name {
            "data" => shared.arrived(data),
            "control" => {
                let control: Value = serde_json::from_slice(data).map_err(|error| error.to_string())?;
                *next = control["streamNextOffset"].as_str().map(str::to_owned).or(next.take());
                Ok(())
            }
            _ => Err(format!("the server sent {name}: {}", String::from_utf8_lossy(data))),
        })
    }
}

async fn follow_events(shared: &Shared) -> Result<(), Failure> {
    let mut connection = Connection::open(&shared.target).await?;
    let mut sink = EventSink { shared, events: Events::default(), next: None, announced: false };
    loop {
        if connection.is_closed() {
            connection = Connection::open(&shared.target).await?;
        }
        let offset = sink.next.as_deref().unwrap_or("now");
        let target = uri(&format!("{}?offset={offset}&live=sse", shared.path))?;
        let request = connection.request(Method::GET, target, Bytes::new());
        let answer = connection.exchange(request, &mut sink).await?;
        if !answer.status.is_success() {
            return Err(answer.refused(&format!("GET {}", shared.path)));
        }
        // The server ends an event stream now and then; what was cut is sent again.
        sink.events = Events::default();
    }
}

/// The records of one reply.
struct PageSink(Vec<u8>);

impl Sink for PageSink {
    fn data(&mut self, bytes: &[u8]) -> Result<(), String> {
        self.0.extend_from_slice(bytes);
        Ok(())
    }
}

async fn follow_polls(shared: &Shared) -> Result<(), Failure> {
    let mut connection = Connection::open(&shared.target).await?;
    let (mut offset, mut cursor, mut page) = ("0".to_owned(), String::new(), PageSink(Vec::new()));
    shared.ready.add_permits(1);
    loop {
        if connection.is_closed() {
            connection = Connection::open(&shared.target).await?;
        }
        let target = uri(&format!("{}?offset={offset}&live=long-poll{cursor}", shared.path))?;
        let request = connection.request(Method::GET, target, Bytes::new());
        let answer = connection.exchange(request, &mut page).await?;
        offset = next_offset(&answer, &shared.path)?;
        cursor = answer.header("stream-cursor").map(|cursor| format!("&cursor={cursor}")).unwrap_or_default();
        shared.arrived(&page.0).map_err(Failure::local)?;
        page.0.clear();
    }
}

async fn follow_library(shared: &Arc<Shared>) -> Result<(), Failure> {
    let kelda = crate::remote::client(&shared.endpoint)?;
    let handler = Arc::clone(shared);
    let reader = kelda.stream::<Bytes>(&shared.stream).codec(kelda_client::Binary).from_next();
    let reader = reader.consume(move |message| {
        let arrived = handler.arrived(message.payload());
        async move { arrived }
    });
    let reader = reader.await?;
    shared.ready.add_permits(1);
    let end = reader.join().await;
    Err(Failure::local(end.to_string()))
}
