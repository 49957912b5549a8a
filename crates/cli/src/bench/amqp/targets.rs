//! What Kelda has to reach beside another broker: owns the ratios and their targets. Guarantees that a ratio is of one round,
//! and that the median of the rounds counts. Never measures.

use super::{Round, Side};
use crate::bench::latency::Latency;
use crate::bench::ratio::{Ratio, Wanted};
use crate::bench::report::Measurement;

/// Bytes that an idle connection with a consumer may take.
const IDLE_BYTES: f64 = (48 << 10) as f64;

/// All ratios of what was measured.
pub(super) fn ratios(rounds: &[Round]) -> Vec<Ratio> {
    use Wanted::{AtLeast, Under};
    let of = |name: &str, wanted, target, pair: &dyn Fn(&Round) -> Option<(f64, f64)>| {
        let pairs: Vec<_> = rounds.iter().filter_map(pair).collect();
        (!pairs.is_empty()).then(|| Ratio::median(name, &pairs, wanted, target))
    };
    let rates = |which: fn(&Side) -> &Option<Measurement>| {
        move |round: &Round| {
            let rate = |side: &Side| which(side).as_ref().map(|it| it.records_per_second);
            rate(&round.ours).zip(round.peer.as_ref().and_then(rate))
        }
    };
    let delays = |which: fn(&Latency) -> f64| {
        move |round: &Round| {
            let of = |measured: &Option<Measurement>, what| {
                measured.as_ref().and_then(|it| it.latency_ms.get(what)).map(which)
            };
            let peer = of(&round.peer.as_ref()?.latency, "delivery")?;
            Some((of(&round.ours.latency, "delivery")?, peer + of(&round.sync, "write")?))
        }
    };
    let all = [
        of("publish with confirms / the peer's rate", AtLeast, 1.5, &rates(|it| &it.publish)),
        of("consume from first / the peer's rate", AtLeast, 2.0, &rates(|it| &it.consume)),
        of("delivery p50 / the peer's and one fdatasync's", Under, 1.0, &delays(|it| it.p50)),
        of("delivery p99 / the peer's and one fdatasync's", Under, 1.0, &delays(|it| it.p99)),
        of("memory of an idle connection / 48 KiB", Under, 1.0, &|round| {
            round.ours.idle.as_ref().map(|idle| (idle.bytes, IDLE_BYTES))
        }),
    ];
    all.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::idle::Idle;
    use super::*;
    use crate::bench::latency::Latencies;
    use crate::bench::report::Counts;

    fn measured(records: u64, of: &'static str, ms: u64) -> Measurement {
        let mut latencies = Latencies::new();
        latencies.add(Duration::from_millis(ms));
        let counts = Counts { records, ..Counts::default() };
        Measurement::new("x", Duration::from_secs(1), counts).with_latency(of, &latencies)
    }

    fn side(published: u64, consumed: u64, ms: u64, bytes: f64) -> Side {
        Side {
            publish: Some(measured(published, "confirm", 1)),
            consume: Some(measured(consumed, "confirm", 1)),
            latency: Some(measured(1, "delivery", ms)),
            idle: Some(Idle { measured: measured(0, "none", 1), bytes }),
        }
    }

    fn round(published: u64, consumed: u64, ms: u64, bytes: f64) -> Round {
        Round {
            sync: Some(measured(0, "write", 2)),
            ours: side(published, consumed, ms, bytes),
            peer: Some(side(100, 100, 10, 1e9)),
        }
    }

    #[test]
    fn a_good_broker_meets_all_and_a_bad_one_none() {
        let good = ratios(&[round(150, 200, 11, 48_000.0)]);
        assert_eq!(good.len(), 5);
        assert!(good.iter().all(|ratio| ratio.met), "{good:?}");
        let bad = ratios(&[round(149, 199, 13, 50_000.0)]);
        assert!(bad.iter().all(|ratio| !ratio.met), "{bad:?}");
    }

    #[test]
    fn what_was_not_measured_is_not_compared() {
        let alone = Round { sync: None, ours: side(1, 1, 1, 1.0), peer: None };
        assert_eq!(ratios(&[alone]).len(), 1, "only memory needs nobody else");
    }
}
