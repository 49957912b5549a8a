//! Whole nodes under faults: every seed keeps every promise, and the same seed is the same run.

use kelda_sim::run::run;

/// Seeds of an ordinary run; `KELDA_SIM_SEEDS` asks for more, `KELDA_SIM_FIRST` for others.
const SEEDS: u64 = 200;

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).map_or(default, |text| text.parse().unwrap())
}

#[test]
fn every_seed_keeps_every_promise() {
    let first = number("KELDA_SIM_FIRST", 1);
    let seeds = number("KELDA_SIM_SEEDS", SEEDS);
    let (mut acknowledged, mut seen, mut given_up, mut merged, mut forks) = (0, 0, 0, 0, 0);
    for seed in first..first + seeds {
        let report = run(seed);
        assert!(report.broken.is_empty(), "seed {seed}:\n{}", report.broken.join("\n"));
        acknowledged += report.acknowledged as u64;
        seen += report.seen as u64;
        given_up += report.given_up as u64;
        merged += report.merged as u64;
        forks += report.forks as u64;
    }
    assert!(acknowledged > 50 * seeds, "the load was real: {acknowledged} appends acknowledged");
    assert!(seen > 50 * seeds, "the readers read: {seen} records");
    assert!(given_up > seeds / 4 && merged > seeds && forks > seeds, "{given_up}, {merged}, {forks}");
}

#[test]
fn the_same_seed_is_the_same_run() {
    for seed in [3, 1_000_003] {
        assert_eq!(run(seed), run(seed));
    }
    assert_ne!(run(3).trace, run(4).trace, "and another seed is another run");
}
