//! The producer's rules, without any I/O: owns which batches are under way, with which sequence, and what becomes of them.
//!
//! Guarantees, whatever the order of answers:
//! - a batch keeps its sequence however often it is sent, and sequences follow the order of the batches; only a server that
//!   has forgotten all sequences makes them begin anew, when nothing is out that was sent with the old ones;
//! - results are told in that order;
//! - after a failure the oldest batch goes alone until it is acknowledged, so that nothing overtakes it;
//! - the first batch of all goes alone if that is asked for, so that nothing is stored behind one that is refused;
//! - a conditional batch is under way alone, and one that is refused gives its sequence to the next.
//!
//! Never sends, never waits.

use std::collections::VecDeque;

/// One batch, known by a number that grows.
pub(super) type Number = u64;

/// What is to be sent now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Send {
    pub(super) number: Number,
    pub(super) sequence: u64,
    /// How often it was sent before.
    pub(super) tries: u32,
    /// Whether everything before it was acknowledged by then, so that the server cannot miss what is before it.
    pub(super) first: bool,
}

/// The batches under way, of which each will have a result `R`.
#[derive(Debug)]
pub(super) struct Window<R> {
    limit: usize,
    next_number: Number,
    next_sequence: u64,
    batches: VecDeque<Batch<R>>,
    /// Batches that are sent and not answered.
    out: usize,
    /// The oldest failed: it goes alone.
    recovering: bool,
    /// The first of all is not acknowledged yet, and goes alone.
    proving: bool,
}

#[derive(Debug)]
struct Batch<R> {
    number: Number,
    conditional: bool,
    sequence: Option<u64>,
    tries: u32,
    state: State<R>,
}

#[derive(Debug)]
enum State<R> {
    Waiting,
    Out,
    Done(R),
}

impl<R> Window<R> {
    /// Nothing under way; at most `limit` batches, at least 1.
    pub(super) fn new(limit: usize) -> Window<R> {
        assert!(limit > 0, "at least one batch");
        let batches = VecDeque::new();
        let (recovering, proving) = (false, false);
        Window { limit, next_number: 0, next_sequence: 0, batches, out: 0, recovering, proving }
    }

    /// The first batch goes alone.
    pub(super) fn proving(self) -> Window<R> {
        Window { proving: true, ..self }
    }

    /// Whether a further batch may be taken: no conditional one is here, and there is room.
    pub(super) fn takes(&self, conditional: bool) -> bool {
        let alone = self.batches.is_empty();
        let none_conditional = !self.batches.back().is_some_and(|batch| batch.conditional);
        alone || (!conditional && none_conditional && self.batches.len() < self.limit)
    }

    /// Takes a batch.
    pub(super) fn push(&mut self, conditional: bool) -> Number {
        assert!(self.takes(conditional), "asked before");
        let number = self.next_number;
        self.next_number += 1;
        self.batches.push_back(Batch {
            number,
            conditional,
            sequence: None,
            tries: 0,
            state: State::Waiting,
        });
        number
    }

    /// The next batch to send now, if there is one.
    pub(super) fn send(&mut self) -> Option<Send> {
        let at = self.batches.iter().position(|batch| matches!(batch.state, State::Waiting))?;
        if (self.recovering || self.proving) && (at > 0 || self.out > 0) {
            return None;
        }
        let first = self.batches.iter().take(at).all(|batch| matches!(batch.state, State::Done(_)));
        let batch = &mut self.batches[at];
        let sequence = *batch.sequence.get_or_insert_with(|| {
            self.next_sequence += 1;
            self.next_sequence - 1
        });
        let send = Send { number: batch.number, sequence, tries: batch.tries, first };
        (batch.state, batch.tries) = (State::Out, batch.tries + 1);
        self.out += 1;
        Some(send)
    }

    /// The server answered with a result.
    pub(super) fn done(&mut self, number: Number, result: R) {
        let oldest = self.batches.front().is_some_and(|batch| batch.number == number);
        self.set(number, State::Done(result));
        self.recovering &= !oldest;
        self.proving = false;
    }

    /// No answer, or one that passes: it is to be sent again.
    pub(super) fn again(&mut self, number: Number) {
        self.set(number, State::Waiting);
        self.recovering = true;
    }

    /// The server refused a batch for good and did not count its sequence: only when it is under way alone.
    pub(super) fn refused(&mut self, number: Number, result: R) {
        assert_eq!(self.batches.len(), 1, "a batch that may be refused goes alone");
        self.set(number, State::Done(result));
        self.next_sequence -= 1;
        self.recovering = false;
    }

    /// The server refused the oldest without a result, since it knows none of the sequences any more: all that have no result
    /// get new ones, from 0 on.
    pub(super) fn renumber(&mut self, number: Number) {
        self.again(number);
        self.next_sequence = 0;
        for batch in self.batches.iter_mut().filter(|batch| !matches!(batch.state, State::Done(_))) {
            batch.sequence = None;
        }
    }

    fn set(&mut self, number: Number, state: State<R>) {
        let batch = self.batches.iter_mut().find(|batch| batch.number == number);
        let batch = batch.expect("a batch is answered once, and is here until then");
        assert!(matches!(batch.state, State::Out), "only what is out is answered");
        batch.state = state;
        self.out -= 1;
    }

    /// The next result to tell, in the order of the batches.
    pub(super) fn told(&mut self) -> Option<(Number, R)> {
        match self.batches.pop_front()? {
            Batch { number, state: State::Done(result), .. } => Some((number, result)),
            batch => {
                self.batches.push_front(batch);
                None
            }
        }
    }

    /// Whether nothing is under way.
    pub(super) fn is_empty(&self) -> bool {
        self.batches.is_empty()
    }

    /// Whether the oldest has to be sent again before anything else.
    pub(super) fn is_recovering(&self) -> bool {
        self.recovering
    }
}

#[cfg(test)]
mod tests;
