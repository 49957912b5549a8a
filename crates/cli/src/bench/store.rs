//! What a measurement cost in requests to the object store: owns the reading of the node's counters before and after.
//! Guarantees that only what lies between the two is told. Never measures where nobody named the admin address.

use std::collections::BTreeMap;

use bytes::Bytes;
use hyper::{Method, Uri};
use serde::Serialize;

use super::connection::{Connection, Sink, Target};
use super::report::Report;
use crate::exit::Failure;

/// The counter of requests to the store, with its labels behind.
const REQUESTS: &str = "kelda_store_requests_total{";
/// Bytes of metrics that are taken: many times what a node says.
const MAX_METRICS_BYTES: usize = 4 << 20;

/// Requests to the object store while something was measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct StoreUse {
    /// By kind, however they ended; kinds without a request are left out.
    pub requests: BTreeMap<String, u64>,
    /// The same for a million of the records that were counted; empty when none were.
    pub per_million_records: BTreeMap<String, f64>,
}

/// The counters of a node at one moment, by kind.
#[derive(Clone, Debug, Default)]
pub struct Counters(BTreeMap<String, u64>);

impl Counters {
    /// Reads the counters of the node whose admin listener is at `admin`.
    pub async fn read(admin: &str) -> Result<Counters, Failure> {
        let mut connection = Connection::open(&Target::new(admin)?).await?;
        let request = connection.request(Method::GET, Uri::from_static("/metrics"), Bytes::new());
        let mut text = Text(Vec::new());
        let answer = connection.exchange(request, &mut text).await?;
        if !answer.status.is_success() {
            return Err(answer.refused("GET /metrics"));
        }
        let text = String::from_utf8_lossy(&text.0);
        Counters::parse(&text).ok_or_else(|| {
            Failure::local(format!("{admin}/metrics has no counters of a store: is it an admin address?"))
        })
    }

    fn parse(text: &str) -> Option<Counters> {
        let mut kinds: BTreeMap<String, u64> = BTreeMap::new();
        for line in text.lines().filter_map(|line| line.strip_prefix(REQUESTS)) {
            let (labels, count) = line.split_once("} ")?;
            let kind =
                labels.split(',').find_map(|label| label.strip_prefix("kind=\""))?.strip_suffix('"')?;
            *kinds.entry(kind.to_owned()).or_default() += count.parse::<u64>().ok()?;
        }
        (!kinds.is_empty()).then_some(Counters(kinds))
    }

    /// What came since `before`, for so many records.
    fn since(&self, before: &Counters, records: u64) -> StoreUse {
        let grown = self.0.iter().filter_map(|(kind, count)| {
            let grown = count.saturating_sub(before.0.get(kind).copied().unwrap_or(0));
            (grown > 0).then(|| (kind.clone(), grown))
        });
        let requests: BTreeMap<String, u64> = grown.collect();
        let rate = |count: u64| count as f64 * 1e6 / records as f64;
        let per_million_records = match records {
            0 => BTreeMap::new(),
            _ => requests.iter().map(|(kind, count)| (kind.clone(), rate(*count))).collect(),
        };
        StoreUse { requests, per_million_records }
    }
}

/// The report with what it cost, as far as an admin address was named.
pub async fn added(report: Report, admin: Option<&str>, before: Option<Counters>) -> Result<Report, Failure> {
    let (Some(admin), Some(before)) = (admin, before) else { return Ok(report) };
    let records = report.measurements.iter().map(|measured| measured.records).sum();
    let store = Counters::read(admin).await?.since(&before, records);
    Ok(Report { store: Some(store), ..report })
}

struct Text(Vec<u8>);

impl Sink for Text {
    fn data(&mut self, bytes: &[u8]) -> Result<(), String> {
        if self.0.len() + bytes.len() > MAX_METRICS_BYTES {
            return Err("the metrics have no end".to_owned());
        }
        self.0.extend_from_slice(bytes);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn only_what_came_between_is_told() {
        let text = |puts: u64, gets: u64| {
            format!(
                "# TYPE kelda_store_requests counter\n\
                 kelda_store_requests_total{{kind=\"put\",outcome=\"ok\"}} {puts}\n\
                 kelda_store_requests_total{{kind=\"put\",outcome=\"throttled\"}} 2\n\
                 kelda_store_requests_total{{kind=\"get\",outcome=\"ok\"}} {gets}\n\
                 kelda_ready 1\n# EOF\n"
            )
        };
        let before = Counters::parse(&text(5, 7)).unwrap();
        let used = Counters::parse(&text(25, 7)).unwrap().since(&before, 500_000);
        assert_eq!(used.requests, BTreeMap::from([("put".to_owned(), 20)]));
        assert_eq!(used.per_million_records, BTreeMap::from([("put".to_owned(), 40.0)]));
        let none = Counters::parse(&text(25, 7)).unwrap().since(&before, 0);
        assert!(none.per_million_records.is_empty());
        assert!(Counters::parse("hello").is_none());
    }
}
