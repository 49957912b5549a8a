//! What can be typed behind `kelda bench`: owns the workloads and their flags, guarantees that `--help` explains each,
//! never acts.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use serde::Serialize;

use super::amqp::Broker;
use super::size;

/// Most connections at once: more than a server takes, and less than the ports there are.
const MAX_CONNECTIONS: i64 = 4096;

/// Arguments of `kelda bench`.
#[derive(Debug, Args)]
pub struct BenchArgs {
    #[command(subcommand)]
    pub workload: Workload,
    /// Write the result as JSON into this file; --json prints it, and the table goes to standard error then
    #[arg(long, global = true, value_name = "FILE")]
    pub result: Option<PathBuf>,
    /// Draw the result; the name has to end in .svg or .html
    #[arg(long, global = true, value_name = "FILE", value_parser = chart_file)]
    pub chart: Option<PathBuf>,
    /// Count the requests to the object store of the node whose admin listener is there, as in http://127.0.0.1:9437
    #[arg(long, global = true, value_name = "URL")]
    pub admin: Option<String>,
}

/// What is measured.
#[derive(Debug, Subcommand)]
pub enum Workload {
    /// Durable appends: throughput and latency
    Append(AppendArgs),
    /// Catch-up reads: throughput
    Read(ReadArgs),
    /// From an append to its delivery at a waiting reader: latency
    Tail(TailArgs),
    /// The same with many readers of one stream
    Fanout(FanoutArgs),
    /// Many streams at once: making, first appends and deleting
    Streams(StreamsArgs),
    /// The machine: durable writes, loopback, and the HTTP stack with a handler that does nothing
    Limits(LimitsArgs),
    /// The client library beside the plain requests that it is made of, and their ratios beside the targets
    Client(ClientArgs),
    /// Any broker over AMQP 0-9-1, beside another one where it is named, and their ratios beside the targets
    Amqp(Box<AmqpArgs>),
    /// Limits and all workloads of one comparison, and their ratios beside the targets
    Suite(SuiteArgs),
}

/// The form of records on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// Bodies as they are
    Raw,
    /// application/vnd.kelda.records+json
    Json,
    /// application/vnd.kelda.records
    Binary,
}

/// How records reach a waiting reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Via {
    /// One event stream
    Sse,
    /// A request for each page
    LongPoll,
    /// A reader of the client library
    Library,
}

/// When a measurement ends.
#[derive(Debug, Args)]
#[group(id = "end", multiple = false)]
pub struct EndArgs {
    /// End after so many records, rounded up to whole requests
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub records: Option<u64>,
    /// End after so many bytes of records, such as 20GiB, rounded up to whole requests
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    pub bytes: Option<u64>,
    /// End after so long [default: 10s]
    #[arg(long, value_name = "DURATION", value_parser = size::parse_time)]
    pub duration: Option<Duration>,
}

/// Arguments of `kelda bench append`.
#[derive(Debug, Args)]
pub struct AppendArgs {
    /// Streams that take turns
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub streams: u32,
    /// Requests in flight, each on a connection of its own; at most 4096
    #[arg(long, default_value_t = 16, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=MAX_CONNECTIONS))]
    pub in_flight: u32,
    /// Records in a request
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub batch: u32,
    /// How records are sent: raw (one record in a request), json or binary [default: raw for one record, else binary]
    #[arg(long, value_enum)]
    pub form: Option<Form>,
    /// Bytes of one record
    #[arg(long, default_value = "1KiB", value_name = "SIZE", value_parser = size::parse_record)]
    pub record_bytes: u64,
    #[command(flatten)]
    pub end: EndArgs,
    /// Send so long before counting
    #[arg(long, default_value = "1s", value_name = "DURATION", value_parser = kelda_server::duration::parse)]
    pub warm_up: Duration,
    /// Send at most so many requests a second instead of as many as are answered
    #[arg(long, value_name = "N", value_parser = size::parse_rate)]
    pub rate: Option<f64>,
    /// Leave the streams there
    #[arg(long)]
    pub keep: bool,
}

/// Arguments of `kelda bench read`.
#[derive(Debug, Args)]
pub struct ReadArgs {
    /// Read this stream instead of one that is filled for it
    #[arg(long, value_name = "NAME", conflicts_with_all = ["bytes", "record_bytes"])]
    pub stream: Option<String>,
    /// Bytes of records to fill the stream with, not counted
    #[arg(long, default_value = "1GiB", value_name = "SIZE", value_parser = size::parse)]
    pub bytes: u64,
    /// Bytes of one record
    #[arg(long, default_value = "1KiB", value_name = "SIZE", value_parser = size::parse_record)]
    pub record_bytes: u64,
    /// The form of the replies
    #[arg(long, value_enum, default_value_t = Form::Raw)]
    pub form: Form,
    /// Readers at once, each reading everything; at most 4096
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=MAX_CONNECTIONS))]
    pub readers: u32,
    /// Bytes to ask for in a request; a server gives at most 16 MiB
    #[arg(long, default_value = "4MiB", value_name = "SIZE", value_parser = size::parse_page)]
    pub page: u64,
    /// Readers begin at different places, and each reads as far as the next one began
    #[arg(long)]
    pub apart: bool,
    /// Leave the stream there
    #[arg(long)]
    pub keep: bool,
}

/// Arguments of workloads with waiting readers.
#[derive(Debug, Args)]
pub struct LiveArgs {
    /// Records that are appended in a second, one in a request
    #[arg(long, default_value = "200", value_name = "N", value_parser = size::parse_rate)]
    pub rate: f64,
    /// How records come
    #[arg(long, value_enum, default_value_t = Via::Sse)]
    pub via: Via,
    /// Bytes of one record, at least 20
    #[arg(long, default_value = "1KiB", value_name = "SIZE", value_parser = size::parse_stamped)]
    pub record_bytes: u64,
    /// How long to measure
    #[arg(long, default_value = "10s", value_name = "DURATION", value_parser = size::parse_time)]
    pub duration: Duration,
    /// Send so long before counting
    #[arg(long, default_value = "1s", value_name = "DURATION", value_parser = kelda_server::duration::parse)]
    pub warm_up: Duration,
    /// Leave the stream there
    #[arg(long)]
    pub keep: bool,
}

/// Arguments of `kelda bench tail`.
#[derive(Debug, Args)]
pub struct TailArgs {
    #[command(flatten)]
    pub live: LiveArgs,
}

/// Arguments of `kelda bench fanout`.
#[derive(Debug, Args)]
pub struct FanoutArgs {
    /// Readers at once, each on a connection of its own; at most 4096
    #[arg(long, default_value_t = 50, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=MAX_CONNECTIONS))]
    pub readers: u32,
    #[command(flatten)]
    pub live: LiveArgs,
}

/// Arguments of `kelda bench streams`.
#[derive(Debug, Args)]
pub struct StreamsArgs {
    /// Streams to make; at most 10,000,000
    #[arg(long, default_value_t = 10_000, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    pub streams: u32,
    /// Streams of them that get a record, at most all
    #[arg(long, default_value_t = 100, value_name = "N")]
    pub active: u32,
    /// Requests in flight, each on a connection of its own; at most 4096
    #[arg(long, default_value_t = 64, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=MAX_CONNECTIONS))]
    pub in_flight: u32,
    /// Bytes of one record
    #[arg(long, default_value = "1KiB", value_name = "SIZE", value_parser = size::parse_record)]
    pub record_bytes: u64,
    /// Leave the streams there
    #[arg(long)]
    pub keep: bool,
}

/// Arguments of `kelda bench limits`.
#[derive(Debug, Args)]
pub struct LimitsArgs {
    /// The directory whose medium is measured; it has to be there and may be the data directory of a node
    #[arg(long, value_name = "PATH")]
    pub data_dir: PathBuf,
    /// How long each measurement takes
    #[arg(long, default_value = "3s", value_name = "DURATION", value_parser = size::parse_time)]
    pub seconds: Duration,
    /// Most bytes that one measurement writes to the directory
    #[arg(long, default_value = "4GiB", value_name = "SIZE", value_parser = size::parse)]
    pub max_bytes: u64,
}

/// Arguments of `kelda bench client`.
#[derive(Debug, Args)]
pub struct ClientArgs {
    /// How often everything is measured, all in turn; a ratio is the median of the rounds
    #[arg(long, default_value_t = 3, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub rounds: u32,
    /// Bytes of records for each measurement
    #[arg(long, default_value = "1GiB", value_name = "SIZE", value_parser = size::parse)]
    pub bytes: u64,
    /// Bytes of records that are read while memory is watched; below 1GiB it says little
    #[arg(long, default_value = "4GiB", value_name = "SIZE", value_parser = size::parse)]
    pub memory_bytes: u64,
    /// Bytes of one record, at least 20
    #[arg(long, default_value = "1KiB", value_name = "SIZE", value_parser = size::parse_stamped)]
    pub record_bytes: u64,
    /// How long each tail is measured
    #[arg(long, default_value = "10s", value_name = "DURATION", value_parser = size::parse_time)]
    pub tail: Duration,
    /// Measure only this part
    #[arg(long, value_enum)]
    pub only: Option<Part>,
    /// Leave the streams there
    #[arg(long)]
    pub keep: bool,
}

/// What of the client library is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// Producers beside batched requests
    Produce,
    /// Readers beside plain reads of binary records
    Consume,
    /// A waiting reader beside an event stream
    Tail,
    /// Memory during a long read
    Memory,
}

/// Arguments of `kelda bench amqp`.
#[derive(Debug, Args)]
pub struct AmqpArgs {
    /// The broker, as in amqp://guest:guest@127.0.0.1:5672/%2F
    #[arg(long, value_name = "URL", value_parser = Broker::parse)]
    pub url: Broker,
    /// Another broker to measure in turn, which the first one is compared with
    #[arg(long, value_name = "URL", value_parser = Broker::parse)]
    pub peer: Option<Broker>,
    /// How often everything is measured, all in turn; a ratio is the median of the rounds
    #[arg(long, default_value_t = 3, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub rounds: u32,
    /// Messages to publish and to consume
    #[arg(long, default_value_t = 200_000, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub messages: u64,
    /// Bytes of one message, at least 20
    #[arg(long, default_value = "1KiB", value_name = "SIZE", value_parser = size::parse_stamped)]
    pub message_bytes: u64,
    /// Messages a second while deliveries are timed
    #[arg(long, default_value = "1000", value_name = "N", value_parser = size::parse_rate)]
    pub rate: f64,
    /// How long deliveries are timed
    #[arg(long, default_value = "10s", value_name = "DURATION", value_parser = size::parse_time)]
    pub tail: Duration,
    /// Measure the 4 KiB fdatasync of the medium of this directory as well
    #[arg(long, value_name = "PATH")]
    pub data_dir: Option<PathBuf>,
    /// See what idle connections add to the memory of this process, the broker of --url on this machine
    #[arg(long, value_name = "PID")]
    pub pid: Option<u32>,
    /// The same for the broker of --peer
    #[arg(long, value_name = "PID", requires = "peer")]
    pub peer_pid: Option<u32>,
    /// Idle connections, each with one consumer; at most 4096
    #[arg(long, default_value_t = 1000, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=MAX_CONNECTIONS))]
    pub connections: u32,
}

/// Arguments of `kelda bench suite`.
#[derive(Debug, Args)]
pub struct SuiteArgs {
    /// The directory whose medium is measured: on the one that the server writes to
    #[arg(long, value_name = "PATH")]
    pub data_dir: PathBuf,
    /// Bytes of records for each measurement of batched appends [default: 20GiB, 64MiB with --quick]
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    pub bytes: Option<u64>,
    /// Small sizes: to see that it works, not to compare
    #[arg(long)]
    pub quick: bool,
    /// Leave the streams there
    #[arg(long)]
    pub keep: bool,
}

fn chart_file(text: &str) -> Result<PathBuf, String> {
    let fine = [".svg", ".html"].iter().any(|ending| text.ends_with(ending));
    if fine { Ok(PathBuf::from(text)) } else { Err(format!("`{text}` does not end in .svg or .html")) }
}
