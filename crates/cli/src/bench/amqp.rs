//! `kelda bench amqp`: owns what is measured of a broker over AMQP 0-9-1, Kelda or another, and the order. Guarantees that what
//! is divided by one another was measured in turn by the same code, and that queues are deleted at the end. Never knows
//! which broker it is.

mod flow;
mod frames;
mod idle;
mod link;
mod targets;

use std::time::Duration;

use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};

use super::args::AmqpArgs;
use super::limits::{Limits, say};
use super::report::{Measurement, Report};
use super::world::World;
use crate::exit::Failure;
use flow::Load;
use idle::Idle;
pub use link::Broker;
use link::Link;

/// Bytes written before each sync that latencies are compared with.
const SYNC_BYTES: u64 = 4 << 10;
/// Most bytes that syncs write in a round.
const SYNC_ROOM: u64 = 64 << 20;
const SYNC_TIME: Duration = Duration::from_secs(3);

/// What was measured of one broker in a round.
#[derive(Default)]
struct Side {
    publish: Option<Measurement>,
    consume: Option<Measurement>,
    latency: Option<Measurement>,
    idle: Option<Idle>,
}

/// One round.
#[derive(Default)]
struct Round {
    sync: Option<Measurement>,
    ours: Side,
    peer: Option<Side>,
}

impl Side {
    fn into_measurements(self, of: &str) -> impl Iterator<Item = Measurement> {
        let all = [self.publish, self.consume, self.latency, self.idle.map(|idle| idle.measured)];
        all.into_iter().flatten().map(move |mut measured| {
            measured.name = format!("{of}: {}", measured.name);
            measured
        })
    }
}

pub async fn run(world: &World, args: &AmqpArgs) -> Result<Report, Failure> {
    let parameters = json!({
        "peer": args.peer.as_ref().map(|peer| &peer.shown),
        "rounds": args.rounds,
        "messages": args.messages,
        "message_bytes": args.message_bytes,
        "rate": args.rate,
        "tail_seconds": args.tail.as_secs_f64(),
        "connections": args.connections,
    });
    let mut report = Report::new(world, "amqp", Some(&args.url.shown), parameters);
    let mut rounds = Vec::new();
    for number in 1..=args.rounds {
        rounds.push(round(world, args, number).await?);
    }
    report.ratios = targets::ratios(&rounds);
    for round in rounds {
        report.measurements.extend(round.sync);
        report.measurements.extend(round.ours.into_measurements("url"));
        report.measurements.extend(round.peer.into_iter().flat_map(|peer| peer.into_measurements("peer")));
    }
    Ok(report)
}

async fn round(world: &World, args: &AmqpArgs, number: u32) -> Result<Round, Failure> {
    let mut round = Round::default();
    if let Some(data_dir) = &args.data_dir {
        let limits =
            Limits { data_dir: data_dir.clone(), duration: SYNC_TIME.min(args.tail), max_bytes: SYNC_ROOM };
        say(&format!("fdatasync, round {number}"));
        round.sync = Some(limits.sync(world, SYNC_BYTES).await?);
    }
    say(&format!("{}, round {number}", args.url.shown));
    round.ours = side(world, args, &args.url, args.pid).await?;
    if let Some(peer) = &args.peer {
        say(&format!("{}, round {number}", peer.shown));
        round.peer = Some(side(world, args, peer, args.peer_pid).await?);
    }
    Ok(round)
}

/// Measures a broker with queues of its own, which are deleted whatever happens.
async fn side(world: &World, args: &AmqpArgs, broker: &Broker, pid: Option<u32>) -> Result<Side, Failure> {
    // Two, since what latencies are measured with would be consumed as well.
    let queues = ["paced", "full"].map(|of| format!("bench-{:016x}-{of}", world.random.next_u64()));
    // Listens before the queue is there, so that an interrupt never leaves it behind.
    let mut interrupt = signal(SignalKind::interrupt())
        .map_err(|error| Failure::local(format!("cannot listen for signals: {error}")))?;
    let mut owner = Link::open(broker, &world.clock, false).await?;
    let declared = async {
        for queue in &queues {
            owner.declare(queue).await?;
        }
        Ok::<_, Failure>(())
    };
    let measured = tokio::select! {
        biased;
        measured = async { declared.await?; measure(world, args, broker, &queues, pid).await } => measured,
        _ = interrupt.recv() => Err(Failure::Interrupted),
    };
    // On a connection of its own, whatever happened to the others.
    let mut cleaner = Link::open(broker, &world.clock, false).await?;
    for queue in &queues {
        cleaner.delete(queue).await?;
    }
    cleaner.close().await?;
    measured
}

async fn measure(
    world: &World,
    args: &AmqpArgs,
    broker: &Broker,
    [paced, full]: &[String; 2],
    pid: Option<u32>,
) -> Result<Side, Failure> {
    let mut side = Side::default();
    if let Some(pid) = pid {
        side.idle = Some(idle::measure(world, broker, paced, args.connections, pid).await?);
    }
    let pace = (args.rate, args.tail, args.message_bytes);
    side.latency = Some(flow::latency(world, broker, paced, pace).await?);
    let load = Load { messages: args.messages, message_bytes: args.message_bytes };
    side.publish = Some(flow::publish(world, broker, full, load).await?);
    side.consume = Some(flow::consume(world, broker, full, load).await?);
    Ok(side)
}
