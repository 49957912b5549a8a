//! Proposals: packed, answered after the view has them, withdrawn or unknown when they take too long.

use futures::future::join_all;
use kelda_env::sim::Sim;
use kelda_format::LogEntry;
use kelda_meta::{Meta, Outcome, ProposeError};
use kelda_metalog::memory::Step;
use kelda_metalog::{LogStore, MAX_BATCH, MemoryLog};

use super::{LIMIT, at_head, has, open, put, put_now};

#[test]
fn waiting_proposals_share_an_entry() {
    Sim::run(1, |sim| async move {
        let log = MemoryLog::new();
        let meta = open(&sim.node("a").env(), &log).await;
        let hold = log.hold(Step::Append);
        let proposals = join_all((0..1000).map(|number| {
            let meta = meta.clone();
            async move {
                let key = format!("key {number}");
                let outcome = meta.propose(put(&key)).await;
                assert!(has(&meta.view(), &key), "answered before the view has it");
                outcome
            }
        }));
        let proposals = sim.spawn(proposals);
        sim.sleep(LIMIT / 10).await;
        drop(hold);
        assert!(proposals.await.unwrap().iter().all(Result::is_ok));
        let entries = log.read(2, 2000).await.unwrap();
        let sizes: Vec<_> =
            entries.iter().map(|(_, bytes)| LogEntry::decode(bytes).unwrap().commands.len()).collect();
        assert_eq!(sizes.iter().sum::<usize>(), 1000);
        assert!(sizes.iter().all(|size| *size <= MAX_BATCH), "{sizes:?}");
        assert!(sizes.len() <= 1000_usize.div_ceil(MAX_BATCH) + 1, "{sizes:?}");
    });
}

#[test]
fn a_rejection_is_an_answer() {
    Sim::run(1, |sim| async move {
        let log = MemoryLog::new();
        let meta = open(&sim.node("a").env(), &log).await;
        put_now(&meta, "key").await;
        assert_eq!(meta.propose(put("key")).await, Ok(Outcome::AlreadyApplied));
        let rejected = meta.propose(put("")).await;
        assert!(matches!(rejected, Err(ProposeError::Rejected(_))), "{rejected:?}");
    });
}

#[test]
fn a_proposal_that_was_not_taken_in_time_is_withdrawn() {
    Sim::run(1, |sim| async move {
        let log = MemoryLog::new();
        let meta = open(&sim.node("a").env(), &log).await;
        let hold = log.hold(Step::Created);
        let taken = sim.spawn(meta.propose(put("taken")));
        sim.sleep(LIMIT / 10).await;
        let waiting = sim.spawn(meta.propose(put("waiting")));
        let (taken, waiting) = (taken.await.unwrap(), waiting.await.unwrap());
        assert!(matches!(taken, Err(ProposeError::Unknown(_))), "{taken:?}");
        assert!(matches!(waiting, Err(ProposeError::Unavailable(_))), "{waiting:?}");
        assert!(sim.elapsed() >= LIMIT);
        drop(hold);
        put_now(&meta, "next").await;
        assert!(has(&meta.view(), "taken") && !has(&meta.view(), "waiting"));
    });
}

#[test]
fn a_caller_that_went_away_does_not_hold_up_others() {
    Sim::run(1, |sim| async move {
        let log = MemoryLog::new();
        let meta = open(&sim.node("a").env(), &log).await;
        let hold = log.hold(Step::Append);
        let gone = sim.spawn(meta.propose(put("gone")));
        sim.sleep(LIMIT / 10).await;
        gone.abort();
        drop(hold);
        put_now(&meta, "next").await;
        at_head(&meta, &log).await;
        assert!(has(&meta.view(), "gone"), "it was being written");
    });
}
