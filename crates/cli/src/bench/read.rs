//! `kelda bench read`: owns catching up with a stream from its start. Guarantees that every record came: bytes are counted
//! against what was written, records against the offsets. Never counts the time of filling the stream.

use std::time::Duration;

use bytes::Bytes;
use hyper::Method;
use hyper::header::{ACCEPT, HeaderValue};
use kelda_client::{FrameWalk, path};
use kelda_env::processor_time;
use serde_json::json;

use super::args::{Form, ReadArgs};
use super::connection::{Answer, Connection, Sink, Target};
use super::latency::Latencies;
use super::load::{self, End, Work};
use super::payload::{self, Payload};
use super::report::{Counts, Measurement, Report};
use super::size;
use super::streams::{Streams, uri};
use super::world::World;
use crate::exit::Failure;

/// Bytes of records in a request that fills the stream.
const FILL_BYTES: u64 = 1 << 20;
/// Requests at once that fill the stream.
const FILL_IN_FLIGHT: u32 = 4;

pub async fn run(world: &World, endpoint: &str, args: &ReadArgs) -> Result<Report, Failure> {
    let read = CatchUp { form: args.form, readers: args.readers, page: args.page, apart: args.apart };
    let parameters = json!({
        "stream": args.stream,
        "bytes": args.stream.is_none().then_some(args.bytes),
        "record_bytes": args.stream.is_none().then_some(args.record_bytes),
        "form": args.form,
        "readers": args.readers,
        "page": args.page,
        "apart": args.apart,
    });
    let measured = match &args.stream {
        Some(name) => read.existing(world, endpoint, name).await?,
        None => {
            let filling = Filling { bytes: args.bytes, record_bytes: args.record_bytes, keep: args.keep };
            read.filled(world, endpoint, filling).await?
        }
    };
    Ok(Report::new(world, "read", Some(endpoint), parameters).with(measured))
}

/// What a stream is filled with.
#[derive(Clone, Copy, Debug)]
pub struct Filling {
    pub bytes: u64,
    pub record_bytes: u64,
    pub keep: bool,
}

/// Reads to be measured.
#[derive(Clone, Copy, Debug)]
pub struct CatchUp {
    pub form: Form,
    pub readers: u32,
    pub page: u64,
    /// Whether each reads a part of its own instead of everything.
    pub apart: bool,
}

/// What a reader has to get.
#[derive(Clone, Copy, Debug)]
struct Expected {
    records: u64,
    /// Bytes of all bodies, when they are known.
    bytes: Option<u64>,
}

impl CatchUp {
    /// Reads a stream that is filled for it and deleted afterwards.
    pub async fn filled(
        &self,
        world: &World,
        endpoint: &str,
        filling: Filling,
    ) -> Result<Measurement, Failure> {
        let target = Target::new(endpoint)?;
        let random = &*world.random;
        let streams = Streams::create(endpoint, random, 1, "application/octet-stream", filling.keep).await?;
        let paths = streams.paths()?;
        let work = async {
            let path = paths[0].path().to_owned();
            let records = fill(world, &target, &path, filling).await?;
            let expected = Expected { records, bytes: Some(records * filling.record_bytes) };
            self.measure(world, &target, &path, 0, expected).await
        };
        streams.during(work).await
    }

    /// Reads a stream that is there.
    pub async fn existing(&self, world: &World, endpoint: &str, name: &str) -> Result<Measurement, Failure> {
        let target = Target::new(endpoint)?;
        let head = crate::remote::client(endpoint)?.head(name).await;
        let head = head.map_err(|error| Failure::about(name, error))?;
        let start = head.headers.get("kelda-start-offset").and_then(|start| start.parse::<u64>().ok());
        let start = start.unwrap_or(0);
        let expected = Expected { records: head.next_offset - start.min(head.next_offset), bytes: None };
        self.measure(world, &target, &path(name), start, expected).await
    }

    async fn measure(
        &self,
        world: &World,
        target: &Target,
        path: &str,
        start: u64,
        expected: Expected,
    ) -> Result<Measurement, Failure> {
        let connections = load::connect(target, self.readers).await?;
        let (began, processor) = (world.clock.monotonic(), processor_time());
        let parts = self.parts(start, expected.records);
        let readers = connections.into_iter().zip(parts).map(|(connection, part)| {
            let (world, path) = (world.clone(), path.to_owned());
            let (form, page) = (self.form, self.page);
            async move { read_all(&world, connection, form, &path, part, page).await }
        });
        let found = world.together("reader", readers.collect()).await?;
        let (elapsed, processor) = (world.clock.monotonic() - began, processor_time() - processor);
        let (mut counts, mut latencies, mut whole) = (Counts::default(), Latencies::new(), Latencies::new());
        for found in &found {
            let expected = match found.part.end {
                None => expected,
                // Records may be of any size, so how many bytes a part has is not known.
                Some(end) => Expected { records: end - found.part.start, bytes: None },
            };
            found.check(self.form, expected)?;
            whole.add(found.pages.iter().sum());
            counts.requests += found.pages.len() as u64;
            counts.records += found.records;
            // What is counted is what readers wanted; a form that writes more of it is not faster for that.
            counts.bytes += expected.bytes.unwrap_or(found.bodies);
            found.pages.iter().for_each(|page| latencies.add(*page));
        }
        Ok(Measurement::new(self.name(), elapsed, counts)
            .with_latency("page", &latencies)
            .with_latency("reader", &whole)
            .with_cpu(processor))
    }

    fn name(&self) -> String {
        let form = match self.form {
            Form::Raw => "raw",
            Form::Json => "json",
            Form::Binary => "binary",
        };
        let (readers, page) = (self.readers, size::format(self.page));
        let readers = if readers == 1 { "1 reader".to_owned() } else { format!("{readers} readers") };
        let apart = if self.apart { " apart" } else { "" };
        format!("read {form}, {readers}{apart}, pages of {page}")
    }

    /// What each reader reads of `records` from `start` on.
    fn parts(&self, start: u64, records: u64) -> impl Iterator<Item = Part> {
        let (readers, apart) = (u64::from(self.readers), self.apart);
        let at = move |number: u64| start + records / readers * number;
        (0..readers).map(move |number| match (apart, number + 1 == readers) {
            (false, _) => Part { start, end: None },
            (true, true) => Part { start: at(number), end: Some(start + records) },
            (true, false) => Part { start: at(number), end: Some(at(number + 1)) },
        })
    }
}

/// Fills a stream, and says with how many records.
pub async fn fill(world: &World, target: &Target, path: &str, filling: Filling) -> Result<u64, Failure> {
    let batch = (FILL_BYTES / filling.record_bytes).clamp(1, 4096);
    let requests = filling.bytes.div_ceil(batch * filling.record_bytes);
    eprintln!("kelda: filling a stream with {}", size::format(requests * batch * filling.record_bytes));
    let count = u32::try_from(batch).unwrap_or(1);
    let (body, content_type) =
        payload::batch(&*world.random, Form::Binary, count, filling.record_bytes as usize)?;
    let work =
        Work { method: Method::POST, paths: vec![uri(path)?], payload: Payload::Fixed(body), content_type };
    let connections = load::connect(target, FILL_IN_FLIGHT).await?;
    load::phase(world, connections, &work.into(), None, End::Requests(requests)).await?;
    Ok(requests * batch)
}

/// What one reader reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Part {
    start: u64,
    /// Where it ends; with none, at the tail.
    end: Option<u64>,
}

/// What one reader got.
struct Found {
    part: Part,
    /// How long each page took.
    pages: Vec<Duration>,
    /// From the offsets.
    records: u64,
    /// Bytes of bodies: of the reply, or what its frames say.
    bodies: u64,
    /// Records that frames say they hold.
    framed: Option<u64>,
}

impl Found {
    fn check(&self, form: Form, expected: Expected) -> Result<(), Failure> {
        let differ = |what: &str, found: u64, expected: u64| {
            Err(Failure::local(format!("{found} {what} came, {expected} were expected")))
        };
        if self.records < expected.records {
            return differ("records", self.records, expected.records);
        }
        if let Some(framed) = self.framed.filter(|framed| *framed != self.records) {
            return differ("records in frames", framed, self.records);
        }
        match expected.bytes {
            Some(bytes) if form != Form::Json && bytes != self.bodies => {
                differ("bytes of records", self.bodies, bytes)
            }
            _ => Ok(()),
        }
    }
}

/// Counts what comes.
struct Counter {
    bytes: u64,
    frames: Option<FrameWalk>,
}

impl Sink for Counter {
    fn data(&mut self, bytes: &[u8]) -> Result<(), String> {
        self.bytes += bytes.len() as u64;
        match &mut self.frames {
            Some(frames) => frames.feed(bytes).map_err(|error| error.to_string()),
            None => Ok(()),
        }
    }
}

/// Reads page after page until the end of the part.
async fn read_all(
    world: &World,
    mut connection: Connection,
    form: Form,
    path: &str,
    part: Part,
    page: u64,
) -> Result<Found, Failure> {
    let frames = (form == Form::Binary).then(FrameWalk::default);
    let mut counter = Counter { bytes: 0, frames };
    let accept = match form {
        Form::Raw => None,
        Form::Json => Some(HeaderValue::from_static("application/vnd.kelda.records+json")),
        Form::Binary => Some(HeaderValue::from_static(kelda_client::CONTENT_TYPE)),
    };
    let until = part.end.map_or_else(String::new, |end| format!("&until={end}"));
    let (mut offset, mut pages) = (part.start.to_string(), Vec::new());
    loop {
        let target = uri(&format!("{path}?offset={offset}&bytes={page}{until}"))?;
        let mut request = connection.request(Method::GET, target, Bytes::new());
        if let Some(accept) = &accept {
            request.headers_mut().insert(ACCEPT, accept.clone());
        }
        let begun = world.clock.monotonic();
        let answer = connection.exchange(request, &mut counter).await?;
        pages.push(world.clock.monotonic() - begun);
        let next = next_offset(&answer, path)?;
        let ended = match part.end {
            Some(end) => next.parse::<u64>().is_ok_and(|next| next >= end),
            None => answer.header("stream-up-to-date") == Some("true"),
        };
        if ended {
            let records = next.parse::<u64>().unwrap_or(0).saturating_sub(part.start);
            let framed = counter.frames.as_ref().map(FrameWalk::records);
            if counter.frames.as_ref().is_some_and(|frames| !frames.is_whole()) {
                return Err(Failure::local("the last frame is cut short"));
            }
            let bodies = counter.frames.as_ref().map_or(counter.bytes, FrameWalk::body_bytes);
            return Ok(Found { part, pages, records, bodies, framed });
        }
        if next == offset {
            return Err(Failure::local(format!("GET {path} does not get past offset {offset}")));
        }
        offset = next;
    }
}

/// Where a reply says to read on.
pub fn next_offset(answer: &Answer, path: &str) -> Result<String, Failure> {
    if !answer.status.is_success() {
        return Err(answer.refused(&format!("GET {path}")));
    }
    let next = answer.header("stream-next-offset").map(str::to_owned);
    next.ok_or_else(|| Failure::local(format!("GET {path}: the reply has no Stream-Next-Offset")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_all_of_it_once() {
        let read = |apart| CatchUp { form: Form::Raw, readers: 3, page: 1, apart };
        let parts: Vec<_> = read(true).parts(10, 11).map(|part| (part.start, part.end)).collect();
        assert_eq!(parts, [(10, Some(13)), (13, Some(16)), (16, Some(21))]);
        assert!(read(false).parts(10, 11).all(|part| part == Part { start: 10, end: None }));
    }
}
