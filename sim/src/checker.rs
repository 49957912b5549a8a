//! The judge of a run: owns the promises, guarantees that each has a check which fabricated histories show to fail,
//! never runs anything.

use std::collections::{BTreeMap, BTreeSet};

use kelda_format::{Offset, StreamId};

use crate::history::{Append, Facts};

/// What a stream holds at the end of a run.
#[derive(Clone, Debug, Default)]
pub struct Final {
    /// The first offset held.
    pub start: Offset,
    /// The bodies from there on.
    pub bodies: Vec<String>,
    /// Whether it is sealed.
    pub sealed: bool,
    /// Where it left another stream, if it is a fork.
    pub parent: Option<(StreamId, Offset)>,
    /// Bytes that retention leaves of it at least, if it is bounded.
    pub max_bytes: Option<u64>,
}

/// Bytes that a stored record has besides its body, at most.
const RECORD_OVERHEAD: u64 = 400;

impl Final {
    fn tail(&self) -> Offset {
        self.start.plus(self.bodies.len() as u64)
    }

    /// The bytes it may have as they are stored, at most.
    fn bytes(&self) -> u64 {
        self.bodies.iter().map(|body| body.len() as u64 + RECORD_OVERHEAD).sum()
    }

    fn at(&self, offset: Offset) -> Option<&str> {
        let index = usize::try_from(offset.since(self.start)).ok()?;
        (offset >= self.start).then(|| self.bodies.get(index).map(String::as_str)).flatten()
    }
}

/// Holds what clients were told against what is there; the list of broken promises is empty for a good run.
#[must_use]
pub fn check(facts: &Facts, streams: &BTreeMap<StreamId, Final>) -> Vec<String> {
    let mut broken = facts.violations.clone();
    for append in &facts.appends {
        acknowledged(facts, streams, append, &mut broken);
    }
    for ((stream, offset), body) in &facts.seen {
        if let Some(stored) = streams.get(stream) {
            same(stored, *stream, *offset, body, "was read", &mut broken);
        }
    }
    for (stream, stored) in streams {
        inherited(facts, *stream, stored, &mut broken);
        contents(facts, *stream, stored, &mut broken);
        order(facts, *stream, &mut broken);
        tails(facts, *stream, &mut broken);
    }
    for stream in facts.deleted.keys().filter(|stream| streams.contains_key(stream)) {
        broken.push(format!("stream {stream} was deleted and is there"));
    }
    broken
}

/// Nothing acknowledged is lost; nothing is acknowledged into a stream after its end was.
fn acknowledged(
    facts: &Facts,
    streams: &BTreeMap<StreamId, Final>,
    append: &Append,
    broken: &mut Vec<String>,
) {
    let stream = append.stream;
    if facts.deleted.get(&stream).is_some_and(|deleted| append.invoked > *deleted) {
        broken.push(format!(
            "{:?} was acknowledged into stream {stream} after its deletion was",
            append.bodies
        ));
    }
    match (streams.get(&stream), facts.delete_tried.contains(&stream)) {
        (Some(stored), _) => {
            for (offset, body) in (append.first.0..).zip(&append.bodies) {
                same(stored, stream, Offset(offset), body, "was acknowledged", broken);
            }
        }
        (None, true) => {}
        (None, false) => broken.push(format!("stream {stream} is gone and nobody deleted it")),
    }
}

/// A fork holds what was acknowledged into its parent, or read from it, before it left.
fn inherited(facts: &Facts, stream: StreamId, stored: &Final, broken: &mut Vec<String>) {
    let Some((parent, until)) = stored.parent else { return };
    let appended = facts.appends.iter().filter(|append| append.stream == parent);
    let records = appended.flat_map(|append| (append.first.0..).zip(&append.bodies));
    for (offset, body) in records.filter(|(offset, _)| *offset < until.0) {
        same(stored, stream, Offset(offset), body, "was acknowledged before the fork", broken);
    }
    for ((_, offset), body) in facts.seen.iter().filter(|((of, at), _)| *of == parent && *at < until) {
        same(stored, stream, *offset, body, "was read before the fork", broken);
    }
}

/// Whether a stream may begin where it does: it, or what it was forked from, was trimmed to there, or retention left enough.
fn may_start(facts: &Facts, stream: StreamId, stored: &Final) -> bool {
    let trimmed = |stream: StreamId| facts.trims.get(&stream).copied().unwrap_or_default();
    let inherited = stored.parent.map_or(Offset::ZERO, |(parent, _)| trimmed(parent));
    stored.start <= trimmed(stream).max(inherited)
        || stored.max_bytes.is_some_and(|bound| stored.bytes() >= bound)
}

fn same(stored: &Final, stream: StreamId, offset: Offset, body: &str, what: &str, broken: &mut Vec<String>) {
    if offset >= stored.start && stored.at(offset) != Some(body) {
        let found = stored.at(offset);
        broken.push(format!("stream {stream} offset {offset}: {body:?} {what}, {found:?} is there"));
    }
}

/// Everything stored was sent, once, whole batches, and nothing that was refused.
fn contents(facts: &Facts, stream: StreamId, stored: &Final, broken: &mut Vec<String>) {
    if !may_start(facts, stream, stored) {
        broken.push(format!("stream {stream} starts at {} and was not trimmed to there", stored.start));
    }
    if let Some((tail, _)) = facts.seals.get(&stream)
        && (!stored.sealed || stored.tail() != *tail)
    {
        broken.push(format!("stream {stream} was sealed at {tail} and ends at {}", stored.tail()));
    }
    if stored.sealed && !facts.seal_tried.contains(&stream) {
        broken.push(format!("stream {stream} is sealed and nobody sealed it"));
    }
    let sent: BTreeSet<&String> = facts.sent.iter().collect();
    let refused: BTreeSet<&String> = facts.refused.iter().collect();
    let mut seen = BTreeSet::new();
    for (index, body) in stored.bodies.iter().enumerate() {
        if !sent.contains(body) {
            broken.push(format!("stream {stream} holds {body:?}, which nobody sent"));
        }
        if refused.contains(body) {
            broken.push(format!("stream {stream} holds {body:?}, which was refused"));
        }
        if !seen.insert(body) {
            broken.push(format!("stream {stream} holds {body:?} twice"));
        }
        let follows = index.checked_sub(1).and_then(|before| stored.bodies.get(before));
        let next = stored.bodies.get(index + 1);
        // A fork may leave in the middle of a batch.
        let left = stored.parent.is_some_and(|(_, at)| stored.start.plus(index as u64 + 1) == at)
            || stored.parent.is_some_and(|(_, at)| stored.start.plus(index as u64) == at);
        if !left && !whole(body, follows, next, index == 0) {
            broken.push(format!("stream {stream} holds a part of a batch: {body:?} after {follows:?}"));
        }
    }
}

/// A body says which record of how many of which batch it is: `key#index/count padding`.
#[must_use]
pub fn label(body: &str) -> Option<(&str, usize, usize)> {
    let (key, rest) = body.split(' ').next()?.split_once('#')?;
    let (index, count) = rest.split_once('/')?;
    Some((key, index.parse().ok()?, count.parse().ok()?))
}

/// Whether the neighbours of a record are what its place in its batch demands; a trim may cut at the start.
fn whole(body: &str, before: Option<&String>, after: Option<&String>, first: bool) -> bool {
    let Some((key, index, count)) = label(body) else { return false };
    let neighbour = |other: Option<&String>, index: usize| {
        other.and_then(|other| label(other)).is_some_and(|found| found == (key, index, count))
    };
    (index == 0 || first || neighbour(before, index - 1))
        && (index + 1 == count || neighbour(after, index + 1))
}

/// Offsets agree with real time: what was answered before another append was sent lies before it.
fn order(facts: &Facts, stream: StreamId, broken: &mut Vec<String>) {
    let mut appends: Vec<&Append> = facts.appends.iter().filter(|append| append.stream == stream).collect();
    appends.sort_by_key(|append| std::cmp::Reverse(append.first));
    let mut earliest_answer_behind: Option<&Append> = None;
    for append in appends {
        if let Some(behind) = earliest_answer_behind
            && behind.answered < append.invoked
        {
            broken.push(format!("stream {stream}: {append:?} was sent after {behind:?} was acknowledged"));
        }
        if earliest_answer_behind.is_none_or(|behind| append.answered < behind.answered) {
            earliest_answer_behind = Some(append);
        }
    }
}

/// A tail covers all that was acknowledged before it was asked for, and nothing that was sent after its answer.
fn tails(facts: &Facts, stream: StreamId, broken: &mut Vec<String>) {
    for tail in facts.tails.iter().filter(|tail| tail.stream == stream) {
        for append in facts.appends.iter().filter(|append| append.stream == stream) {
            let end = append.first.plus(append.bodies.len() as u64);
            if append.answered < tail.invoked && end > tail.tail {
                broken.push(format!("stream {stream}: {tail:?} leaves out {append:?}"));
            }
            if append.invoked > tail.answered && append.first < tail.tail {
                broken.push(format!("stream {stream}: {tail:?} covers the later {append:?}"));
            }
        }
    }
}
