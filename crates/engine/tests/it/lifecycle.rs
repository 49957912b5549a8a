//! Opening, closing, trimming and deleting streams.

use std::time::Duration;

use kelda_engine::{AppendError, EndError, OpenError};
use kelda_env::sim::{FaultPlan, Sim};
use kelda_format::{Epoch, Offset, StreamId};
use kelda_metalog::memory::Step;

use crate::world::{World, request};

#[test]
fn a_stream_is_opened_once_however_many_ask() {
    Sim::run(1, |sim| async move {
        sim.set_faults(FaultPlan::slow());
        let world = World::new(&sim).await;
        let stream = world.create("a").await;
        let mut clients = Vec::new();
        for _ in 0..20 {
            let engine = world.engine.clone();
            clients.push(sim.spawn(async move { engine.open(stream).await.unwrap().epoch() }));
        }
        for client in clients {
            assert_eq!(client.await.unwrap(), Epoch(0));
        }
        assert!(world.engine.opened(stream).is_some());
    });
}

#[test]
fn a_closed_stream_is_committed_and_opens_at_the_next_epoch() {
    Sim::run(2, |sim| async move {
        let world = World::new(&sim).await;
        let stream = world.create("a").await;
        let open = world.open(stream).await;
        open.append(request(&["one"])).await.unwrap();
        world.engine.close_stream(stream, None).await.unwrap();
        let row = world.view().stream(stream).cloned().unwrap();
        assert_eq!((row.owner, row.end), (None, Offset(1)));
        assert!(world.engine.opened(stream).is_none());
        assert_eq!(open.append(request(&["late"])).await, Err(AppendError::Closed));
        assert_eq!(world.open(stream).await.epoch(), Epoch(1));
        assert_eq!(world.append(stream, &["two"]).await.unwrap().first, Offset(1));
        assert_eq!(world.read_all(stream).await, ["one", "two"]);
    });
}

#[test]
fn nothing_is_acknowledged_after_a_delete_was_answered() {
    Sim::run(3, |sim| async move {
        let world = World::new(&sim).await;
        let stream = world.create("a").await;
        let open = world.open(stream).await;
        open.append(request(&["one"])).await.unwrap();
        world.engine.delete(stream).await.unwrap();
        assert_eq!(open.append(request(&["late"])).await, Err(AppendError::Gone));
        assert_eq!(world.engine.open(stream).await.err(), Some(OpenError::Gone));
        assert_eq!(world.engine.delete(stream).await, Err(EndError::Gone));
        assert_eq!(world.engine.open(StreamId(999)).await.err(), Some(OpenError::Gone));
    });
}

#[test]
fn an_append_that_meets_a_delete_under_way_is_not_acknowledged() {
    Sim::run(6, |sim| async move {
        let world = World::new(&sim).await;
        // The log has not taken the deletion yet, or took it and has not answered.
        for (name, step) in [("a", Step::Append), ("b", Step::Checked)] {
            let stream = world.create(name).await;
            let open = world.open(stream).await;
            open.append(request(&["one"])).await.unwrap();
            let hold = world.log.hold(step);
            let engine = world.engine.clone();
            let delete = sim.spawn(async move { engine.delete(stream).await });
            sim.sleep(Duration::from_millis(100)).await;
            assert_eq!(open.append(request(&["late"])).await, Err(AppendError::Closed), "{step:?}");
            drop(hold);
            assert_eq!(delete.await.unwrap(), Ok(()));
        }
    });
}

#[test]
fn a_trim_past_the_committed_end_commits_first() {
    Sim::run(4, |sim| async move {
        let mut world = World::new(&sim).await;
        let stream = world.create("a").await;
        world.append(stream, &["one", "two", "three"]).await.unwrap();
        assert_eq!(world.engine.trim(stream, Offset(4)).await, Err(EndError::PastTail { tail: Offset(3) }));
        assert_eq!(world.engine.trim(stream, Offset(2)).await, Ok(Offset(2)));
        assert_eq!(world.engine.trim(stream, Offset(1)).await, Ok(Offset(2)), "never back");
        assert_eq!(world.read_from(stream, Offset(2)).await, ["three"]);
        world.crash().await;
        assert_eq!(world.view().stream(stream).unwrap().start, Offset(2));
        assert_eq!(world.read_from(stream, Offset(2)).await, ["three"]);
        assert_eq!(world.engine.trim(stream, Offset(3)).await, Ok(Offset(3)), "also when it is not open");
        assert_eq!(world.append(stream, &["four"]).await.unwrap().first, Offset(3));
    });
}

#[test]
fn a_session_fenced_in_the_log_makes_way_for_the_next() {
    Sim::run(5, |sim| async move {
        use kelda_format::command::FenceSession;
        use kelda_meta::Meta;
        let world = World::new(&sim).await;
        let stream = world.create("a").await;
        world.append(stream, &["one"]).await.unwrap();
        let session = world.engine.session();
        world.meta.propose(FenceSession { session, by: session }.into()).await.unwrap();
        world.until(|_| world.engine.session() != session).await;
        assert_eq!(world.append(stream, &["two"]).await.unwrap().first, Offset(1));
        assert_eq!(world.read_all(stream).await, ["one", "two"]);
    });
}
