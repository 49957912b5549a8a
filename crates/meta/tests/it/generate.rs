//! Random commands that mostly make sense: owns the choice. Guarantees that the same seed over the same states
//! gives the same commands. What is looked up in the state is now and then bent, so that every rule is met by a
//! command that breaks it.

mod cluster;
mod objects;
mod streams;

use kelda_format::{Epoch, SessionId, StreamId, Timestamp};
use kelda_meta::{Command, State};

/// A small random number generator (SplitMix64), so that a failing seed can be run again.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`, which is not 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    pub fn percent(&mut self, chance: u64) -> bool {
        self.below(100) < chance
    }

    pub fn pick<T: Copy>(&mut self, from: &[T]) -> Option<T> {
        (!from.is_empty()).then(|| from[usize::try_from(self.below(from.len() as u64)).unwrap()])
    }
}

/// What commands are made from.
pub struct Generator {
    pub random: Random,
    pub now: Timestamp,
    /// How often, in percent, a value that was looked up is bent.
    pub bend: u64,
    /// Whether nodes have local WALs, so that there is only one.
    pub local: bool,
}

impl Generator {
    pub fn new(seed: u64) -> Generator {
        let mut random = Random::new(seed);
        let (bend, local) = (random.below(12), random.percent(10));
        Generator { random, now: Timestamp(1_000_000), bend, local }
    }

    /// A command for this state.
    pub fn command(&mut self, state: &State) -> Command {
        self.now = self.now.plus_ms(self.random.below(200));
        match self.random.below(100) {
            0..=5 => cluster::register(self, state),
            6 => cluster::update(self, state),
            7..=8 => cluster::fence(self, state),
            9..=10 => cluster::close_session(self, state),
            11..=14 => cluster::complete_recovery(self, state),
            15 => cluster::raise(self, state),
            16..=27 => streams::create(self, state),
            28..=38 => streams::open(self, state),
            39..=40 => streams::place(self, state),
            41..=45 => streams::close(self, state),
            46..=49 => streams::trim(self, state),
            50..=53 => streams::delete(self, state),
            54..=55 => streams::expire(self, state),
            56..=58 => streams::put_entry(self, state),
            59 => streams::delete_entry(self, state),
            60..=66 => objects::reserve(self, state),
            67..=83 => objects::commit(self, state),
            84..=87 => objects::compact(self, state),
            88..=89 => objects::clean(self, state),
            90 => objects::expire_reservations(self, state),
            91..=92 => streams::start_transfer(self, state),
            93..=94 => streams::complete_transfer(self, state),
            95 => streams::abort_transfer(self, state),
            96..=98 => cluster::put_key(self, state),
            _ => cluster::delete_key(self, state),
        }
    }

    /// The value, or one beside it.
    fn bent(&mut self, value: u64) -> u64 {
        match self.random.percent(self.bend) {
            true if self.random.percent(50) => value.saturating_sub(1),
            true => value.saturating_add(1),
            false => value,
        }
    }

    fn bent_epoch(&mut self, epoch: Option<Epoch>) -> Epoch {
        Epoch(self.bent(epoch.map_or(0, |epoch| epoch.0)))
    }

    /// Mostly a live session, now and then any other.
    fn session(&mut self, state: &State) -> SessionId {
        let live: Vec<SessionId> =
            state.nodes().filter_map(|node| state.live_session(node.node)).map(|row| row.id).collect();
        let any: Vec<SessionId> = state.sessions().map(|row| row.id).collect();
        let from = if self.random.percent(self.bend) { &any } else { &live };
        self.random.pick(from).unwrap_or_else(|| crate::world::session(1 + self.random.below(5), 1))
    }

    /// Mostly a stream that is there and meets the wish, now and then any id.
    fn stream(&mut self, state: &State, wish: impl Fn(&kelda_format::rows::StreamRow) -> bool) -> StreamId {
        let wished: Vec<StreamId> = state.streams().filter(|row| wish(row)).map(|row| row.id).collect();
        let bent = self.random.percent(self.bend);
        match self.random.pick(&wished) {
            Some(stream) if !bent => stream,
            _ => StreamId(self.random.below(state.numbers().next_stream + 2)),
        }
    }

    /// The owner of a stream, mostly; it may be absent for a stream that nobody holds.
    fn owner(&mut self, state: &State, stream: StreamId) -> Option<SessionId> {
        let owner = state.stream(stream).and_then(|row| row.owner);
        if self.random.percent(self.bend) { Some(self.session(state)) } else { owner }
    }
}
