//! `kelda bench suite`: owns the list of measurements that are compared, and their targets. Guarantees that all come from
//! one run against one server. Never decides how a thing is measured.

mod targets;

use std::time::Duration;

use serde_json::json;

use super::append::Append;
use super::args::{Form, SuiteArgs, Via};
use super::limits::{Limits, say};
use super::live::Live;
use super::load::{End, Pace};
use super::read::{CatchUp, Filling};
use super::report::{Measurement, Report};
use super::world::World;
use crate::exit::Failure;

const RECORD_BYTES: u64 = 1024;
const BATCH: u32 = 256;
const BATCHES_IN_FLIGHT: u32 = 16;
const MANY_STREAMS: u32 = 64;
const SINGLES_IN_FLIGHT: [u32; 3] = [1, 16, 256];
const TAIL_RATE: f64 = 200.0;
/// Bytes that a catch-up read asks for at once: several times a page of the default size.
const PAGE_BYTES: u64 = 4 << 20;

/// How much is measured.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    limit: Duration,
    limit_bytes: u64,
    batched_bytes: u64,
    singles: Duration,
    tail: Duration,
    catch_up_bytes: u64,
    warm_up: Duration,
}

impl Sizes {
    fn of(args: &SuiteArgs) -> Sizes {
        let full = Sizes {
            limit: Duration::from_secs(3),
            limit_bytes: 4 << 30,
            batched_bytes: args.bytes.unwrap_or(20 << 30),
            singles: Duration::from_secs(10),
            tail: Duration::from_secs(30),
            catch_up_bytes: 1 << 30,
            warm_up: Duration::from_secs(1),
        };
        if !args.quick {
            return full;
        }
        Sizes {
            limit: Duration::from_millis(300),
            limit_bytes: 64 << 20,
            batched_bytes: args.bytes.unwrap_or(64 << 20),
            singles: Duration::from_millis(500),
            tail: Duration::from_secs(1),
            catch_up_bytes: 32 << 20,
            warm_up: Duration::from_millis(100),
        }
    }
}

/// What was measured, each by what it is compared as.
struct Measured {
    limits: Vec<Measurement>,
    batched_one: Measurement,
    batched_many: Measurement,
    /// As [`SINGLES_IN_FLIGHT`].
    singles: Vec<Measurement>,
    tail: Measurement,
    raw: Measurement,
    binary: Measurement,
}

pub async fn run(world: &World, endpoint: &str, args: &SuiteArgs) -> Result<Report, Failure> {
    let sizes = Sizes::of(args);
    let parameters = json!({
        "data_dir": args.data_dir,
        "quick": args.quick,
        "bytes": sizes.batched_bytes,
        "record_bytes": RECORD_BYTES,
    });
    let measured = measure(world, endpoint, args, sizes).await?;
    let mut report = Report::new(world, "suite", Some(endpoint), parameters);
    report.ratios = targets::ratios(&measured);
    report.measurements = measured.limits;
    report.measurements.extend(measured.singles);
    report.measurements.extend([measured.tail, measured.raw, measured.binary]);
    report.measurements.extend([measured.batched_one, measured.batched_many]);
    Ok(report)
}

async fn measure(world: &World, endpoint: &str, args: &SuiteArgs, sizes: Sizes) -> Result<Measured, Failure> {
    let limits =
        Limits { data_dir: args.data_dir.clone(), duration: sizes.limit, max_bytes: sizes.limit_bytes };
    let limits = limits.measure(world).await?;
    let keep = args.keep;
    let batched = |streams| {
        let requests = sizes.batched_bytes.div_ceil(u64::from(BATCH) * RECORD_BYTES);
        let (warm_up, end) = (sizes.warm_up, End::Requests(requests));
        let pace = Pace { in_flight: BATCHES_IN_FLIGHT, rate: None, warm_up, end };
        Append { streams, form: Form::Binary, batch: BATCH, record_bytes: RECORD_BYTES, pace, keep }
    };
    let mut singles = Vec::new();
    for in_flight in SINGLES_IN_FLIGHT {
        say(&format!("single appends, {in_flight} in flight"));
        let pace = Pace { in_flight, rate: None, warm_up: sizes.warm_up, end: End::After(sizes.singles) };
        let append = Append { streams: 1, form: Form::Raw, batch: 1, record_bytes: RECORD_BYTES, pace, keep };
        singles.push(append.measure(world, endpoint).await?);
    }
    say("tail latency");
    let live = Live {
        readers: 1,
        rate: TAIL_RATE,
        via: Via::Sse,
        record_bytes: RECORD_BYTES,
        duration: sizes.tail,
        warm_up: sizes.warm_up,
        keep,
    };
    let tail = live.measure(world, endpoint, "tail").await?;
    let filling = Filling { bytes: sizes.catch_up_bytes, record_bytes: RECORD_BYTES, keep };
    say("catch-up reads");
    let raw = CatchUp { form: Form::Raw, readers: 1, page: PAGE_BYTES, apart: false };
    let raw = raw.filled(world, endpoint, filling).await?;
    let binary = CatchUp { form: Form::Binary, readers: 1, page: PAGE_BYTES, apart: false };
    let binary = binary.filled(world, endpoint, filling).await?;
    // Last, since some media are slower for a while after so much.
    say("batched appends to one stream");
    let batched_one = batched(1).measure(world, endpoint).await?;
    say("batched appends to many streams");
    let batched_many = batched(MANY_STREAMS).measure(world, endpoint).await?;
    Ok(Measured { limits, batched_one, batched_many, singles, tail, raw, binary })
}
