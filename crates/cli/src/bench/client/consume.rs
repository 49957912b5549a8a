//! Readers of the client library: owns runs of them over a sealed stream. Guarantees that every record was handled, and that
//! all readers of a round read the same stream. Never does anything with a record.

use std::time::Duration;

use bytes::Bytes;
use kelda_client::{Binary, ReaderEnd, ReaderState};
use kelda_env::{processor_time, resident_bytes};

use super::{PREFETCHES, Round};
use crate::bench::args::{ClientArgs, Form};
use crate::bench::connection::Target;
use crate::bench::limits::say;
use crate::bench::read::{CatchUp, Filling, fill};
use crate::bench::report::{Counts, Measurement};
use crate::bench::streams::Streams;
use crate::bench::world::World;
use crate::exit::Failure;

/// Bytes of a page of the plain read: those of `kelda bench read`.
const PAGE_BYTES: u64 = 4 << 20;
/// The window of the reader whose memory is watched.
const MEMORY_PREFETCH: u64 = PREFETCHES[0];
/// How often it is looked at.
const LOOK: Duration = Duration::from_millis(10);
const CONTENT_TYPE: &str = "application/octet-stream";

/// A reader to be measured.
#[derive(Clone, Copy, Debug)]
pub(super) struct Consume {
    pub(super) prefetch: u64,
    pub(super) records: u64,
    pub(super) record_bytes: u64,
}

/// What a long read took of memory.
pub(super) struct Memory {
    pub(super) measured: Measurement,
    /// Most bytes while the first tenth was read.
    pub(super) first: u64,
    /// Most bytes after that.
    pub(super) rest: u64,
}

/// A stream that is filled and sealed, and what to do with it.
async fn filled<T>(
    world: &World,
    endpoint: &str,
    filling: Filling,
    work: impl AsyncFnOnce(&str, u64) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let target = Target::new(endpoint)?;
    let streams = Streams::create(endpoint, &*world.random, 1, CONTENT_TYPE, filling.keep).await?;
    let (name, path) = (streams.names().remove(0), streams.paths()?[0].path().to_owned());
    let all = async {
        let records = fill(world, &target, &path, filling).await?;
        crate::remote::client(endpoint)?.seal(&name).await?;
        work(&name, records).await
    };
    streams.during(all).await
}

/// Measures plain reads and readers in turn.
pub(super) async fn rounds(
    world: &World,
    endpoint: &str,
    args: &ClientArgs,
    rounds: &mut [Round],
) -> Result<(), Failure> {
    let record_bytes = args.record_bytes;
    let filling = Filling { bytes: args.bytes, record_bytes, keep: args.keep };
    let work = async |stream: &str, records: u64| {
        for (number, round) in rounds.iter_mut().enumerate() {
            say(&format!("readers, round {}", number + 1));
            let plain = CatchUp { form: Form::Binary, readers: 1, page: PAGE_BYTES, apart: false };
            round.raw_read = Some(plain.existing(world, endpoint, stream).await?);
            for prefetch in PREFETCHES {
                let consume = Consume { prefetch, records, record_bytes };
                round.consumed.push(consume.measure(world, endpoint, stream).await?);
            }
        }
        Ok(())
    };
    filled(world, endpoint, filling, work).await
}

/// Measures memory over one long read.
pub(super) async fn memory(world: &World, endpoint: &str, args: &ClientArgs) -> Result<Memory, Failure> {
    let record_bytes = args.record_bytes;
    let filling = Filling { bytes: args.memory_bytes, record_bytes, keep: args.keep };
    let work = async |stream: &str, records: u64| {
        say("memory over a long read");
        let consume = Consume { prefetch: MEMORY_PREFETCH, records, record_bytes };
        let mut peaks = [0; 2];
        let measured = consume
            .watched(world, endpoint, stream, |handled| {
                let peak = &mut peaks[usize::from(handled > records / 10)];
                *peak = (*peak).max(resident_bytes().unwrap_or(0));
            })
            .await?;
        Ok(Memory { measured, first: peaks[0], rest: peaks[1] })
    };
    filled(world, endpoint, filling, work).await
}

impl Consume {
    async fn measure(&self, world: &World, endpoint: &str, stream: &str) -> Result<Measurement, Failure> {
        self.watched(world, endpoint, stream, |_| {}).await
    }

    /// The same, with a look now and then that is told how many records were handled.
    async fn watched(
        &self,
        world: &World,
        endpoint: &str,
        stream: &str,
        mut look: impl FnMut(u64),
    ) -> Result<Measurement, Failure> {
        let kelda = crate::remote::client(endpoint)?;
        let (began, processor) = (world.clock.monotonic(), processor_time());
        let reader = kelda.stream::<Bytes>(stream).codec(Binary).from_first().prefetch(self.prefetch);
        let reader = reader.consume(|_| async {}).await?;
        let mut state = reader.watch();
        let end = loop {
            if let ReaderState::Ended(end) = &*state.borrow_and_update() {
                break end.clone();
            }
            look(reader.handled());
            tokio::select! {
                _ = state.changed() => {}
                () = world.clock.sleep(LOOK) => {}
            }
        };
        let (elapsed, processor) = (world.clock.monotonic() - began, processor_time() - processor);
        let handled = reader.handled();
        if !matches!(end, ReaderEnd::Sealed) || handled != self.records {
            let wanted = self.records;
            return Err(Failure::local(format!("{handled} records of {wanted} were handled: {end}")));
        }
        let counts = Counts { requests: 0, records: handled, bytes: handled * self.record_bytes, errors: 0 };
        let name = format!("reader, prefetch {}", self.prefetch);
        Ok(Measurement::new(name, elapsed, counts).with_cpu(processor))
    }
}
