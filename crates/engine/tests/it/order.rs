//! The order of the checks on append, offsets, times, and what a refusal leaves behind: nothing.

use bytes::Bytes;
use kelda_engine::{AppendError, AppendRequest};
use kelda_env::sim::Sim;
use kelda_format::{Batch, Offset};

use crate::world::{World, claimed, request};

#[test]
fn match_offset_and_stream_seq_are_checked_against_what_was_accepted() {
    Sim::run(1, |sim| async move {
        let mut world = World::new(&sim).await;
        let stream = world.create("a").await;
        let open = world.open(stream).await;
        let at = |offset| AppendRequest { match_offset: Some(Offset(offset)), ..request(&["x"]) };
        open.append(at(0)).await.unwrap();
        assert_eq!(open.append(at(0)).await, Err(AppendError::MatchOffset { tail: Offset(1) }));
        open.append(at(1)).await.unwrap();
        let seq = |seq: &'static str| AppendRequest { stream_seq: Some(Bytes::from(seq)), ..request(&["y"]) };
        open.append(seq("b")).await.unwrap();
        let last = Bytes::from("b");
        assert_eq!(open.append(seq("a")).await, Err(AppendError::StreamSeq { last: last.clone() }));
        assert_eq!(open.append(seq("b")).await, Err(AppendError::StreamSeq { last: last.clone() }));
        world.crash().await;
        let open = world.open(stream).await;
        assert_eq!(open.append(seq("b")).await, Err(AppendError::StreamSeq { last }));
        open.append(seq("ba")).await.unwrap();
        assert_eq!(world.read_all(stream).await, ["x", "x", "y", "y"]);
    });
}

#[test]
fn a_seal_is_one_entry_with_its_records_and_final() {
    Sim::run(2, |sim| async move {
        let mut world = World::new(&sim).await;
        let stream = world.create("a").await;
        let open = world.open(stream).await;
        let sealed = open.append(AppendRequest { seal: true, ..request(&["a", "b"]) }).await.unwrap();
        assert!(sealed.sealed);
        assert_eq!(open.append(request(&["c"])).await, Err(AppendError::Sealed { tail: Offset(2) }));
        world.crash().await;
        let row = world.view().stream(stream).cloned().unwrap();
        assert!(row.sealed && row.end == Offset(2));
    });
}

#[test]
fn an_empty_stream_can_be_sealed() {
    Sim::run(3, |sim| async move {
        let mut world = World::new(&sim).await;
        let stream = world.create("a").await;
        let seal = AppendRequest { seal: true, ..AppendRequest::new(Batch::empty()) };
        let sealed = world.open(stream).await.append(seal).await.unwrap();
        assert_eq!((sealed.first, sealed.next, sealed.sealed), (Offset(0), Offset(0), true));
        world.crash().await;
        assert!(world.view().stream(stream).unwrap().sealed);
    });
}

#[test]
fn a_duplicate_is_found_before_content_type_and_seal() {
    Sim::run(4, |sim| async move {
        let world = World::new(&sim).await;
        let stream = world.create("a").await;
        let open = world.open(stream).await;
        open.append(claimed(&["a"], "p", 0, 0)).await.unwrap();
        let wrong_type = |request: AppendRequest| AppendRequest { content_type_mismatch: true, ..request };
        assert!(open.append(wrong_type(claimed(&["a"], "p", 0, 0))).await.unwrap().duplicate);
        assert_eq!(open.append(wrong_type(claimed(&["a"], "p", 0, 1))).await, Err(AppendError::ContentType));
        open.append(AppendRequest { seal: true, ..request(&["z"]) }).await.unwrap();
        let refused = open.append(wrong_type(claimed(&["a"], "p", 0, 1))).await;
        assert_eq!(refused, Err(AppendError::Sealed { tail: Offset(2) }));
    });
}

#[test]
fn time_never_goes_back_whatever_the_clock_does() {
    Sim::run(5, |sim| async move {
        let mut world = World::new(&sim).await;
        let stream = world.create("a").await;
        let first = world.append(stream, &["a"]).await.unwrap();
        world.node.jump_clock(-3_600_000);
        let second = world.append(stream, &["b"]).await.unwrap();
        assert_eq!(second.timestamp, first.timestamp);
        world.crash().await;
        let third = world.append(stream, &["c"]).await.unwrap();
        assert!(third.timestamp >= second.timestamp);
    });
}

#[test]
fn an_idle_open_stream_is_small() {
    assert!(size_of::<kelda_engine::OpenStream>() < 768, "{}", size_of::<kelda_engine::OpenStream>());
}
