//! Commands about streams, names and transfers.

use kelda_format::command::{
    AbortTransfer, CloseStream, CompleteTransfer, CreateStream, DeleteEntry, DeleteStream, ExpireStream,
    OpenStream, PlaceStream, PutEntry, StartTransfer, TrimStream,
};
use kelda_format::rows::{EntryState, Expiry, ForkPoint, Retention, StreamKind};
use kelda_format::{Offset, StreamId, StreamName, Timestamp, TransferId};
use kelda_meta::{Command, State};

use super::Generator;

const NAMES: u64 = 24;

fn a_name(make: &mut Generator) -> StreamName {
    crate::world::name(&format!("dir/{}", make.random.below(NAMES)))
}

fn expiry(make: &mut Generator) -> Expiry {
    match make.random.below(4) {
        0 => Expiry::Sliding { ttl_ms: make.random.below(5_000) },
        1 => Expiry::At(make.now.plus_ms(make.random.below(5_000))),
        _ => Expiry::Never,
    }
}

fn fork_point(make: &mut Generator, state: &State) -> ForkPoint {
    let stream = make.stream(state, |row| row.end > row.start);
    let (start, end) = state.stream(stream).map_or((0, 0), |row| (row.start.0, row.end.0));
    let offset = start + make.random.below(end - start + 1);
    ForkPoint { stream, offset: Offset(make.bent(offset)) }
}

pub fn create(make: &mut Generator, state: &State) -> Command {
    let parent = make.random.percent(25).then(|| fork_point(make, state));
    let kind = if make.random.percent(15) { StreamKind::Queue } else { StreamKind::Stream };
    let content_type = "x".repeat(if make.random.percent(make.bend) { 300 } else { 4 });
    CreateStream {
        name: a_name(make),
        kind,
        content_type,
        expiry: expiry(make),
        retention: Retention { max_bytes: Some(make.random.below(9)), ..Retention::default() },
        arguments: vec![("x-queue-type".to_owned(), "stream".to_owned())],
        parent,
        initialising: make.random.percent(20),
        at: make.now,
        open: make.random.percent(40).then(|| make.session(state)),
    }
    .into()
}

pub fn open(make: &mut Generator, state: &State) -> Command {
    let stream = make.stream(state, |row| row.owner.is_none());
    OpenStream { stream, session: make.session(state) }.into()
}

pub fn place(make: &mut Generator, state: &State) -> Command {
    let stream = make.stream(state, |row| row.owner.is_none());
    let expected_epoch = state.stream(stream).and_then(|row| row.epoch);
    let expected_epoch = if make.random.percent(make.bend) { None } else { expected_epoch };
    PlaceStream { stream, expected_epoch }.into()
}

fn later(make: &mut Generator) -> Option<Timestamp> {
    make.random.percent(40).then(|| make.now.plus_ms(make.random.below(9_000)))
}

pub fn close(make: &mut Generator, state: &State) -> Command {
    let stream = make.stream(state, |row| row.owner.is_some());
    let session = make.owner(state, stream).unwrap_or_else(|| make.session(state));
    let (epoch, end) = state.stream(stream).map_or((None, 0), |row| (row.epoch, row.end.0));
    let (epoch, end) = (make.bent_epoch(epoch), Offset(make.bent(end)));
    CloseStream { stream, session, epoch, end, deadline: later(make) }.into()
}

pub fn trim(make: &mut Generator, state: &State) -> Command {
    let stream = make.stream(state, |row| row.end > row.start);
    let (start, end) = state.stream(stream).map_or((0, 0), |row| (row.start.0, row.end.0));
    let before = start + make.random.below(end - start + 1);
    let session = make.owner(state, stream).filter(|_| make.random.percent(50));
    let epoch = state.stream(stream).and_then(|row| row.epoch).filter(|_| session.is_some());
    TrimStream { stream, session, epoch, before: Offset(make.bent(before)), at: make.now }.into()
}

pub fn delete(make: &mut Generator, state: &State) -> Command {
    let stream = make.stream(state, |_| true);
    let name = state.stream(stream).map_or_else(|| a_name(make), |row| row.name.clone());
    let session = make.owner(state, stream);
    let epoch = state.stream(stream).and_then(|row| row.epoch).filter(|_| session.is_some());
    DeleteStream { stream, name, session, epoch, at: make.now }.into()
}

pub fn expire(make: &mut Generator, state: &State) -> Command {
    let due = make.now;
    let stream = make.stream(state, |row| row.deadline.is_some_and(|deadline| deadline <= due));
    let session = make.owner(state, stream);
    let epoch = state.stream(stream).and_then(|row| row.epoch).filter(|_| session.is_some());
    ExpireStream { stream, session, epoch, at: make.now }.into()
}

pub fn put_entry(make: &mut Generator, state: &State) -> Command {
    let stream = make.stream(state, |_| true);
    let entry = state.entry_of(stream);
    let name = entry.map_or_else(|| a_name(make), |entry| entry.name.clone());
    let version = entry.map_or(0, |entry| entry.version);
    let initialising = entry.is_some_and(|entry| entry.state == EntryState::Initialising);
    PutEntry {
        name,
        stream,
        expected_version: make.bent(version),
        state: (initialising || make.random.percent(20)).then_some(EntryState::Live),
        expiry: make.random.percent(30).then(|| expiry(make)),
        retention: make
            .random
            .percent(60)
            .then(|| Retention { max_age_ms: Some(make.random.below(3)), ..Retention::default() }),
        arguments: make.random.percent(10).then(Vec::new),
        at: make.now,
    }
    .into()
}

pub fn delete_entry(make: &mut Generator, state: &State) -> Command {
    let stream = make.stream(state, |row| row.owner.is_none());
    let entry = state.entry_of(stream);
    let name = entry.map_or_else(|| a_name(make), |entry| entry.name.clone());
    let version = entry.map_or(0, |entry| entry.version);
    DeleteEntry { name, stream, expected_version: make.bent(version), at: make.now }.into()
}

pub fn start_transfer(make: &mut Generator, state: &State) -> Command {
    let stream = make.stream(state, |row| row.owner.is_some());
    let epoch = state.stream(stream).and_then(|row| row.epoch);
    StartTransfer {
        stream,
        expected_epoch: make.bent_epoch(epoch),
        target: make.session(state),
        at: make.now,
    }
    .into()
}

fn a_transfer(make: &mut Generator, state: &State) -> (TransferId, StreamId) {
    let pending: Vec<_> = state.transfers().map(|row| (row.id, row.stream)).collect();
    match make.random.pick(&pending) {
        Some((transfer, stream)) => (TransferId(make.bent(transfer.0)), stream),
        None => {
            (TransferId(make.random.below(state.numbers().next_transfer + 2)), make.stream(state, |_| true))
        }
    }
}

pub fn complete_transfer(make: &mut Generator, state: &State) -> Command {
    let (transfer, stream) = a_transfer(make, state);
    let session = make.owner(state, stream).unwrap_or_else(|| make.session(state));
    let (epoch, end) = state.stream(stream).map_or((None, 0), |row| (row.epoch, row.end.0));
    let (epoch, end) = (make.bent_epoch(epoch), Offset(make.bent(end)));
    CompleteTransfer { transfer, stream, session, epoch, end, deadline: later(make) }.into()
}

pub fn abort_transfer(make: &mut Generator, state: &State) -> Command {
    let (transfer, stream) = a_transfer(make, state);
    AbortTransfer { transfer, stream }.into()
}
