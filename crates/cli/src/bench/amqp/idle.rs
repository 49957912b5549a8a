//! Connections that do nothing: owns them while a server's memory is looked at. Guarantees that each has a consumer before the
//! look. Never looks at a server of another machine.

use std::path::PathBuf;
use std::time::Duration;

use super::link::{Broker, Link};
use crate::bench::report::{Counts, Measurement};
use crate::bench::world::World;
use crate::exit::Failure;

/// What the server is given to come to rest before its memory is looked at.
const REST: Duration = Duration::from_secs(2);

/// Memory of a server with idle connections.
pub(super) struct Idle {
    pub(super) measured: Measurement,
    /// Of one connection.
    pub(super) bytes: f64,
}

/// Opens so many connections with one waiting consumer each, and sees what they added to the memory of a process.
pub(super) async fn measure(
    world: &World,
    broker: &Broker,
    queue: &str,
    connections: u32,
    process: u32,
) -> Result<Idle, Failure> {
    // What the first connection needs once for all is not of the others.
    let _first = consumer(world, broker, queue).await?;
    world.clock.sleep(REST).await;
    let before = resident_bytes(process)?;
    let began = world.clock.monotonic();
    let mut links = Vec::with_capacity(connections as usize);
    for _ in 0..connections {
        links.push(consumer(world, broker, queue).await?);
    }
    let elapsed = world.clock.monotonic() - began;
    world.clock.sleep(REST).await;
    let added = resident_bytes(process)?.saturating_sub(before);
    let bytes = added as f64 / f64::from(connections);
    let counts = Counts { requests: connections.into(), ..Counts::default() };
    let name = format!("{connections} idle consumers, {:.1} KiB each", bytes / 1024.0);
    Ok(Idle { measured: Measurement::new(name, elapsed, counts), bytes })
}

async fn consumer(world: &World, broker: &Broker, queue: &str) -> Result<Link, Failure> {
    let mut link = Link::open(broker, &world.clock, true).await?;
    link.consume(queue, "next", 10).await?;
    Ok(link)
}

#[expect(clippy::disallowed_methods, reason = "the memory of another process of this machine")]
fn resident_bytes(process: u32) -> Result<u64, Failure> {
    let path = PathBuf::from(format!("/proc/{process}/status"));
    let text = std::fs::read_to_string(&path)
        .map_err(|error| Failure::usage(format!("no memory of process {process} can be seen: {error}")))?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok());
    kib.map(|kib| kib << 10).ok_or_else(|| Failure::local(format!("{} says no VmRSS", path.display())))
}
