//! One example of every outcome, rejection and fault, in the order of their tags.

use kelda_format::fault::{Limited, PartFault};
use kelda_format::rows::{FeatureRange, SessionState, StreamKind};
use kelda_format::{
    Epoch, NodeId, ObjectId, Offset, Outcome, Rejection, SessionEpoch, StreamId, Timestamp, TransferId,
};

use super::SESSION;
use super::commands::name;

pub fn outcomes() -> Vec<Outcome> {
    vec![
        Outcome::Applied,
        Outcome::AlreadyApplied,
        Outcome::Registered { session: SESSION },
        Outcome::Created { stream: StreamId(403), epoch: Some(Epoch(4)) },
        Outcome::Exists { stream: StreamId(405) },
        Outcome::Opened { session: SESSION, epoch: Epoch(7) },
        Outcome::Reserved { first: ObjectId(608), count: 209 },
        Outcome::Committed { dropped: 210 },
        Outcome::TransferStarted { transfer: TransferId(11) },
        Outcome::Stored { version: 312 },
    ]
}

pub fn rejections() -> Vec<Rejection> {
    let mut rejections = [of_cluster_and_streams(), of_names_and_objects()].concat();
    rejections.extend(limits().map(|field| Rejection::Limit { field, value: 9, min: 1, max: 8 }));
    rejections
}

fn limits() -> impl Iterator<Item = Limited> {
    [
        Limited::ContentTypeBytes,
        Limited::TtlMs,
        Limited::Arguments,
        Limited::ArgumentBytes,
        Limited::ReservedObjects,
        Limited::Slots,
        Limited::AddressBytes,
        Limited::StreamSeqBytes,
        Limited::CheckpointBytes,
        Limited::KeyBytes,
        Limited::ValueBytes,
        Limited::Objects,
        Limited::ObjectBytes,
    ]
    .into_iter()
}

fn of_cluster_and_streams() -> Vec<Rejection> {
    vec![
        Rejection::FeatureLevel { needed: 13, level: 14 },
        Rejection::FeatureRange { range: FeatureRange { min: 2, max: 3 }, level: 16 },
        Rejection::FeatureExpected { expected: 17, asked: 18, level: 19 },
        Rejection::FeatureUnknown { node: NodeId(20), max: 21, asked: 22 },
        Rejection::NoNodes,
        Rejection::NoSuchNode { node: NodeId(23) },
        Rejection::Version { expected: Some(24), current: Some(25) },
        Rejection::SessionLive { session: SESSION },
        Rejection::Takeover { named: SESSION, latest: Some(SessionEpoch(28)) },
        Rejection::NotAlone { node: NodeId(29) },
        Rejection::LocalWal { session: SESSION, by: SESSION },
        Rejection::NoSuchSession { session: SESSION, latest: Some(SessionEpoch(33)) },
        Rejection::SessionEnded { session: SESSION, state: SessionState::Fenced },
        Rejection::SessionNotFenced { session: SESSION, state: SessionState::Fenced },
        Rejection::SessionHolds { session: SESSION, streams: 339 },
        Rejection::WalStart { session: SESSION, expected: 341, actual: 342 },
        Rejection::WalStartBack { from: 343, to: 344 },
        Rejection::NoSuchStream { stream: StreamId(445), next: 346 },
        Rejection::StreamGone { stream: StreamId(447) },
        Rejection::Held { stream: StreamId(448), by: SESSION },
        Rejection::NotOwner { stream: StreamId(450), session: SESSION, owner: Some(SESSION) },
        Rejection::WrongEpoch { stream: StreamId(453), expected: Some(Epoch(54)), epoch: Some(Epoch(55)) },
        Rejection::WrongEnd { stream: StreamId(456), expected: Offset(557), end: Offset(558) },
        Rejection::OutOfRange {
            stream: StreamId(459),
            offset: Offset(560),
            start: Offset(561),
            end: Offset(562),
        },
        Rejection::NotExpired { stream: StreamId(463), deadline: None, at: Timestamp(100065) },
        Rejection::BadPart { stream: StreamId(466), fault: PartFault::Twice },
    ]
}

fn of_names_and_objects() -> Vec<Rejection> {
    vec![
        Rejection::NoSuchName { name: name() },
        Rejection::OtherStream { name: name(), expected: StreamId(470), stream: StreamId(471) },
        Rejection::SoftDeleted { name: name(), stream: StreamId(473) },
        Rejection::EntryState { name: name() },
        Rejection::CannotFork { stream: StreamId(475), kind: StreamKind::Queue },
        Rejection::Limit { field: Limited::TtlMs, value: 378, min: 379, max: 380 },
        Rejection::NotReserved { object: ObjectId(681), session: SESSION },
        Rejection::ObjectTwice { object: ObjectId(683) },
        Rejection::ObjectInUse { object: ObjectId(684) },
        Rejection::NoSuchObject { object: ObjectId(685), next: 386 },
        Rejection::NoSuchTransfer { transfer: TransferId(87) },
        Rejection::TransferGone { transfer: TransferId(88), stream: StreamId(489) },
        Rejection::TransferPending { stream: StreamId(490), transfer: TransferId(91) },
        Rejection::BadTarget { stream: StreamId(492), target: SESSION },
        Rejection::NoPlacement,
        Rejection::FlushSuperseded { flush: 394, last: 395 },
        Rejection::LimitInFuture { before: Timestamp(100096), at: Timestamp(100097) },
        Rejection::CannotRetire { session: SESSION },
    ]
}

pub fn faults() -> Vec<PartFault> {
    vec![
        PartFault::Twice,
        PartFault::Sealed { end: Offset(599) },
        PartFault::NotContiguous { expected: Offset(600), found: Offset(601) },
        PartFault::EmptyRef { base: Offset(602), end: Offset(603) },
        PartFault::TimeBack { last: Timestamp(100104), found: Timestamp(100105) },
        PartFault::ForeignObject { object: ObjectId(706) },
        PartFault::ForeignProducer { index: 307 },
        PartFault::ProducerBack { index: 308, epoch: 409, seq: 410 },
        PartFault::ProducerBeyond { index: 311, next_offset: Offset(612), end: Offset(613) },
        PartFault::ProducerMalformed { index: 314 },
        PartFault::TooManyProducers { count: 415, max: 416 },
        PartFault::InputGone { base: Offset(617), object: ObjectId(718) },
        PartFault::NotReplaced { start: Offset(619), end: Offset(620) },
        PartFault::NoRefs,
        PartFault::RefBytes { base: Offset(501), bytes: 302 },
        PartFault::ForeignSource { found: StreamId(403) },
    ]
}
