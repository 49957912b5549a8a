//! Durable writes: owns a file in the data directory that is written from its start to its end, each write followed by
//! `fdatasync`. Guarantees the way of the write-ahead log: fresh preallocated space, one writer on a thread of its own, the
//! disk of a node. Never leaves the file behind, unless the process is killed.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use kelda_env::{Clock, DiskError, DiskFile, Env};

use super::{Limits, paced_sync_name, sync_name};
use crate::bench::latency::Latencies;
use crate::bench::report::{Counts, Measurement};
use crate::bench::world::World;
use crate::exit::Failure;

/// At most one part in so many of the free space is used.
const FREE_SHARE: u64 = 4;

/// Writes `bytes` at a time: one write after the other, or one at the end of every `period`.
pub async fn measure(
    world: &World,
    limits: &Limits,
    bytes: u64,
    period: Option<Duration>,
) -> Result<Measurement, Failure> {
    let failed = |error: DiskError| Failure::local(format!("{}: {error}", limits.data_dir.display()));
    let env = Env::real(&limits.data_dir).map_err(failed)?;
    let free = env.disk.space().await.map_err(failed)?.free;
    let room = limits.max_bytes.min(free / FREE_SHARE);
    let len = (room / bytes).max(1) * bytes;
    let mut buffer = vec![0; bytes as usize];
    env.random.fill(&mut buffer);
    let path = format!("kelda-bench-{:016x}", env.random.next_u64());
    let (clock, duration) = (Arc::clone(&world.clock), limits.duration);
    let work = async move {
        let file = env.disk.create_preallocated(&path, len).await?;
        let written = env.disk.sync_dir("").await;
        let written = match written {
            Ok(()) => write(&*clock, &*file, &buffer.into(), len, (duration, period)).await,
            Err(error) => Err(error),
        };
        drop(file);
        env.disk.remove(&path).await?;
        written
    };
    let (latencies, elapsed, requests) = world.aside("fdatasync", work).await?.map_err(failed)?;
    let counts = Counts { requests, records: 0, bytes: requests * bytes, errors: 0 };
    let name = if period.is_some() { paced_sync_name() } else { sync_name(bytes) };
    Ok(Measurement::new(name, elapsed, counts).with_latency("write", &latencies))
}

type Written = (Latencies, Duration, u64);

/// Writes until the file is full or the time is over.
async fn write(
    clock: &dyn Clock,
    file: &dyn DiskFile,
    buffer: &Bytes,
    len: u64,
    (duration, period): (Duration, Option<Duration>),
) -> Result<Written, DiskError> {
    let (mut latencies, mut position, mut count) = (Latencies::new(), 0, 0);
    let buffers = std::slice::from_ref(buffer);
    let began = clock.monotonic();
    let mut now = began;
    while position < len && now - began < duration {
        if let Some(period) = period {
            clock.sleep(period).await;
            now = clock.monotonic();
        }
        file.write_at(buffers, position).await?;
        file.sync_data().await?;
        let then = std::mem::replace(&mut now, clock.monotonic());
        latencies.add(now - then);
        position += buffer.len() as u64;
        count += 1;
    }
    Ok((latencies, now - began, count))
}
