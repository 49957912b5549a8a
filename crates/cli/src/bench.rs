//! `kelda bench`: owns how a measurement is started, reported and cleaned up after. Guarantees that the streams it made
//! are deleted at the end, failed or not, unless told to keep them. Never touches a stream of anybody else but by reading.

mod amqp;
mod append;
pub mod args;
mod chart;
mod client;
pub mod connection;
mod fanout;
mod latency;
mod limits;
mod live;
mod load;
mod output;
mod payload;
mod population;
mod ratio;
mod read;
mod report;
mod size;
mod sse;
mod store;
mod streams;
mod suite;
mod tail;
mod world;

use crate::exit::Failure;
use args::{BenchArgs, Workload};
use report::Report;
use world::World;

/// Runs one workload on an event loop of its own and gives out what it measured, as JSON or as a table.
pub fn run(endpoint: &str, json: bool, args: &BenchArgs) -> Result<(), Failure> {
    output::prepare(args)?;
    // A connection for each of thousands of readers needs more descriptors than a shell gives. Where the system
    // refuses, opening the connection says so.
    let _ = kelda_env::raise_open_files_limit();
    let runtime = kelda_server::runtime();
    let runtime = runtime.map_err(|error| Failure::local(format!("no event loop: {error}")))?;
    let report = runtime.block_on(measure(endpoint, args));
    runtime.shutdown_background();
    output::give_out(&report?, json, args)
}

async fn measure(endpoint: &str, args: &BenchArgs) -> Result<Report, Failure> {
    let admin = args.admin.as_deref();
    let before = match admin {
        Some(admin) => Some(store::Counters::read(admin).await?),
        None => None,
    };
    let world = World::new();
    let report = match &args.workload {
        Workload::Append(args) => append::run(&world, endpoint, args).await,
        Workload::Read(args) => read::run(&world, endpoint, args).await,
        Workload::Tail(args) => tail::run(&world, endpoint, args).await,
        Workload::Fanout(args) => fanout::run(&world, endpoint, args).await,
        Workload::Streams(args) => population::run(&world, endpoint, args).await,
        Workload::Limits(args) => limits::run(&world, args).await,
        Workload::Client(args) => client::run(&world, endpoint, args).await,
        Workload::Amqp(args) => amqp::run(&world, args).await,
        Workload::Suite(args) => suite::run(&world, endpoint, args).await,
    };
    store::added(report?, admin, before).await
}
