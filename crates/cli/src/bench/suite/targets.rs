//! What a node has to reach on a machine: owns the ratios and their targets. Guarantees that each is a fraction of what the
//! same run measured of the machine. Never measures.

use super::{Measured, Measurement, SINGLES_IN_FLIGHT};
use crate::bench::latency::Latency;
use crate::bench::limits::{LOOPBACK, noop_name, sync_name};
use crate::bench::ratio::{Ratio, Wanted};

const SMALL_SYNC: u64 = 4 << 10;
const LARGE_SYNC: u64 = 1 << 20;

/// All ratios, in the order of the measurements.
pub(super) fn ratios(measured: &Measured) -> Vec<Ratio> {
    use Wanted::{AtLeast, Under};
    let limit = |name: &str| measured.limits.iter().find(|limit| limit.name == name);
    let large = limit(&sync_name(LARGE_SYNC)).map_or(0.0, |sync| sync.mib_per_second);
    let small = limit(&sync_name(SMALL_SYNC)).map_or(0.0, |sync| latency(sync, "write", |it| it.p50));
    let loopback = limit(LOOPBACK).map_or(0.0, |loopback| loopback.mib_per_second);
    let one = measured.batched_one.mib_per_second;
    let mut ratios = vec![
        Ratio::new("batched appends, 1 stream / 1 MiB fdatasync bandwidth", one, large, AtLeast, 0.35),
        Ratio::new(
            "batched appends, 64 streams / 1 stream",
            measured.batched_many.mib_per_second,
            one,
            AtLeast,
            0.8,
        ),
    ];
    for (single, in_flight) in measured.singles.iter().zip(SINGLES_IN_FLIGHT) {
        if in_flight == 1 {
            let ack = latency(single, "ack", |it| it.p50);
            let name = "single append, 1 in flight: ack p50 / 4 KiB fdatasync p50";
            ratios.push(Ratio::new(name, ack, small, Under, 3.0));
        } else {
            let noop = limit(&noop_name(in_flight)).map_or(0.0, |noop| noop.requests_per_second);
            let name = format!("single appends, {in_flight} in flight / no-op POST rate");
            ratios.push(Ratio::new(name, single.requests_per_second, noop, AtLeast, 0.6));
        }
    }
    let delivery = |of: fn(&Latency) -> f64| latency(&measured.tail, "delivery", of);
    ratios.extend([
        Ratio::new("tail p50 / 4 KiB fdatasync p50", delivery(|it| it.p50), small, Under, 4.0),
        Ratio::new("tail p99 / 4 KiB fdatasync p50", delivery(|it| it.p99), small, Under, 10.0),
        Ratio::new("catch-up raw / loopback", measured.raw.mib_per_second, loopback, AtLeast, 0.6),
        Ratio::new("catch-up binary / loopback", measured.binary.mib_per_second, loopback, AtLeast, 0.5),
    ]);
    ratios
}

fn latency(measured: &Measurement, of: &str, which: impl Fn(&Latency) -> f64) -> f64 {
    measured.latency_ms.get(of).map_or(0.0, which)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::bench::latency::Latencies;
    use crate::bench::report::Counts;

    fn measurement(name: &str, mib: u64, requests: u64, latency_of: &'static str, ms: u64) -> Measurement {
        let mut latencies = Latencies::new();
        latencies.add(Duration::from_millis(ms));
        let counts = Counts { requests, records: 0, bytes: mib << 20, errors: 0 };
        Measurement::new(name, Duration::from_secs(1), counts).with_latency(latency_of, &latencies)
    }

    /// A machine of 1000 MiB/s, 2 ms syncs and 100 no-op requests a second, and a node of given figures.
    fn measured(mib: u64, rate: u64, ms: u64) -> Measured {
        let append = |requests| measurement("append", mib, requests, "ack", ms);
        Measured {
            limits: vec![
                measurement(&sync_name(SMALL_SYNC), 1, 1, "write", 2),
                measurement(&sync_name(LARGE_SYNC), 1000, 1, "write", 9),
                measurement(LOOPBACK, 1000, 0, "none", 0),
                measurement(&noop_name(16), 0, 100, "ack", 1),
                measurement(&noop_name(256), 0, 100, "ack", 1),
            ],
            batched_one: append(1),
            batched_many: append(1),
            singles: vec![append(rate), append(rate), append(rate)],
            tail: measurement("tail", 0, 1, "delivery", ms),
            raw: measurement("raw", mib, 1, "page", 1),
            binary: measurement("binary", mib, 1, "page", 1),
        }
    }

    #[test]
    fn a_good_node_meets_all_and_a_bad_one_none_but_the_ratio_to_itself() {
        let good = ratios(&measured(600, 60, 5));
        assert_eq!(good.len(), 9);
        assert!(good.iter().all(|ratio| ratio.met), "{good:?}");
        let bad = ratios(&measured(349, 59, 21));
        let met: Vec<_> = bad.iter().filter(|ratio| ratio.met).map(|ratio| ratio.name.as_str()).collect();
        assert_eq!(met, ["batched appends, 64 streams / 1 stream"]);
    }

    #[test]
    fn a_machine_that_was_not_measured_is_not_reached() {
        let mut nothing = measured(600, 60, 5);
        nothing.limits.clear();
        assert_eq!(ratios(&nothing).iter().filter(|ratio| ratio.met).count(), 1);
    }
}
