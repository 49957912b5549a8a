//! Pauses grow, differ between clients, and end with the patience.
#![allow(clippy::unwrap_used)]

use super::*;

const FIRST: Duration = RetryPolicy::forever().first_pause();
const LONGEST: Duration = RetryPolicy::forever().longest_pause();

fn pauses(patience: Duration, seed: u64) -> Vec<Duration> {
    let mut backoff = Backoff::seeded(RetryPolicy::within(patience), seed);
    std::iter::from_fn(|| backoff.pause()).take(1_000).collect()
}

#[test]
fn each_pause_lies_in_the_upper_half_of_its_ceiling_and_ceilings_double() {
    for seed in 0..100 {
        let mut ceiling = FIRST;
        for pause in pauses(Duration::from_secs(1_000), seed).into_iter().take(20) {
            assert!(pause >= ceiling / 2 && pause <= ceiling, "{pause:?} of {ceiling:?}");
            ceiling = (ceiling * 2).min(LONGEST);
        }
    }
}

#[test]
fn two_clients_pause_differently() {
    let patience = Duration::from_secs(60);
    assert_ne!(pauses(patience, 1), pauses(patience, 2));
    let own = |backoff: Backoff| backoff.random;
    assert_ne!(own(Backoff::new(patience)), own(Backoff::new(patience)), "seeds differ by themselves");
}

#[test]
fn all_pauses_together_are_the_patience() {
    for seed in 0..20 {
        let all = pauses(Duration::from_secs(60), seed);
        assert!(all.len() < 100, "it ends");
        assert_eq!(all.iter().sum::<Duration>(), Duration::from_secs(60));
    }
    assert!(pauses(Duration::ZERO, 7).is_empty(), "without patience there is one try");
}

#[test]
fn without_end_there_is_always_another_pause_and_success_begins_anew() {
    let mut backoff = Backoff::seeded(RetryPolicy::forever(), 3);
    assert!((0..100_000).all(|_| backoff.pause().is_some_and(|pause| pause <= LONGEST)));
    backoff.spend(Duration::from_secs(1 << 40));
    assert!(backoff.pause().is_some_and(|pause| pause >= LONGEST / 2));
    backoff.reset();
    assert!(backoff.pause().is_some_and(|pause| pause <= FIRST));
}

#[test]
fn pauses_are_those_of_the_policy() {
    let (first, longest) = (Duration::from_millis(1), Duration::from_millis(3));
    let mut backoff = Backoff::of(RetryPolicy::forever().pauses(first, longest));
    assert!(backoff.pause().is_some_and(|pause| pause <= first));
    assert!((0..50).all(|_| backoff.pause().is_some_and(|pause| pause <= longest)));
    let upside_down = RetryPolicy::never().pauses(Duration::from_secs(9), Duration::ZERO);
    assert_eq!(upside_down.longest_pause(), Duration::from_secs(9));
}
