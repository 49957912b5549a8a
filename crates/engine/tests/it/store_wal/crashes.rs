//! Crashes at every step, of the writer and of recoveries.

use std::time::Duration;

use kelda_env::sim::{FaultPlan, Sim, StoreFaults};
use kelda_format::Offset;

use super::site::Site;
use crate::world::body;

#[test]
fn a_crash_at_any_moment_keeps_every_record_once() {
    for seed in 0..60 {
        Sim::run(seed, |sim| async move {
            let mut plan = FaultPlan::slow();
            plan.store = StoreFaults {
                max_delay: Duration::from_millis(40),
                fail_before: 0.1,
                fail_after: 0.2,
                late: 0.05,
                self_collision: 0.1,
                ..StoreFaults::default()
            };
            let site = Site::new(&sim);
            let mut machine = site.machine(1).await;
            let stream = machine.create("a").await;
            sim.set_faults(plan);
            let mut next = 0;
            for _ in 0..3 {
                for _ in 0..20 {
                    machine.append(stream, &body(next, 2500)).await.unwrap();
                    next += 1;
                }
                sim.sleep(Duration::from_millis(seed * 5)).await;
                machine.node.crash().await;
                machine = site.process(&machine.node, 1).await.unwrap();
            }
            sim.set_faults(FaultPlan::calm());
            let expected: Vec<String> = (0..next).map(|number| body(number, 2500)).collect();
            assert_eq!(machine.read_all(stream).await, expected);
            assert_eq!(machine.append(stream, "next").await.unwrap().first, Offset(next as u64));
        });
    }
}

/// A recovery that ends after any number of its requests to the store, once and once more; the one after them succeeds.
#[test]
fn a_recovery_that_crashes_at_any_step_is_finished_by_the_next() {
    let mut steps = 0;
    for step in 0.. {
        let finished = Sim::run(step, |sim| async move {
            let site = Site::new(&sim);
            let first = site.machine(1).await;
            let (stream, session) = (first.create("a").await, first.engine.session());
            first.gate.hold(|op, _| op == "put");
            for number in 0..30 {
                first.append(stream, &body(number, 6000)).await.unwrap();
            }
            first.node.kill().await;
            let mut finished = false;
            for id in [2, 3] {
                let recoverer = site.machine(id).await;
                let before = recoverer.gate.requests().len() as u64;
                let gate = recoverer.gate.clone();
                let seen = gate.clone();
                recoverer.gate.hold(move |_, _| seen.requests().len() as u64 >= before + step);
                let takeover = recoverer.engine.take_over(session);
                finished |= recoverer.node.env().timeout(Duration::from_secs(5), takeover).await.is_ok();
                recoverer.node.crash().await;
            }
            let last = site.machine(4).await;
            last.engine.take_over(session).await.unwrap();
            let expected: Vec<String> = (0..30).map(|number| body(number, 6000)).collect();
            assert_eq!(last.read_all(stream).await, expected);
            assert_eq!(site.slots(session).len(), 1, "only the seal is left");
            finished
        });
        steps = step;
        if finished {
            break;
        }
    }
    assert!(steps > 30, "a recovery of 30 slots has more than {steps} requests");
}
