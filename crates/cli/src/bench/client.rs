//! `kelda bench client`: owns the list of what the client library is compared with, and their order. Guarantees that what is
//! divided by one another was measured in turn against one server. Never decides how a thing is measured.

mod consume;
mod produce;
mod targets;

use std::time::Duration;

use serde_json::json;

use super::append::Append;
use super::args::{ClientArgs, Form, Part, Via};
use super::limits::say;
use super::live::Live;
use super::load::{End, Pace};
use super::report::{Measurement, Report};
use super::world::World;
use crate::exit::Failure;
use produce::Produce;

/// Records in a plain request, and requests in flight: those of the batched figure of `kelda bench suite`.
const BATCH: u32 = 256;
const IN_FLIGHT: u32 = 16;
/// The windows of the readers that are measured.
const PREFETCHES: [u64; 3] = [10_000, 1_000, 100];
const TAIL_RATE: f64 = 200.0;

/// One round of what was measured, each by what it is compared as. What was not measured is not there.
#[derive(Default)]
struct Round {
    raw_append: Option<Measurement>,
    produced: Option<Measurement>,
    without_idempotence: Option<Measurement>,
    window_of_one: Option<Measurement>,
    raw_read: Option<Measurement>,
    /// As [`PREFETCHES`].
    consumed: Vec<Measurement>,
    raw_tail: Option<Measurement>,
    tail: Option<Measurement>,
}

impl Round {
    fn into_measurements(self) -> impl Iterator<Item = Measurement> {
        let writes = [self.raw_append, self.produced, self.without_idempotence, self.window_of_one];
        let reads = std::iter::once(self.raw_read).chain(self.consumed.into_iter().map(Some));
        writes.into_iter().chain(reads).chain([self.raw_tail, self.tail]).flatten()
    }
}

pub async fn run(world: &World, endpoint: &str, args: &ClientArgs) -> Result<Report, Failure> {
    let parameters = json!({
        "rounds": args.rounds,
        "bytes": args.bytes,
        "memory_bytes": args.memory_bytes,
        "record_bytes": args.record_bytes,
        "tail_seconds": args.tail.as_secs_f64(),
        "only": args.only,
    });
    let wanted = |part| args.only.is_none_or(|only| only == part);
    // First, since what the others took is not always given back.
    let memory =
        if wanted(Part::Memory) { Some(consume::memory(world, endpoint, args).await?) } else { None };
    let mut rounds: Vec<Round> = (0..args.rounds).map(|_| Round::default()).collect();
    if wanted(Part::Consume) {
        consume::rounds(world, endpoint, args, &mut rounds).await?;
    }
    for (number, round) in rounds.iter_mut().enumerate() {
        let number = number + 1;
        if wanted(Part::Tail) {
            say(&format!("tails, round {number}"));
            round.raw_tail = Some(tail(world, endpoint, args, Via::Sse).await?);
            round.tail = Some(tail(world, endpoint, args, Via::Library).await?);
        }
        if wanted(Part::Produce) {
            say(&format!("producers, round {number}"));
            produce(world, endpoint, args, round).await?;
        }
    }
    let mut report = Report::new(world, "client", Some(endpoint), parameters);
    report.ratios = targets::ratios(&rounds, memory.as_ref());
    report.measurements = rounds.into_iter().flat_map(Round::into_measurements).collect();
    report.measurements.extend(memory.map(|memory| memory.measured));
    Ok(report)
}

async fn produce(world: &World, endpoint: &str, args: &ClientArgs, round: &mut Round) -> Result<(), Failure> {
    let (record_bytes, keep) = (args.record_bytes, args.keep);
    let requests = args.bytes.div_ceil(u64::from(BATCH) * record_bytes);
    let pace =
        Pace { in_flight: IN_FLIGHT, rate: None, warm_up: Duration::ZERO, end: End::Requests(requests) };
    let plain = Append { streams: 1, form: Form::Binary, batch: BATCH, record_bytes, pace, keep };
    let records = requests * u64::from(BATCH);
    let producer = |idempotent, window| Produce { records, record_bytes, idempotent, window, keep };
    round.raw_append = Some(plain.measure(world, endpoint).await?);
    round.produced = Some(producer(true, None).measure(world, endpoint).await?);
    round.without_idempotence = Some(producer(false, None).measure(world, endpoint).await?);
    round.window_of_one = Some(producer(true, Some(1)).measure(world, endpoint).await?);
    Ok(())
}

async fn tail(world: &World, endpoint: &str, args: &ClientArgs, via: Via) -> Result<Measurement, Failure> {
    let live = Live {
        readers: 1,
        rate: TAIL_RATE,
        via,
        record_bytes: args.record_bytes,
        duration: args.tail,
        warm_up: args.tail / 10,
        keep: args.keep,
    };
    live.measure(world, endpoint, "tail").await
}
