//! Latencies: owns a histogram of nanoseconds with three significant digits and what is told of it. Guarantees that every
//! sample counts: one that is too long counts as the longest. Never averages averages.

use std::time::Duration;

use hdrhistogram::Histogram;
use serde::Serialize;

use super::world::nanos;

/// The longest latency that is told apart, an hour.
const LONGEST_NS: u64 = 3_600_000_000_000;
const DIGITS: u8 = 3;

/// The percentiles that are told, as their field, their title and their quantile.
pub const QUANTILES: [(&str, f64); 4] = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999)];

/// Collected latencies.
#[derive(Clone, Debug)]
pub struct Latencies(Histogram<u64>);

impl Latencies {
    pub fn new() -> Latencies {
        let histogram = Histogram::new_with_bounds(1, LONGEST_NS, DIGITS);
        Latencies(histogram.expect("the bounds are in order and three digits are allowed"))
    }

    pub fn add(&mut self, latency: Duration) {
        self.add_nanos(nanos(latency));
    }

    pub fn add_nanos(&mut self, latency: u64) {
        self.0.saturating_record(latency.max(1));
    }

    /// What is told of them.
    pub fn summary(&self) -> Latency {
        let ms = |nanos: u64| nanos as f64 / 1e6;
        let at = |index: usize| ms(self.0.value_at_quantile(QUANTILES[index].1));
        Latency {
            count: self.0.len(),
            min: ms(if self.0.is_empty() { 0 } else { self.0.min() }),
            mean: self.0.mean() / 1e6,
            p50: at(0),
            p90: at(1),
            p99: at(2),
            p99_9: at(3),
            max: ms(self.0.max()),
        }
    }
}

/// Percentiles in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Latency {
    pub count: u64,
    pub min: f64,
    pub mean: f64,
    pub p50: f64,
    pub p90: f64,
    pub p99: f64,
    #[serde(rename = "p99.9")]
    pub p99_9: f64,
    pub max: f64,
}

impl Latency {
    /// Those that tables and charts show, with their titles.
    pub fn shown(&self) -> [(&'static str, f64); 5] {
        [("p50", self.p50), ("p90", self.p90), ("p99", self.p99), ("p99.9", self.p99_9), ("max", self.max)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_those_of_the_samples() {
        let mut latencies = Latencies::new();
        (1..=1000).for_each(|ms| latencies.add(Duration::from_millis(ms)));
        let summary = latencies.summary();
        assert_eq!(summary.count, 1000);
        let expected = [500.0, 900.0, 990.0, 999.0, 1000.0];
        for ((title, found), wanted) in summary.shown().into_iter().zip(expected) {
            assert!((found - wanted).abs() / wanted < 0.002, "{title}: {found} ms, {wanted} expected");
        }
        assert!((summary.mean - 500.5).abs() < 1.0 && (summary.min - 1.0).abs() < 0.01, "{summary:?}");
    }

    #[test]
    fn nothing_and_too_long_are_no_errors() {
        let mut latencies = Latencies::new();
        assert_eq!(latencies.summary().shown().map(|(_, ms)| ms), [0.0; 5]);
        latencies.add(Duration::from_secs(86_400));
        latencies.add(Duration::ZERO);
        assert_eq!(latencies.summary().count, 2);
    }
}
