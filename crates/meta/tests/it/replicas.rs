//! The same commands in the same order give the same state: on a second replica, through the bytes of the log
//! and through snapshots; and in every state on the way the invariants hold.

use std::collections::BTreeMap;

use kelda_format::rows::{CommandResult, Nonce};
use kelda_format::{LogEntry, SessionId};
use kelda_meta::{Command, Outcome, State, invariants};
use proptest::prelude::*;

use crate::generate::Generator;
use crate::world::CLUSTER;

/// How often each command was accepted, answered as a repeat, and rejected.
#[derive(Default)]
struct Tally(BTreeMap<&'static str, [u64; 3]>);

impl Tally {
    fn count(&mut self, command: &Command, result: &CommandResult) {
        let column = match result {
            Ok(Outcome::AlreadyApplied | Outcome::Exists { .. }) => 1,
            Ok(_) => 0,
            Err(_) => 2,
        };
        self.0.entry(command.name()).or_default()[column] += 1;
    }
}

struct Run {
    make: Generator,
    first: State,
    second: State,
    flush: u64,
    last: Option<LogEntry>,
    recent: Vec<Command>,
}

impl Run {
    fn new(seed: u64) -> Run {
        let make = Generator::new(seed);
        Run {
            make,
            first: State::new(CLUSTER),
            second: State::new(CLUSTER),
            flush: 0,
            last: None,
            recent: Vec::new(),
        }
    }

    /// Commands that are each made for the state in which they will be applied.
    fn commands(&mut self, tally: &mut Tally) -> Vec<Command> {
        let count = 1 + self.make.random.below(4);
        let mut scratch = self.first.clone();
        let mut commands = Vec::new();
        for _ in 0..count {
            let command = match self.make.random.percent(6) {
                true if !self.recent.is_empty() => {
                    let back = usize::try_from(self.make.random.below(self.recent.len() as u64)).unwrap();
                    self.recent[back].clone()
                }
                _ => self.make.command(&scratch),
            };
            let before = scratch.clone();
            let result = scratch.apply(&command);
            if let Err(fault) = invariants::check(&scratch) {
                panic!("after {command:?}, which gave {result:?}: {fault}");
            }
            if matches!(result, Err(_) | Ok(Outcome::AlreadyApplied | Outcome::Exists { .. })) {
                assert_eq!(before, scratch, "{command:?} gave {result:?} and changed the state");
            }
            tally.count(&command, &result);
            self.recent.push(command.clone());
            if self.recent.len() > 40 {
                self.recent.remove(0);
            }
            commands.push(command);
        }
        commands
    }

    fn step(&mut self, tally: &mut Tally) {
        let repeat = self.make.random.percent(5);
        let entry = match self.last.clone() {
            Some(last) if repeat => last,
            _ => self.entry(tally),
        };
        let index = self.first.applied() + 1;
        let results = self.first.apply_entry(index, &entry).unwrap();
        let decoded = LogEntry::decode(&entry.encode()).unwrap();
        assert_eq!(decoded, entry);
        assert_eq!(self.second.apply_entry(index, &decoded).unwrap(), results);
        assert_eq!(self.first, self.second);
        if let Some(session) = entry.session
            && self.first.session(session).is_some()
        {
            let superseded = entry.flush < self.flush && repeat;
            assert!(superseded || self.first.flush_outcome(session, entry.flush) == Some(&results[..]));
        }
        if self.make.random.percent(10) {
            let bytes = self.first.to_snapshot();
            self.second = State::from_snapshot(&bytes).unwrap();
            assert_eq!(self.first, self.second);
            assert_eq!(self.second.to_snapshot(), bytes);
            assert_eq!(self.first.is_snapshot(&bytes), Ok(true));
        }
        invariants::check(&self.second).unwrap();
        self.last = Some(entry);
    }

    fn entry(&mut self, tally: &mut Tally) -> LogEntry {
        let sessions: Vec<SessionId> = self.first.sessions().map(|row| row.id).collect();
        let session = self.make.random.pick(&sessions).filter(|_| self.make.random.percent(80));
        self.flush += 1;
        let nonce = Nonce(u128::from(self.make.random.next()).to_le_bytes());
        let flush = if session.is_some() { self.flush } else { 0 };
        LogEntry { cluster: CLUSTER, session, flush, nonce, commands: self.commands(tally) }
    }
}

#[test]
fn every_command_is_accepted_repeated_and_rejected() {
    let mut tally = Tally::default();
    for seed in 0..60 {
        let mut run = Run::new(seed);
        for _ in 0..150 {
            run.step(&mut tally);
        }
    }
    for name in Command::NAMES {
        let counts = tally.0.get(name).copied().unwrap_or_default();
        assert!(counts[0] > 0, "{name} was never accepted: {:?}", tally.0);
        assert!(counts[2] > 0, "{name} was never rejected: {:?}", tally.0);
        // A reservation is answered as a repeat by the table of flushes only.
        assert!(counts[1] > 0 || *name == "ReserveObjects", "{name} was never repeated: {:?}", tally.0);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn replicas_agree(seed in any::<u64>(), steps in 1usize..200) {
        let (mut run, mut tally) = (Run::new(seed), Tally::default());
        for _ in 0..steps {
            run.step(&mut tally);
        }
    }
}

#[test]
fn the_snapshot_of_another_state_is_told_apart() {
    let mut world = crate::world::World::new();
    let one = world.node(1);
    let stream = world.create("a");
    world.open(stream, one);
    world.append(stream, one, 3);
    let state = &world.state;
    let bytes = state.to_snapshot();
    assert_eq!(state.is_snapshot(&bytes), Ok(true));
    for name in ["0", "b"] {
        let mut other = state.clone();
        other.apply(&crate::world::creation(name).into()).unwrap();
        assert_eq!(other.is_snapshot(&bytes), Ok(false), "a row more");
        assert_eq!(state.is_snapshot(&other.to_snapshot()), Ok(false), "a row less");
    }
    assert!(state.is_snapshot(&bytes[..bytes.len() - 1]).is_err());
}
