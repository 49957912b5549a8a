//! Transfers of ownership (P4).

use kelda_format::command::{AbortTransfer, CloseStream, CompleteTransfer, OpenStream, StartTransfer};
use kelda_format::{Epoch, Offset, SessionId, StreamId, TransferId};
use kelda_meta::{Outcome, Rejection};

use crate::world::{NOW, World};

struct Pending {
    world: World,
    stream: StreamId,
    one: SessionId,
    two: SessionId,
    transfer: TransferId,
}

fn pending() -> Pending {
    let mut world = World::new();
    let (one, two) = (world.node(1), world.node(2));
    let stream = world.create("a");
    world.open(stream, one);
    world.append(stream, one, 6);
    let start = StartTransfer { stream, expected_epoch: Epoch(0), target: two, at: NOW };
    let Outcome::TransferStarted { transfer } = world.apply(start.clone()) else { panic!() };
    assert_eq!(world.apply(start), Outcome::AlreadyApplied);
    Pending { world, stream, one, two, transfer }
}

impl Pending {
    fn completion(&self) -> CompleteTransfer {
        CompleteTransfer {
            transfer: self.transfer,
            stream: self.stream,
            session: self.one,
            epoch: Epoch(0),
            end: Offset(6),
            deadline: None,
        }
    }
}

#[test]
fn the_target_opens_only_after_the_source_is_done() {
    let mut at = pending();
    let opening = OpenStream { stream: at.stream, session: at.two };
    assert_eq!(at.world.rejected(opening), Rejection::Held { stream: at.stream, by: at.one });
    let completion = at.completion();
    assert_eq!(at.world.apply(completion.clone()), Outcome::Applied);
    assert_eq!(at.world.apply(completion), Outcome::AlreadyApplied);
    assert_eq!(at.world.open(at.stream, at.two), Epoch(1));
}

#[test]
fn id_epoch_and_end_all_have_to_match() {
    let mut at = pending();
    let completion = at.completion();
    let mut wrong = completion.clone();
    wrong.end = Offset(5);
    assert!(matches!(at.world.rejected(wrong), Rejection::WrongEnd { .. }));
    let mut wrong = completion.clone();
    wrong.epoch = Epoch(1);
    assert!(matches!(at.world.rejected(wrong), Rejection::WrongEpoch { .. }));
    let mut wrong = completion.clone();
    wrong.session = at.two;
    assert!(matches!(at.world.rejected(wrong), Rejection::NotOwner { .. }));
    let mut wrong = completion;
    wrong.transfer = TransferId(99);
    assert_eq!(at.world.rejected(wrong), Rejection::NoSuchTransfer { transfer: TransferId(99) });
}

#[test]
fn an_aborted_transfer_is_not_completed() {
    let mut at = pending();
    let abort = AbortTransfer { transfer: at.transfer, stream: at.stream };
    assert_eq!(at.world.apply(abort.clone()), Outcome::Applied);
    assert_eq!(at.world.apply(abort), Outcome::AlreadyApplied);
    let completion = at.completion();
    assert_eq!(
        at.world.rejected(completion),
        Rejection::TransferGone { transfer: at.transfer, stream: at.stream }
    );
    assert_eq!(at.world.owner(at.stream), Some(at.one));
    let again = StartTransfer { stream: at.stream, expected_epoch: Epoch(0), target: at.two, at: NOW };
    assert_eq!(at.world.apply(again), Outcome::TransferStarted { transfer: TransferId(2) });
    // The first transfer's completion does not complete the second.
    let completion = at.completion();
    assert!(matches!(at.world.rejected(completion), Rejection::TransferGone { .. }));
}

#[test]
fn the_end_of_either_session_aborts() {
    for fence_source in [true, false] {
        let mut at = pending();
        let (session, by) = if fence_source { (at.one, at.two) } else { (at.two, at.one) };
        at.world.fence(session, by);
        assert_eq!(at.world.state.transfer(at.stream), None);
        let completion = at.completion();
        assert!(at.world.try_apply(completion).is_err());
    }
}

#[test]
fn a_close_by_the_owner_ends_the_transfer_too() {
    let mut at = pending();
    at.world.apply(CloseStream {
        stream: at.stream,
        session: at.one,
        epoch: Epoch(0),
        end: Offset(6),
        deadline: None,
    });
    assert_eq!(at.world.state.transfer(at.stream), None);
    assert_eq!(at.world.open(at.stream, at.one), Epoch(1));
}

#[test]
fn one_at_a_time_between_live_sessions() {
    let mut at = pending();
    let three = at.world.node(3);
    let (stream, transfer) = (at.stream, at.transfer);
    let other = StartTransfer { stream, expected_epoch: Epoch(0), target: three, at: NOW };
    assert_eq!(at.world.rejected(other.clone()), Rejection::TransferPending { stream, transfer });
    at.world.apply(AbortTransfer { transfer, stream });
    let to_itself = StartTransfer { target: at.one, ..other.clone() };
    assert_eq!(at.world.rejected(to_itself), Rejection::BadTarget { stream, target: at.one });
    let stale = StartTransfer { expected_epoch: Epoch(4), ..other };
    assert!(matches!(at.world.rejected(stale), Rejection::WrongEpoch { .. }));
}
