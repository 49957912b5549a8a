//! `kelda bench streams`: owns many streams that are made at once, some of which get a record. Guarantees that all are
//! deleted at the end, also after a failure or an interrupt. Never holds more of a stream than where requests to it go.

use bytes::Bytes;
use hyper::{Method, Uri};
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};

use super::args::StreamsArgs;
use super::connection::Target;
use super::load::{self, End, Pace, Tally, Work};
use super::payload::{self, Payload};
use super::report::{Measurement, Report};
use super::streams::uri;
use super::world::World;
use crate::exit::Failure;

const CONTENT_TYPE: &str = "application/octet-stream";

pub async fn run(world: &World, endpoint: &str, args: &StreamsArgs) -> Result<Report, Failure> {
    let parameters = json!({
        "streams": args.streams,
        "active": args.active,
        "in_flight": args.in_flight,
        "record_bytes": args.record_bytes,
    });
    let report = Report::new(world, "streams", Some(endpoint), parameters);
    let population = Population::new(world, endpoint, args)?;
    // Listens before the first stream is there, so that an interrupt never leaves one behind.
    let mut interrupt = signal(SignalKind::interrupt())
        .map_err(|error| Failure::local(format!("cannot listen for signals: {error}")))?;
    let measured = tokio::select! {
        biased;
        measured = population.measure(args) => measured,
        _ = interrupt.recv() => Err(Failure::Interrupted),
    };
    let deleted = match args.keep {
        true => {
            eprintln!("kelda: {}/… is kept", population.prefix);
            None
        }
        false => Some(population.delete().await),
    };
    let mut measured = measured?;
    measured.extend(deleted.transpose()?);
    Ok(measured.into_iter().fold(report, Report::with))
}

struct Population<'a> {
    world: &'a World,
    target: Target,
    in_flight: u32,
    prefix: String,
    paths: Vec<Uri>,
}

impl<'a> Population<'a> {
    fn new(world: &'a World, endpoint: &str, args: &StreamsArgs) -> Result<Population<'a>, Failure> {
        let prefix = format!("bench/{:016x}", world.random.next_u64());
        let path = |number| uri(&kelda_client::path(&format!("{prefix}/{number}")));
        let paths = (0..args.streams).map(path).collect::<Result<_, Failure>>()?;
        Ok(Population { world, target: Target::new(endpoint)?, in_flight: args.in_flight, prefix, paths })
    }

    /// Makes all streams, then appends a record to each of the active ones.
    async fn measure(&self, args: &StreamsArgs) -> Result<Vec<Measurement>, Failure> {
        let nothing = Payload::Fixed(Bytes::new());
        let created = self.send(Method::PUT, self.paths.clone(), nothing).await?;
        let mut measured = vec![named(format!("create {} streams", self.paths.len()), &created, 0, 0)];
        if args.active > 0 {
            let count = (args.active as usize).min(self.paths.len());
            let step = self.paths.len() / count;
            let active = self.paths.iter().step_by(step).take(count).cloned().collect();
            let record = payload::record(&*self.world.random, args.record_bytes as usize);
            let appended = self.send(Method::POST, active, Payload::Fixed(record)).await?;
            let name = format!("append to {count} of them");
            measured.push(named(name, &appended, 1, args.record_bytes));
        }
        Ok(measured)
    }

    async fn delete(&self) -> Result<Measurement, Failure> {
        let deleted = self.send(Method::DELETE, self.paths.clone(), Payload::Fixed(Bytes::new())).await?;
        Ok(named(format!("delete {} streams", self.paths.len()), &deleted, 0, 0))
    }

    /// One request to each path.
    async fn send(&self, method: Method, paths: Vec<Uri>, payload: Payload) -> Result<Tally, Failure> {
        let end = End::Requests(paths.len() as u64);
        let pace = Pace { in_flight: self.in_flight, rate: None, warm_up: std::time::Duration::ZERO, end };
        let work = Work { method, paths, payload, content_type: CONTENT_TYPE };
        load::measure(self.world, &self.target, work, pace).await
    }
}

fn named(name: String, tally: &Tally, records: u64, bytes: u64) -> Measurement {
    Measurement::of_load(name, tally, records, bytes).with_cpu(tally.processor)
}
