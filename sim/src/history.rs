//! What clients did and were told: owns the record of a run, guarantees an order of moments over all clients, never
//! judges (that is the checker's).

use std::collections::BTreeMap;
use std::sync::Arc;

use kelda_format::{Offset, StreamId};
use parking_lot::Mutex;

/// A moment of the run; later ones are greater.
pub type Moment = u64;

/// An append that was acknowledged.
#[derive(Clone, Debug)]
pub struct Append {
    /// Into which stream.
    pub stream: StreamId,
    /// When it was first sent.
    pub invoked: Moment,
    /// When its answer came.
    pub answered: Moment,
    /// Offset of the first record.
    pub first: Offset,
    /// The records.
    pub bodies: Vec<String>,
}

/// A tail that a client was told.
#[derive(Clone, Copy, Debug)]
pub struct Tail {
    /// Of which stream.
    pub stream: StreamId,
    /// When it was asked for.
    pub invoked: Moment,
    /// When the answer came.
    pub answered: Moment,
    /// What the answer said.
    pub tail: Offset,
}

/// Everything of one run.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// Acknowledged appends.
    pub appends: Vec<Append>,
    /// Tails told.
    pub tails: Vec<Tail>,
    /// Bodies that were sent at all.
    pub sent: Vec<String>,
    /// Bodies whose only append was refused for certain.
    pub refused: Vec<String>,
    /// What readers saw: stream and offset to body.
    pub seen: BTreeMap<(StreamId, Offset), String>,
    /// Streams whose seal was acknowledged, with the tail named and the moment.
    pub seals: BTreeMap<StreamId, (Offset, Moment)>,
    /// Streams that somebody tried to seal.
    pub seal_tried: Vec<StreamId>,
    /// The furthest trim that was asked for.
    pub trims: BTreeMap<StreamId, Offset>,
    /// Streams whose deletion was acknowledged, and when.
    pub deleted: BTreeMap<StreamId, Moment>,
    /// Streams that somebody tried to delete.
    pub delete_tried: Vec<StreamId>,
    /// Forks that were made.
    pub forks: Vec<StreamId>,
    /// Contradictions that were found at once.
    pub violations: Vec<String>,
    /// The last moment given out.
    pub now: Moment,
}

/// The record of a run, shared by its clients.
#[derive(Clone, Default)]
pub struct History(Arc<Mutex<Facts>>);

impl History {
    /// The next moment.
    #[must_use]
    pub fn now(&self) -> Moment {
        let mut facts = self.0.lock();
        facts.now += 1;
        facts.now
    }

    /// Writes something down.
    pub fn note(&self, change: impl FnOnce(&mut Facts)) {
        change(&mut self.0.lock());
    }

    /// Writes down a record that a reader saw; what was seen before has to be the same.
    pub fn saw(&self, stream: StreamId, offset: Offset, body: String) {
        let mut facts = self.0.lock();
        match facts.seen.get(&(stream, offset)) {
            Some(before) if *before != body => {
                let text = format!("stream {stream} offset {offset} was {before:?}, and then {body:?}");
                facts.violations.push(text);
            }
            _ => {
                facts.seen.insert((stream, offset), body);
            }
        }
    }

    /// All of it.
    #[must_use]
    pub fn facts(&self) -> Facts {
        self.0.lock().clone()
    }
}
