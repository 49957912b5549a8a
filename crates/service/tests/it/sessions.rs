//! What happens when the engine's session ends, the disk fills up, or the power fails in between.

use std::time::Duration;

use futures::future::join4;
use kelda_env::Faults;
use kelda_env::sim::FaultPlan;
use kelda_format::Offset;
use kelda_meta::Meta;
use kelda_service::{AppendRequest, CreateError, CreateRequest, Fault, NodeFault, Ownership, StartAt, Wait};

use crate::bench::{anybody, body, claim, name, plain, put, run, run_seed, seconds};

#[test]
fn a_failed_sync_ends_the_session_and_the_service_goes_on() {
    for seed in 0..10 {
        run_seed(seed, |bench| async move {
            let node = bench.start().await;
            node.created("a").await;
            node.append("a", plain("before")).await.unwrap();
            let session = node.engine.session();
            node.disk.set(Faults { fail_sync_at: Some(1), ..Faults::default() });
            let request = || AppendRequest { producer: claim("p", 0, 0), ..plain("during") };
            let during = node.append("a", request()).await;
            assert_eq!(during.unwrap_err().code(), "outcome-unknown");
            let again = node.append("a", request()).await.unwrap();
            assert_eq!(again.next.0, 2);
            assert_ne!(node.engine.session(), session);
            assert_eq!(node.texts("a").await, ["before", "during"], "once, whatever became of the first try");
        });
    }
}

#[test]
fn nobody_sees_less_than_was_acknowledged_while_a_session_is_replaced() {
    for seed in 0..10 {
        run_seed(seed, |bench| async move {
            let node = bench.start().await;
            let stream = node.created("a").await.stream;
            node.append("a", plain("zero")).await.unwrap();
            bench.sim.set_faults(FaultPlan::slow());
            node.disk.set(Faults { fail_sync_at: Some(1), ..Faults::default() });
            let a = name("a");
            let look = async {
                let mut uncertain = 0;
                for _ in 0..200 {
                    match node.service.head(&anybody(), &a, None) {
                        Ok(info) => assert!(info.next.0 >= 1 && info.tail_known),
                        Err(error) => {
                            assert_eq!((error.code(), error.problem().status()), ("unavailable", 503));
                            uncertain += 1;
                        }
                    }
                    bench.sleep(Duration::from_millis(1)).await;
                }
                uncertain
            };
            let read = async {
                let mut least = 0;
                for _ in 0..20 {
                    let next = node.start_at("a", StartAt::Next).await.unwrap().0;
                    assert!(next >= 1.max(least), "it went back from {least} to {next}");
                    least = next;
                    assert_eq!(node.texts("a").await[0], "zero");
                    let again = node.create(put("a", "text/plain")).await.unwrap();
                    assert!(!again.new && again.info.next.0 >= least);
                    bench.sleep(Duration::from_millis(10)).await;
                }
            };
            let parked = node.service.wait(&a, stream, Offset(2), seconds(25));
            let write = async {
                // The first may or may not be there in the end, the later ones are.
                let _ = node.append("a", plain("unknown")).await;
                for text in ["one", "two"] {
                    node.append("a", plain(text)).await.unwrap();
                }
            };
            let (uncertain, (), woken, ()) = join4(look, read, parked, write).await;
            assert!(uncertain > 0, "seed {seed}: the test looked while it was uncertain");
            assert_eq!(woken, Wait::Data, "seed {seed}: a parked reader does not notice");
        });
    }
}

#[test]
fn a_full_disk_refuses_appends_keeps_reading_and_recovers() {
    run(|bench| async move {
        let node = bench.start().await;
        node.created("a").await;
        node.append("a", plain("before")).await.unwrap();
        bench.machine.set_capacity(Some(0));
        let large = "x".repeat(200_000);
        let mut refused = None;
        for _ in 0..40 {
            match node.append("a", plain(&large)).await {
                Ok(_) => {}
                Err(error) => {
                    refused = Some(error);
                    break;
                }
            }
        }
        let refused = refused.expect("the disk is full");
        assert_eq!((refused.code(), refused.problem().status()), ("disk-full", 507));
        let before = node.texts("a").await.len();
        let created = node.create(CreateRequest { content: body(&large), ..put("b", "text/plain") }).await;
        assert_eq!(created.unwrap_err(), CreateError::Node(NodeFault::DiskFull));
        assert!(node.meta.view().entry(&name("b")).is_none(), "nothing is left of it");
        assert!(node.create(put("c", "text/plain")).await.unwrap().new, "metadata still works");
        bench.machine.set_capacity(None);
        bench.sleep(seconds(30)).await;
        node.append("a", plain("after")).await.unwrap();
        assert_eq!(node.texts("a").await.len(), before + 1);
        let created =
            node.create(CreateRequest { content: body("x"), ..put("b", "text/plain") }).await.unwrap();
        assert!(created.new);
    });
}

#[test]
fn a_stream_is_owned_here_before_and_after_it_is_open() {
    run(|bench| async move {
        let node = bench.start().await;
        let stream = node.created("a").await.stream;
        assert_eq!(node.service.ownership(stream), Ownership::Owned);
        node.append("a", plain("x")).await.unwrap();
        assert_eq!(node.service.ownership(stream), Ownership::Owned);
        node.delete("a").await;
        assert!(matches!(node.service.ownership(stream), Ownership::Unavailable { .. }));
    });
}

#[test]
fn every_open_is_another_epoch() {
    run(|bench| async move {
        let node = bench.start().await;
        assert_eq!(node.created("a").await.epoch, None);
        node.append("a", plain("x")).await.unwrap();
        assert_eq!(node.head("a").unwrap().epoch.unwrap().0, 0);
        let node = bench.restart_after_crash(node).await;
        assert_eq!(node.head("a").unwrap().epoch.unwrap().0, 0, "HEAD does not open");
        assert_eq!(node.texts("a").await, ["x"]);
        assert_eq!(node.head("a").unwrap().epoch.unwrap().0, 0, "reading does not open");
        node.append("a", plain("y")).await.unwrap();
        assert_eq!(node.head("a").unwrap().epoch.unwrap().0, 1);
    });
}
