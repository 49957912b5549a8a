//! `kelda bench limits`: owns the measurements of the machine that others are compared with. Guarantees that each uses the
//! code that a node uses: its disk, its sockets, its HTTP. Never needs a server.

mod fdatasync;
mod loopback;
mod noop;

use std::path::PathBuf;
use std::time::Duration;

use serde_json::json;

use super::args::LimitsArgs;
use super::report::{Measurement, Report};
use super::size;
use super::world::World;
use crate::exit::Failure;

/// Bytes written before each sync.
pub const SYNC_BYTES: [u64; 3] = [4 << 10, 256 << 10, 1 << 20];
/// Requests in flight of the handler that does nothing.
pub const NOOP_IN_FLIGHT: [u32; 3] = [1, 16, 256];
/// The pause before each write of those that have pauses: a medium and a machine that rest in between take longer.
const PAUSE: Duration = Duration::from_millis(5);
/// The name of the measurement of loopback.
pub const LOOPBACK: &str = "loopback TCP, 1 connection";

/// The name of the measurement of synced writes.
pub fn sync_name(bytes: u64) -> String {
    format!("write {} + fdatasync", size::format(bytes))
}

/// The name of the measurement of synced writes with pauses.
pub fn paced_sync_name() -> String {
    format!("write {} + fdatasync, with pauses", size::format(SYNC_BYTES[0]))
}

/// The name of the measurement of a handler that does nothing.
pub fn noop_name(in_flight: u32) -> String {
    format!("no-op POST 1 KiB, {in_flight} in flight")
}

pub async fn run(world: &World, args: &LimitsArgs) -> Result<Report, Failure> {
    let limits =
        Limits { data_dir: args.data_dir.clone(), duration: args.seconds, max_bytes: args.max_bytes };
    let mut report = Report::new(world, "limits", None, limits.parameters());
    report.measurements = limits.measure(world).await?;
    Ok(report)
}

/// What is measured, and for how long.
#[derive(Clone, Debug)]
pub struct Limits {
    pub data_dir: PathBuf,
    /// Of each measurement.
    pub duration: Duration,
    pub max_bytes: u64,
}

impl Limits {
    /// Refuses a directory that is not there: a name with a mistake in it would be measured on another medium.
    #[expect(clippy::disallowed_methods, reason = "the directory is the user's")]
    fn check(&self) -> Result<(), Failure> {
        let wrong = |what: &str| Failure::usage(format!("--data-dir {}: {what}", self.data_dir.display()));
        match std::fs::metadata(&self.data_dir) {
            Ok(found) if found.is_dir() => Ok(()),
            Ok(_) => Err(wrong("this is no directory")),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                Err(wrong("there is no such directory; create it on the medium to be measured"))
            }
            Err(error) => Err(wrong(&error.to_string())),
        }
    }

    pub fn parameters(&self) -> serde_json::Value {
        json!({
            "data_dir": self.data_dir,
            "seconds": self.duration.as_secs_f64(),
            "max_bytes": self.max_bytes,
        })
    }

    /// Measures only writes of so many bytes, each with its sync.
    pub async fn sync(&self, world: &World, bytes: u64) -> Result<Measurement, Failure> {
        self.check()?;
        fdatasync::measure(world, self, bytes, None).await
    }

    pub async fn measure(&self, world: &World) -> Result<Vec<Measurement>, Failure> {
        self.check()?;
        let mut measured = Vec::new();
        for bytes in SYNC_BYTES {
            say(&sync_name(bytes));
            measured.push(fdatasync::measure(world, self, bytes, None).await?);
        }
        say(&paced_sync_name());
        measured.push(fdatasync::measure(world, self, SYNC_BYTES[0], Some(PAUSE)).await?);
        say(LOOPBACK);
        measured.push(loopback::measure(world, self.duration).await?);
        for in_flight in NOOP_IN_FLIGHT {
            say(&noop_name(in_flight));
            measured.push(noop::measure(world, self, in_flight).await?);
        }
        Ok(measured)
    }
}

/// Says what is measured now, for those who wait.
pub fn say(what: &str) {
    eprintln!("kelda: measuring {what}");
}
