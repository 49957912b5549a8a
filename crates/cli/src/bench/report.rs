//! What a measurement found: owns the fields that tables, charts and JSON show (`docs/benchmarks.md` describes them).
//! Guarantees that rates belong to the counts and the time beside them. Never measures.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use super::latency::{Latencies, Latency};
use super::load::Tally;
use super::ratio::Ratio;
use super::store::StoreUse;
use super::world::World;

/// Version of the JSON; a field that goes or changes its meaning raises it.
const SCHEMA: u32 = 1;

/// One run of `kelda bench`.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    pub schema: u32,
    pub version: &'static str,
    pub workload: &'static str,
    /// Absent when no server is involved.
    pub endpoint: Option<String>,
    /// When it ended, RFC 3339.
    pub time: String,
    pub parameters: Value,
    pub measurements: Vec<Measurement>,
    pub ratios: Vec<Ratio>,
    /// Absent where no admin address was named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub store: Option<StoreUse>,
}

impl Report {
    pub fn new(world: &World, workload: &'static str, endpoint: Option<&str>, parameters: Value) -> Report {
        let now = i64::try_from(world.clock.now()).unwrap_or(i64::MAX);
        let time = jiff::Timestamp::from_millisecond(now).unwrap_or_default();
        Report {
            schema: SCHEMA,
            version: env!("CARGO_PKG_VERSION"),
            workload,
            endpoint: endpoint.map(str::to_owned),
            time: time.to_string(),
            parameters,
            measurements: Vec::new(),
            ratios: Vec::new(),
            store: None,
        }
    }

    /// The report with one measurement more.
    pub fn with(mut self, measurement: Measurement) -> Report {
        self.measurements.push(measurement);
        self
    }
}

/// What was counted in one stretch of time.
#[derive(Clone, Debug, Serialize)]
pub struct Measurement {
    pub name: String,
    pub seconds: f64,
    /// Requests, or writes where a disk is measured.
    pub requests: u64,
    pub records: u64,
    pub bytes: u64,
    pub errors: u64,
    pub requests_per_second: f64,
    pub records_per_second: f64,
    pub mib_per_second: f64,
    /// Records that reached a waiting reader, over all readers; absent where none wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deliveries: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deliveries_per_second: Option<f64>,
    /// Percentiles of what the key says.
    pub latency_ms: BTreeMap<&'static str, Latency>,
    /// Absent where the process measures itself.
    pub client_cpu: Option<Cpu>,
}

/// Processor time of the process that measures.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Cpu {
    pub seconds: f64,
    /// Of one processor; two busy ones are 2.
    pub share: f64,
}

/// What a measurement counted, without what follows from it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    pub requests: u64,
    pub records: u64,
    pub bytes: u64,
    pub errors: u64,
}

impl Measurement {
    pub fn new(name: impl Into<String>, elapsed: Duration, counts: Counts) -> Measurement {
        let seconds = elapsed.as_secs_f64();
        let rate = |count: f64| if seconds > 0.0 { count / seconds } else { 0.0 };
        Measurement {
            name: name.into(),
            seconds,
            requests: counts.requests,
            records: counts.records,
            bytes: counts.bytes,
            errors: counts.errors,
            requests_per_second: rate(counts.requests as f64),
            records_per_second: rate(counts.records as f64),
            mib_per_second: rate(counts.bytes as f64 / f64::from(1 << 20)),
            deliveries: None,
            deliveries_per_second: None,
            latency_ms: BTreeMap::new(),
            client_cpu: None,
        }
    }

    /// Of the load generator, each of whose requests had so many records of so many bytes.
    pub fn of_load(name: impl Into<String>, tally: &Tally, records: u64, bytes: u64) -> Measurement {
        let counts = Counts {
            requests: tally.requests,
            records: tally.requests * records,
            bytes: tally.requests * bytes,
            errors: tally.errors,
        };
        Measurement::new(name, tally.elapsed, counts).with_latency("ack", &tally.latencies)
    }

    pub fn with_latency(mut self, of: &'static str, latencies: &Latencies) -> Measurement {
        self.latency_ms.insert(of, latencies.summary());
        self
    }

    pub fn with_cpu(mut self, processor: Duration) -> Measurement {
        let seconds = processor.as_secs_f64();
        let share = if self.seconds > 0.0 { seconds / self.seconds } else { 0.0 };
        self.client_cpu = Some(Cpu { seconds, share });
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_follow_from_counts_and_time() {
        let counts = Counts { requests: 4, records: 1024, bytes: 8 << 20, errors: 1 };
        let measured = Measurement::new("x", Duration::from_secs(2), counts).with_cpu(Duration::from_secs(3));
        assert_eq!((measured.requests_per_second, measured.records_per_second), (2.0, 512.0));
        assert_eq!((measured.mib_per_second, measured.client_cpu.unwrap().share), (4.0, 1.5));
        let nothing = Measurement::new("x", Duration::ZERO, Counts::default()).with_cpu(Duration::ZERO);
        assert_eq!((nothing.mib_per_second, nothing.client_cpu.unwrap().share), (0.0, 0.0));
    }
}
