//! One append: reserves space, decides and hands over under the stream's lock in one step, then waits for the
//! disk outside it. Guarantees that what is refused changed nothing (P15), that records, producer, seal and
//! `Stream-Seq` are one WAL entry (P16, P17) and that time never decreases (P18). Never does I/O itself, never
//! touches the metadata log.

use std::sync::Arc;
use std::time::Duration;

use kelda_format::limits::{MAX_STREAM_SEQ_BYTES, PRODUCER_GAP_WAIT_MS};
use kelda_format::rows::ProducerResult;
use kelda_format::wal::{ProducerChange, Section, StreamSection};
use kelda_format::{Block, Offset, Timestamp};
use kelda_meta::State;
use kelda_meta::producers::{self, ProducerClaim};
use tokio::sync::{Notify, oneshot};

use super::admit::{Admission, Standing, admit};
use super::producers::Known;
use super::{OpenStream, Phase, StreamState, Waiter};
use crate::error::AppendError;
use crate::types::{AppendRequest, Appended};
use crate::wal::local::segment;
use crate::wal::{Offer, Refused, Reserved};

/// Bytes of section headers, producer id, `Stream-Seq` and padding that an entry has beside its batch, at most.
const ENTRY_OVERHEAD_BYTES: u64 = 2048;

type Durable = oneshot::Receiver<Result<(), AppendError>>;

/// What one look under the lock came to.
enum Step {
    /// Accepted, or a duplicate: wait for the disk when there is something to wait for, then answer.
    Answer(Appended, Option<Durable>),
    /// It would be accepted, if it had space.
    NeedsSpace,
    /// It would be accepted, if the next segment were there.
    NeedsSegment,
    /// A predecessor may come soon.
    Gap {
        woken: Option<oneshot::Receiver<()>>,
        expected: u64,
    },
    Refuse(AppendError),
}

impl OpenStream {
    /// Appends atomically and resolves when the records are durable. Dropping the future does not take back what
    /// was accepted.
    ///
    /// # Errors
    /// See [`AppendError`]; only `OutcomeUnknown` leaves open whether the records are there.
    pub async fn append(self: &Arc<Self>, request: AppendRequest) -> Result<Appended, AppendError> {
        self.append_in_turn(request, &Notify::new()).await
    }

    /// Appends as [`OpenStream::append`] does, and gives `placed` a permit as soon as what is appended later comes behind it:
    /// long before it is durable. None is given when it is refused.
    ///
    /// # Errors
    /// Those of [`OpenStream::append`].
    pub async fn append_in_turn(
        self: &Arc<Self>,
        request: AppendRequest,
        placed: &Notify,
    ) -> Result<Appended, AppendError> {
        check_sizes(&request)?;
        let bytes = request.batch.byte_len() + ENTRY_OVERHEAD_BYTES;
        let clock = Arc::clone(&self.session.shared.env.clock);
        let space_until = clock.monotonic() + self.session.shared.config.space_wait;
        let gap_until = clock.monotonic() + Duration::from_millis(PRODUCER_GAP_WAIT_MS);
        // Space is reserved before the lock; a request that finds none is still looked at, since it may be a
        // duplicate or refused for another reason.
        let mut space = self.session.try_reserve(self, bytes);
        loop {
            let room_made = self.session.wal.room_made();
            tokio::pin!(room_made);
            room_made.as_mut().enable();
            match self.step(&request, &mut space) {
                Step::Answer(appended, None) => return Ok(appended),
                Step::Answer(appended, Some(durable)) => {
                    drop(space);
                    placed.notify_one();
                    return match durable.await {
                        Ok(Ok(())) => Ok(appended),
                        Ok(Err(error)) => Err(error),
                        Err(_) => Err(AppendError::OutcomeUnknown),
                    };
                }
                Step::Refuse(error) => return Err(error),
                Step::NeedsSpace => {
                    let left = space_until.saturating_sub(clock.monotonic());
                    space = Some(self.session.reserve(self, bytes, left).await?);
                }
                Step::NeedsSegment => {
                    let left = space_until.saturating_sub(clock.monotonic());
                    if kelda_env::timeout(&*clock, left, room_made).await.is_err() {
                        return Err(AppendError::Overloaded("no prepared segment of the write-ahead log"));
                    }
                }
                Step::Gap { woken, expected } => {
                    // Others may use the space meanwhile, the predecessor among them, which may come after this one.
                    space = None;
                    placed.notify_one();
                    let left = gap_until.saturating_sub(clock.monotonic());
                    let woken = match woken {
                        Some(woken) if !left.is_zero() => {
                            kelda_env::timeout(&*clock, left, woken).await.is_ok()
                        }
                        _ => false,
                    };
                    if !woken {
                        let received = request.producer.as_ref().map_or(0, |claim| claim.seq);
                        return Err(AppendError::Gap { expected, received });
                    }
                }
            }
        }
    }

    /// Validation and hand-over as one step (P15): either the entry is in the WAL's queue and the state says so, or
    /// nothing changed.
    fn step(self: &Arc<Self>, request: &AppendRequest, space: &mut Option<Reserved>) -> Step {
        let now = self.session.shared.now().0;
        let mut guard = self.state.lock();
        let state = &mut *guard;
        match state.phase {
            Phase::Open => {}
            Phase::Gone => return Step::Refuse(AppendError::Gone),
            Phase::Stopped | Phase::Closed | Phase::Ended => return Step::Refuse(AppendError::Closed),
        }
        let view = self.session.shared.meta.view();
        let timestamp = Self::floor_timestamp(state, now);
        let known = request.producer.as_ref().map(|claim| {
            let start = view.stream(self.id).map_or(Offset::ZERO, |row| row.start);
            state.producers.find(&view, self.id, start, &claim.id, timestamp)
        });
        let verdict = match (&request.producer, &known) {
            (Some(claim), Some(known)) => Some(producers::check(known.row.as_ref(), claim)),
            _ => None,
        };
        let standing =
            Standing { next: state.next, sealed: state.sealed, stream_seq: state.stream_seq.as_ref() };
        match admit(standing, request, verdict.as_ref()) {
            Admission::Refuse(error) => Step::Refuse(error),
            Admission::AwaitPredecessor { expected } => {
                let woken = request.producer.as_ref().and_then(|claim| state.gaps.wait(&claim.id, claim.seq));
                Step::Gap { woken, expected }
            }
            Admission::Duplicate { result, seq } => {
                let ordinal = match seq {
                    Some(_) => known.map_or(0, |known| known.ordinal),
                    None => state.accepted_entries,
                };
                duplicate(state, result, seq, ordinal)
            }
            // What is held back of the disk is not for appends.
            Admission::Accept if self.session.shared.upkeep.space.is_low() => {
                Step::Refuse(AppendError::DiskFull)
            }
            Admission::Accept => match space.take() {
                None => Step::NeedsSpace,
                Some(reserved) => self.accept(state, &view, request, known, timestamp, reserved, space),
            },
        }
    }

    #[allow(clippy::too_many_arguments, reason = "one step under one lock, split only to be readable")]
    fn accept(
        self: &Arc<Self>,
        state: &mut StreamState,
        view: &State,
        request: &AppendRequest,
        known: Option<Known>,
        timestamp: Timestamp,
        reserved: Reserved,
        space: &mut Option<Reserved>,
    ) -> Step {
        let ordinal = state.accepted_entries + 1;
        let first = state.next;
        let count = request.batch.count();
        let mut forgotten = Vec::new();
        if let (Some(claim), Some(known)) = (&request.producer, &known) {
            if known.expired {
                forgotten.push(claim.id.clone());
            } else if known.row.is_none() {
                forgotten.extend(state.producers.victim(view, self.id));
            }
        }
        let mut sections = Vec::with_capacity(4 + forgotten.len());
        // Forgetting a producer is a WAL entry (P15), before what makes the room necessary.
        sections.extend(forgotten.iter().map(|id| Section::ForgetProducer(id.as_str().to_owned())));
        if count > 0 {
            sections.push(Section::Records(Block::place(&request.batch, self.id, first, timestamp)));
        }
        if let Some(claim) = &request.producer {
            sections.push(Section::Producer(change(claim, first, count, timestamp)));
        }
        if let Some(seq) = &request.stream_seq {
            sections.push(Section::StreamSeq(seq.clone()));
        }
        if request.seal {
            sections.push(Section::Seal);
        }
        let sections: Vec<StreamSection> = sections
            .into_iter()
            .map(|section| StreamSection { stream: self.id, epoch: self.epoch, section })
            .collect();
        if sections.is_empty() {
            // Nothing is appended to nothing; an entry without sections would be a synced mark.
            *space = Some(reserved);
            return duplicate(state, None, None, state.accepted_entries);
        }
        let bytes = segment::entry_bytes(&sections);
        let index_bytes = segment::index_bytes(&sections);
        let offer = Offer { stream: Arc::clone(self), ordinal, sections, bytes, index_bytes, reserved };
        if let Err((refused, offer)) = self.session.wal.hand_over(offer) {
            *space = Some(offer.reserved);
            return match refused {
                Refused::NoRoom => Step::NeedsSegment,
                Refused::DiskFull => Step::Refuse(AppendError::DiskFull),
                Refused::Ended => Step::Refuse(AppendError::Closed),
            };
        }
        state.accepted_entries = ordinal;
        state.next = first.plus(u64::from(count));
        state.last_timestamp = timestamp;
        state.sealed |= request.seal;
        if let Some(seq) = &request.stream_seq {
            state.stream_seq = Some(seq.clone());
        }
        for id in &forgotten {
            state.producers.forget(id, ordinal);
        }
        if let Some(claim) = &request.producer {
            let before = known.and_then(|known| known.row);
            let new = before.is_none();
            let row = producers::advance(before.as_ref(), self.id, claim, first, count, timestamp);
            state.producers.advance(row, ordinal, new);
            state.gaps.accepted(&claim.id, claim.seq);
        }
        if state.sealed {
            state.gaps.wake_all();
        }
        let appended = Appended {
            first,
            next: state.next,
            timestamp,
            duplicate: false,
            exact: true,
            sealed: state.sealed,
            producer_seq: request.producer.as_ref().map(|claim| claim.seq),
        };
        Step::Answer(appended, Some(wait_for(state, ordinal)))
    }
}

fn check_sizes(request: &AppendRequest) -> Result<(), AppendError> {
    let seq_bytes = request.stream_seq.as_ref().map_or(0, bytes::Bytes::len);
    if seq_bytes > MAX_STREAM_SEQ_BYTES {
        return Err(AppendError::TooLarge { bytes: seq_bytes as u64, max: MAX_STREAM_SEQ_BYTES as u64 });
    }
    Ok(())
}

fn change(claim: &ProducerClaim, first: Offset, count: u32, at: Timestamp) -> ProducerChange {
    let id = claim.id.as_str().to_owned();
    ProducerChange { id, epoch: claim.epoch, seq: claim.seq, first_offset: first, count, at }
}

/// The answer to a repeat: that of the original, once it is durable (P15).
fn duplicate(
    state: &mut StreamState,
    result: Option<ProducerResult>,
    seq: Option<u64>,
    ordinal: u64,
) -> Step {
    let (first, next, exact) = match result {
        Some(result) => (result.first_offset, result.first_offset.plus(u64::from(result.count)), true),
        None => (state.next, state.next, seq.is_none()),
    };
    let appended = Appended {
        first,
        next,
        timestamp: state.last_timestamp,
        duplicate: true,
        exact,
        sealed: state.sealed,
        producer_seq: seq,
    };
    let durable = (ordinal > state.durable_entries).then(|| wait_for(state, ordinal));
    Step::Answer(appended, durable)
}

/// Registers a waiter for the durability of an entry, keeping the order of acceptance.
fn wait_for(state: &mut StreamState, ordinal: u64) -> Durable {
    let (answer, durable) = oneshot::channel();
    let at = state.waiting.partition_point(|waiter| waiter.ordinal <= ordinal);
    state.waiting.insert(at, Waiter { ordinal, answer });
    durable
}
