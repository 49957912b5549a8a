//! What the client library has to reach: owns the ratios and their targets. Guarantees that a ratio is of one round, that the
//! median of the rounds counts, and that the lowest and the highest are told. Never measures.

use super::consume::Memory;
use super::{PREFETCHES, Round};
use crate::bench::ratio::{Ratio, Wanted};
use crate::bench::report::Measurement;

/// Records a second that a reader of each window has to handle; the largest has to keep up with plain reads.
const RATES: [Option<f64>; 3] = [None, Some(300_000.0), Some(100_000.0)];

/// All ratios of what was measured.
pub(super) fn ratios(rounds: &[Round], memory: Option<&Memory>) -> Vec<Ratio> {
    use Wanted::{AtLeast, Under};
    let rate = |measured: &Option<Measurement>| measured.as_ref().map(|it| it.records_per_second);
    let p50 = |measured: &Option<Measurement>| {
        measured.as_ref().and_then(|it| it.latency_ms.get("delivery")).map(|it| it.p50)
    };
    let of = |name: &str, wanted, target, pair: &dyn Fn(&Round) -> Option<(f64, f64)>| {
        let pairs: Vec<_> = rounds.iter().filter_map(pair).collect();
        (!pairs.is_empty()).then(|| Ratio::median(name, &pairs, wanted, target))
    };
    let mut ratios = vec![
        of("producer / batched requests", AtLeast, 0.9, &|it| rate(&it.produced).zip(rate(&it.raw_append))),
        of("producer, idempotent / without idempotence", AtLeast, 0.95, &|it| {
            rate(&it.produced).zip(rate(&it.without_idempotence))
        }),
        of("producer, idempotent, window of 1 / without idempotence", AtLeast, 0.95, &|it| {
            rate(&it.window_of_one).zip(rate(&it.without_idempotence))
        }),
    ];
    for (index, (prefetch, wanted)) in PREFETCHES.into_iter().zip(RATES).enumerate() {
        let handled = |it: &Round| it.consumed.get(index).map(|it| it.records_per_second);
        let ratio = match wanted {
            None => of(&format!("reader, prefetch {prefetch} / read binary"), AtLeast, 0.5, &|it| {
                handled(it).zip(rate(&it.raw_read))
            }),
            Some(wanted) => {
                let name = format!("reader, prefetch {prefetch} / {wanted} records a second");
                of(&name, AtLeast, 1.0, &|it| Some((handled(it)?, wanted)))
            }
        };
        ratios.push(ratio);
    }
    ratios.push(of("tail p50, library / SSE", Under, 1.3, &|it| p50(&it.tail).zip(p50(&it.raw_tail))));
    ratios.push(memory.map(|memory| {
        let name = "memory over a long read: most after the first tenth / most in it";
        Ratio::new(name, memory.rest as f64, memory.first as f64, Under, 1.1)
    }));
    ratios.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::bench::latency::Latencies;
    use crate::bench::report::Counts;

    fn measured(records: u64, ms: u64) -> Measurement {
        let mut latencies = Latencies::new();
        latencies.add(Duration::from_millis(ms));
        let counts = Counts { requests: 0, records, bytes: 0, errors: 0 };
        Measurement::new("x", Duration::from_secs(1), counts).with_latency("delivery", &latencies)
    }

    /// A library that does so much where plain requests do 1,000,000 records and 10 ms.
    fn round(records: u64, ms: u64) -> Round {
        Round {
            raw_append: Some(measured(1_000_000, 0)),
            produced: Some(measured(records, 0)),
            without_idempotence: Some(measured(1_000_000, 0)),
            window_of_one: Some(measured(records, 0)),
            raw_read: Some(measured(1_000_000, 0)),
            consumed: vec![measured(records, 0), measured(records, 0), measured(records, 0)],
            raw_tail: Some(measured(0, 10)),
            tail: Some(measured(0, ms)),
        }
    }

    #[test]
    fn a_good_library_meets_all_and_a_bad_one_none() {
        let memory = |rest| Memory { measured: measured(1, 0), first: 100, rest };
        let good = ratios(&[round(950_000, 12)], Some(&memory(109)));
        assert_eq!(good.len(), 8);
        assert!(good.iter().all(|ratio| ratio.met), "{good:?}");
        let bad = ratios(&[round(99_000, 14)], Some(&memory(111)));
        assert!(bad.iter().all(|ratio| !ratio.met), "{bad:?}");
        assert!(ratios(&[Round::default()], None).is_empty(), "what was not wanted is not compared");
    }

    #[test]
    fn the_round_in_the_middle_counts_and_the_others_are_told() {
        let rounds = [round(1_000_000, 30), round(100_000, 11), round(800_000, 10)];
        let ratios = ratios(&rounds, None);
        assert_eq!(ratios[0].value, 0.8);
        assert_eq!(ratios[0].name, "producer / batched requests (0.10 to 1.00 in 3 rounds)");
        let tail = &ratios[6];
        assert!(tail.met && (tail.value - 1.1).abs() < 0.01, "{tail:?}");
    }
}
