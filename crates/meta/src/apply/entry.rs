//! Registry entries: creation and change. Guarantees that a name and its stream come into being in one step,
//! and that the first to create a name wins.

use kelda_format::command::{CreateStream, PutEntry};
use kelda_format::rows::{EntryRow, EntryState, Expiry, ForkPoint, ObjectRefRow, StreamKind, StreamRow};
use kelda_format::{Offset, StreamId, Timestamp};

use super::{limit, remove, session, stream};
use crate::{Outcome, Rejection, State};

pub(super) fn create(state: &mut State, command: &CreateStream) -> Result<Outcome, Rejection> {
    if let Some(entry) = state.entry(&command.name) {
        let stream = entry.stream;
        return match entry.state {
            EntryState::SoftDeleted => Err(Rejection::SoftDeleted { name: command.name.clone(), stream }),
            EntryState::Live | EntryState::Initialising => Ok(Outcome::Exists { stream }),
        };
    }
    limit::content_type(&command.content_type)?;
    limit::expiry(&command.expiry)?;
    limit::arguments(&command.arguments)?;
    if let Some(session) = command.open {
        session::live(state, session)?;
    }
    let inherited = match command.parent {
        Some(point) => inherit(state, point, &command.kind)?,
        None => Inherited::default(),
    };

    let stream = StreamId(state.numbers.next_stream);
    state.numbers.next_stream += 1;
    let version = state.take_version();
    state.put_stream(StreamRow {
        id: stream,
        name: command.name.clone(),
        kind: command.kind,
        epoch: None,
        owner: None,
        start: inherited.start,
        end: inherited.end,
        last_timestamp: inherited.last_timestamp,
        sealed: false,
        bytes: inherited.refs.iter().map(|row| row.bytes).sum(),
        producers: 0,
        stream_seq: None,
        checkpoint: None,
        deadline: deadline(&command.expiry, command.at),
    });
    for row in inherited.refs {
        state.add_ref(ObjectRefRow { stream, ..row });
    }
    state.put_entry(EntryRow {
        name: command.name.clone(),
        stream,
        kind: command.kind,
        state: if command.initialising { EntryState::Initialising } else { EntryState::Live },
        parent: command.parent,
        content_type: command.content_type.clone(),
        expiry: command.expiry,
        retention: command.retention,
        arguments: command.arguments.clone(),
        created: command.at,
        version,
    });
    let epoch = match command.open.map(|session| stream::open_now(state, stream, session)) {
        Some(Outcome::Opened { epoch, .. }) => Some(epoch),
        _ => None,
    };
    Ok(Outcome::Created { stream, epoch })
}

fn deadline(expiry: &Expiry, at: Timestamp) -> Option<Timestamp> {
    match expiry {
        Expiry::Never => None,
        Expiry::Sliding { ttl_ms } => Some(at.plus_ms(*ttl_ms)),
        Expiry::At(time) => Some(*time),
    }
}

/// What a new stream starts with.
#[derive(Default)]
struct Inherited {
    start: Offset,
    end: Offset,
    last_timestamp: Timestamp,
    /// Of the parent; the stream is still to be replaced.
    refs: Vec<ObjectRefRow>,
}

/// P14: a fork takes references of its own, up to an offset that its parent has committed.
fn inherit(state: &State, point: ForkPoint, kind: &StreamKind) -> Result<Inherited, Rejection> {
    let parent = stream::existing(state, point.stream)?;
    let live = state.entry_of(parent.id).is_some_and(|entry| entry.state == EntryState::Live);
    if parent.kind != *kind || !live {
        return Err(Rejection::CannotFork { stream: parent.id, kind: parent.kind });
    }
    if point.offset < parent.start || point.offset > parent.end {
        return Err(Rejection::OutOfRange {
            stream: parent.id,
            offset: point.offset,
            start: parent.start,
            end: parent.end,
        });
    }
    let refs: Vec<ObjectRefRow> = if point.offset == parent.start {
        Vec::new()
    } else {
        state
            .refs(parent.id)
            .take_while(|row| row.base < point.offset)
            .map(|row| clip(row, point.offset))
            .collect()
    };
    let last_timestamp = match refs.last() {
        Some(row) => row.last_timestamp,
        None if point.offset == parent.end => parent.last_timestamp,
        None => Timestamp::default(),
    };
    Ok(Inherited { start: parent.start, end: point.offset, last_timestamp, refs })
}

/// The part of a reference below `until`.
fn clip(row: &ObjectRefRow, until: Offset) -> ObjectRefRow {
    if row.end <= until {
        return *row;
    }
    let (part, whole) = (until.since(row.base), row.end.since(row.base));
    let bytes = u128::from(row.bytes) * u128::from(part) / u128::from(whole);
    ObjectRefRow { end: until, bytes: u64::try_from(bytes).unwrap_or(row.bytes), ..*row }
}

pub(super) fn put(state: &mut State, command: &PutEntry) -> Result<Outcome, Rejection> {
    let entry = remove::in_use(state, &command.name, command.stream)?;
    let mut changed = entry.clone();
    if let Some(to) = &command.state {
        let allowed =
            *to == entry.state || (*to, entry.state) == (EntryState::Live, EntryState::Initialising);
        if !allowed {
            return Err(Rejection::EntryState { name: command.name.clone() });
        }
        changed.state = *to;
    }
    if let Some(expiry) = &command.expiry {
        limit::expiry(expiry)?;
        changed.expiry = *expiry;
    }
    if let Some(arguments) = &command.arguments {
        limit::arguments(arguments)?;
        changed.arguments.clone_from(arguments);
    }
    changed.retention = command.retention.unwrap_or(entry.retention);
    if changed == *entry {
        return Ok(Outcome::AlreadyApplied);
    }
    if entry.version != command.expected_version {
        return Err(Rejection::Version {
            expected: Some(command.expected_version),
            current: Some(entry.version),
        });
    }
    if changed.expiry != entry.expiry {
        let deadline = deadline(&changed.expiry, command.at);
        state.change_stream(command.stream, |row| row.deadline = deadline);
    }
    changed.version = state.take_version();
    let version = changed.version;
    state.put_entry(changed);
    Ok(Outcome::Stored { version })
}
