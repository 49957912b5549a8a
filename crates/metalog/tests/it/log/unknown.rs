//! Unknown outcomes: resent with the same bytes (P8), looked up when the log was truncated past them (P21).

use kelda_env::sim::Sim;
use kelda_meta::{Meta, Outcome, ProposeError};
use kelda_metalog::memory::{FaultRates, Step};
use kelda_metalog::{LogStore, MemoryLog, Plane};

use super::{LIMIT, has, open, open_snapshotting, put, put_now, register};

/// A writer stopped at `step` of its append while another node writes on and truncates the log past it.
fn passed_at(step: Step, with_session: bool) -> (Result<Outcome, ProposeError>, usize) {
    Sim::run(1, |sim| async move {
        let (node, log) = (sim.node("slow"), MemoryLog::new());
        let slow_log = log.handle();
        let slow = open(&node.env(), &slow_log).await;
        if with_session {
            register(&node.env(), &slow, 1).await.unwrap();
        }
        let other = open_snapshotting(&sim.node("other").env(), &log, 5).await;
        put_now(&other, "before").await;
        let hold = slow_log.hold(step);
        let proposal = sim.spawn(slow.propose(put("slow")));
        sim.sleep(LIMIT / 10).await;
        for number in 0..60 {
            put_now(&other, &format!("key {number}")).await;
        }
        let bounds = log.bounds();
        assert!(bounds.bound > slow.view().applied() + 1, "{bounds:?}");
        drop(hold);
        let answer = proposal.await.unwrap();
        sim.sleep(LIMIT).await;
        assert_eq!(*slow.view(), *other.view());
        let versions: Vec<_> = other.view().keys(kelda_format::rows::KeySpace::Setting).cloned().collect();
        (answer, versions.iter().filter(|row| *row.key == *b"slow").count())
    })
}

#[test]
fn an_entry_that_was_applied_and_truncated_is_found_in_the_state() {
    let (answer, times) = passed_at(Step::Created, true);
    assert!(matches!(answer, Ok(Outcome::Stored { .. })), "{answer:?}");
    assert_eq!(times, 1);
}

#[test]
fn an_orphan_below_the_bound_is_written_again_once() {
    let (answer, times) = passed_at(Step::Append, true);
    assert!(matches!(answer, Ok(Outcome::Stored { .. })), "{answer:?}");
    assert_eq!(times, 1);
}

#[test]
fn without_a_session_the_outcome_stays_unknown() {
    let (answer, times) = passed_at(Step::Created, false);
    assert!(matches!(answer, Err(ProposeError::Unknown(_))), "{answer:?}");
    assert_eq!(times, 1);
}

#[test]
fn a_log_that_does_not_answer_shows_and_comes_back() {
    Sim::run(3, |sim| async move {
        let log = MemoryLog::simulated(sim.node("log").env(), FaultRates::default());
        let meta = open(&sim.node("a").env(), &log).await;
        put_now(&meta, "before").await;
        // The first request is lost for certain; which of the two errors it gives is up to the seed.
        log.set_rates(FaultRates { lost_per_mille: 900, ..FaultRates::default() });
        let mut unknown = 0;
        for number in 0..20 {
            match meta.propose(put(&format!("during {number}"))).await {
                Err(ProposeError::Unavailable(_) | ProposeError::Full(_)) => {
                    assert!(!has(&meta.view(), &format!("during {number}")));
                }
                Err(ProposeError::Unknown(_)) => unknown += 1,
                Err(ProposeError::Rejected(rejection)) => panic!("{rejection}"),
                Ok(_) => {}
            }
            if matches!(meta.health().plane, Plane::Stalled { .. }) {
                log.set_rates(FaultRates::default());
                sim.sleep(LIMIT).await;
                assert_eq!(meta.health().plane, Plane::Ready);
                log.set_rates(FaultRates { lost_per_mille: 900, ..FaultRates::default() });
            }
        }
        log.set_rates(FaultRates::default());
        put_now(&meta, "after").await;
        assert!(unknown < 20, "nothing was resolved");
        let again = open(&sim.node("b").env(), &log).await;
        assert_eq!(*again.view(), *meta.view());
        assert!(!log.read(1, 10).await.unwrap().is_empty());
    });
}
