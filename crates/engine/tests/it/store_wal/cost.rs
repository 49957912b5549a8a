//! What an object store is asked, against the formula of the page about its cost (`docs/guide/cost.md`).

use std::time::Duration;

use kelda_engine::EngineConfig;
use kelda_env::sim::Sim;

use super::site::{Site, in_store};
use crate::world::request;

const DAY: Duration = Duration::from_secs(24 * 3600);
const MONTH_SECONDS: f64 = 30.0 * 24.0 * 3600.0;
/// Slots that one range has at most, and bytes of one as the node has it.
const RANGE_SLOTS: f64 = 1000.0;
const SEGMENT_BYTES: f64 = (64 << 20) as f64;
const GROUP_BYTES: f64 = (8 << 20) as f64;
const INTERVAL_SECONDS: f64 = 600.0;
const ENTRY_BYTES: f64 = 200.0;

/// Groups, and ranges, in a second with `rate` appends of `body` bytes.
fn formula(rate: f64, body: f64, linger: f64) -> (f64, f64) {
    let bytes = rate * (body + ENTRY_BYTES);
    let groups = (1.0 / (linger + 1.0 / rate)).max(bytes / GROUP_BYTES);
    let ranges = (bytes / SEGMENT_BYTES).max(groups / RANGE_SLOTS).max(1.0 / INTERVAL_SECONDS);
    (groups, ranges)
}

fn config(linger: Duration) -> EngineConfig {
    let node = EngineConfig::default();
    EngineConfig {
        segment_bytes: node.segment_bytes,
        uncommitted_bytes: node.uncommitted_bytes,
        wal_queue_bytes: node.wal_queue_bytes,
        wal_linger: linger,
        ..in_store()
    }
}

/// Seconds until the next of `rate` events per second that know nothing of each other.
fn pause(state: &mut u64, rate: f64) -> Duration {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    let even = ((*state >> 33) as f64 + 0.5) / f64::from(1_u32 << 31);
    Duration::from_secs_f64(-even.ln() / rate)
}

#[test]
fn requests_are_as_many_as_the_page_says_and_none_when_nothing_happens() {
    for (rate, linger_ms, seconds) in [(1.0, 20, 6000), (1.0, 2000, 6000), (50.0, 20, 240), (200.0, 250, 120)]
    {
        let linger = Duration::from_millis(linger_ms);
        let seed = linger_ms + seconds;
        let (slots, objects, gets, lists, read_slots) = Sim::run(seed, |sim| async move {
            let site = Site::with(&sim, config(linger));
            let machine = site.machine(1).await;
            let id = machine.create("a").await;
            let stream = machine.engine.open(id).await.unwrap();
            let before = machine.gate.requests().len();
            let (mut state, start) = (seed, sim.elapsed());
            let mut waiting = Vec::new();
            while sim.elapsed() - start < Duration::from_secs(seconds) {
                sim.sleep(pause(&mut state, rate)).await;
                let stream = stream.clone();
                waiting.push(sim.spawn(async move { stream.append(request(&["x"])).await.unwrap() }));
            }
            for append in waiting {
                append.await.unwrap();
            }
            let requests = machine.gate.requests().split_off(before);
            let count = |op: &str, part: &str| {
                let all = requests.iter().filter(|asked| asked.starts_with(op) && asked.contains(part));
                all.count() as f64
            };
            // When the last of it is uploaded, merged, collected and searched for orphans, nothing is asked any more.
            machine.engine.flush().await;
            sim.sleep(DAY + DAY / 12).await;
            let idle = machine.gate.requests().len();
            sim.sleep(2 * DAY).await;
            assert_eq!(machine.gate.requests()[idle..], [""; 0], "an idle node asks for nothing");
            let puts = count("create ", "/data/") + count("put ", "/data/") + count("adopt ", "/data/");
            let gets = count("get ", "");
            (count("create ", "/wal/"), puts, gets, count("list ", ""), count("get ", "/wal/"))
        });
        let (groups, ranges) = formula(rate, 1.0, linger.as_secs_f64());
        let span = seconds as f64;
        let near = |found: f64, expected: f64, slack: f64| (found - expected).abs() <= expected * 0.1 + slack;
        let what = format!("{rate}/s, {linger_ms} ms: {slots} slots, {objects} objects");
        assert!(near(slots, groups * span, 5.0), "{what}, expected {} slots", groups * span);
        // Of eight or more that are merged, one more is written; and each is read with three requests at most.
        let expected = ranges * span * 8.0 / 7.0;
        assert!(near(objects, expected, 3.0), "{what}, expected {expected} objects");
        assert!(gets <= 3.0 * expected + 5.0, "{what}, {gets} GET, expected {} at most", 3.0 * expected);
        assert!(read_slots < 1.0, "{what}: the log is not read");
        assert!(lists <= 2.0, "{what}: {lists} LIST");
    }
}

/// A number of the page: `1,000`, `2.5 million`, `3.8`.
fn number(text: &str) -> f64 {
    let (digits, unit) = match text.strip_suffix(" million") {
        Some(digits) => (digits, 1e6),
        None => (text, 1.0),
    };
    digits.replace(',', "").parse::<f64>().unwrap_or_else(|_| panic!("{text:?} is no number")) * unit
}

#[test]
fn the_examples_of_the_page_follow_from_its_formula() {
    let text = include_str!("../../../../../docs/guide/cost.md");
    let mut rows = 0;
    for line in text.lines().filter(|line| line.contains(" ms | ")) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [rate, linger, groups, puts, dollars] = cells[..] else { panic!("{line}") };
        let (rate, linger) = (number(rate), number(linger.strip_suffix(" ms").unwrap()) / 1000.0);
        let (per_second, ranges) = formula(rate, 1024.0, linger);
        let month = (per_second + ranges) * MONTH_SECONDS;
        let near = |said: f64, is: f64| (said - is).abs() <= is * 0.03 + 0.05;
        assert!(near(number(groups), per_second), "{line}: {per_second} groups");
        assert!(near(number(puts) / 1e6, month / 1e6), "{line}: {month} PUT");
        assert!(
            (number(dollars) - month * 0.005 / 1000.0).abs() < 1.0,
            "{line}: {} dollars",
            month * 0.005 / 1000.0
        );
        rows += 1;
    }
    assert!(rows >= 6, "{rows} examples");
}
