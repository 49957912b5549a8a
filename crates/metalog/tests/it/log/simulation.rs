//! Nodes that write, follow, crash and snapshot on a log that delays and loses requests: one order for all, no
//! command twice, no answer that is not true.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use futures::future::join_all;
use kelda_env::Random;
use kelda_env::sim::{FaultPlan, Sim, SimNode};
use kelda_format::command::ReserveObjects;
use kelda_format::rows::KeySpace;
use kelda_format::{Command, SessionId, Timestamp};
use kelda_meta::{Meta, Outcome, ProposeError, invariants};
use kelda_metalog::memory::FaultRates;
use kelda_metalog::{LogStore, MemoryLog, MetaLog, MetaLogConfig, OpenError};

use super::{at_head, has, put, register};

const NODES: u64 = 3;
const LIVES: u64 = 4;
const ROUNDS: u64 = 12;

/// What the clients were told.
#[derive(Debug, Default)]
struct Told {
    applied: Vec<String>,
    refused: Vec<String>,
    objects: Vec<u64>,
    objects_unknown: u64,
}

#[test]
fn every_node_agrees_and_every_answer_is_true() {
    let seeds: u64 = std::env::var("KELDA_SIM_SEEDS").map_or(60, |seeds| seeds.parse().unwrap());
    for seed in 0..seeds {
        run(seed);
    }
}

#[test]
fn a_seed_repeats_its_run() {
    assert_eq!(run(4711), run(4711));
    assert_ne!(run(4711), run(4712));
}

fn run(seed: u64) -> u64 {
    Sim::run(seed, |sim| async move {
        sim.set_faults(FaultPlan { task_yield: 0.2, ..FaultPlan::default() });
        let rates = FaultRates { max_delay: Duration::from_millis(40), lost_per_mille: 40 };
        let log = MemoryLog::simulated(sim.node("log").env(), rates);
        let told = Rc::new(RefCell::new(Told::default()));
        let nodes: Vec<SimNode> = (1..=NODES).map(|node| sim.node(&format!("node {node}"))).collect();
        let lives = nodes.iter().zip(1..).map(|(node, id)| live(&sim, node, id, &log, &told));
        join_all(lives).await;
        log.set_rates(FaultRates::default());
        let told = told.take();
        check(&sim, &nodes, &log, &told).await;
        sim.trace_hash()
    })
}

/// One node: starts, writes, crashes, a few times over.
async fn live(sim: &Sim, node: &SimNode, id: u64, log: &MemoryLog, told: &Rc<RefCell<Told>>) {
    for life in 0..LIVES {
        let meta = start(sim, node, log).await;
        let session = register(&node.env(), &meta, id).await;
        let work = async {
            for round in 0..ROUNDS {
                let keys = (0..1 + sim.random().below(4)).map(|n| format!("{id}.{life}.{round}.{n}"));
                let puts = keys.map(|key| async { propose_put(sim, &meta, key, told).await });
                tokio::join!(join_all(puts), reserve(&meta, session, told));
            }
        };
        let crash_after = Duration::from_millis(sim.random().below(4000));
        tokio::select! {
            biased;
            () = work => {}
            () = sim.sleep(crash_after) => {}
        }
        node.crash().await;
    }
}

async fn start(sim: &Sim, node: &SimNode, log: &MemoryLog) -> MetaLog {
    loop {
        let config = MetaLogConfig { snapshot_min_entries: 12, ..MetaLogConfig::default() };
        match MetaLog::open(node.env(), std::sync::Arc::new(log.clone()), config).await {
            Ok(meta) => return meta,
            Err(OpenError::Stored(stop)) => panic!("{stop}"),
            Err(_) => sim.sleep(Duration::from_millis(50)).await,
        }
    }
}

async fn propose_put(sim: &Sim, meta: &MetaLog, key: String, told: &Rc<RefCell<Told>>) {
    let outcome = meta.propose(put(&key)).await;
    sim.note(&format!("{key}: {outcome:?}"));
    match outcome {
        Ok(Outcome::Stored { .. }) => {
            assert!(has(&meta.view(), &key), "{key} was answered before the view has it");
            told.borrow_mut().applied.push(key);
        }
        Err(ProposeError::Unavailable(_)) => told.borrow_mut().refused.push(key),
        Err(ProposeError::Unknown(_)) => {}
        other => panic!("{key}: {other:?}"),
    }
}

/// A command that has another effect when it is applied again.
async fn reserve(meta: &MetaLog, session: Option<SessionId>, told: &Rc<RefCell<Told>>) {
    let Some(session) = session else { return };
    // A crash drops this future: then the outcome stays unknown.
    told.borrow_mut().objects_unknown += 1;
    let command = ReserveObjects { session, count: 1, at: Timestamp(1) };
    let outcome = meta.propose(Command::ReserveObjects(command)).await;
    let mut told = told.borrow_mut();
    match outcome {
        Ok(Outcome::Reserved { first, .. }) => told.objects.push(first.0),
        Err(ProposeError::Unavailable(_) | ProposeError::Full(_) | ProposeError::Rejected(_)) => {}
        Err(ProposeError::Unknown(_)) => return,
        Ok(other) => panic!("{other:?}"),
    }
    told.objects_unknown -= 1;
}

async fn check(sim: &Sim, nodes: &[SimNode], log: &MemoryLog, told: &Told) {
    let seed = sim.seed();
    let first = start(sim, &nodes[0], log).await;
    first.propose(put("last")).await.unwrap();
    let state = first.view();
    for node in &nodes[1..] {
        let other = start(sim, node, log).await;
        at_head(&other, log).await;
        assert_eq!(*other.view(), *state, "seed {seed}: two nodes differ");
    }
    invariants::check(&state).unwrap();
    let lost: Vec<_> = told.applied.iter().filter(|key| !has(&state, key)).collect();
    assert!(lost.is_empty(), "seed {seed}: acknowledged and lost: {lost:?}");
    let undead: Vec<_> = told.refused.iter().filter(|key| has(&state, key)).collect();
    assert!(undead.is_empty(), "seed {seed}: refused and applied: {undead:?}");
    let mut objects = told.objects.clone();
    objects.sort_unstable();
    objects.dedup();
    assert_eq!(objects.len(), told.objects.len(), "seed {seed}: an object was reserved for two");
    let reserved = state.numbers().next_object - 1;
    let most = told.objects.len() as u64 + told.objects_unknown;
    assert!(reserved <= most, "seed {seed}: {reserved} objects reserved by at most {most} commands");
    let stored = state.keys(KeySpace::Setting).filter(|row| row.key != Bytes::from_static(b"last")).count();
    assert!(stored >= told.applied.len() && !told.applied.is_empty(), "seed {seed}: nothing was done");
    assert!(log.bounds().snapshot > 0, "seed {seed}: no snapshot was written: {:?}", log.bounds());
    assert!(log.read(state.applied() + 1, 1).await.unwrap().is_empty());
}
