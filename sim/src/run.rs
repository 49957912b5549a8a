//! One run: owns how clients and faults come together and what is looked at in the end, guarantees the same run for
//! the same seed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use kelda_engine::LOOSE_REFS;
use kelda_env::sim::{FaultPlan, Sim};
use kelda_format::keys::data_key;
use kelda_format::rows::ObjectKind;
use kelda_format::{Offset, StreamId, StreamName};
use kelda_meta::{Meta as _, State, invariants};
use kelda_service::{Caller, ListRequest, ReadLimit, Service, StartAt};

use crate::chaos;
use crate::checker::{self, Final};
use crate::clients::{self, Client, STREAMS};
use crate::history::History;
use crate::world::{Life, World};

/// Longer than objects have to be old before they are looked for, whatever became of the clocks.
const QUIET: Duration = Duration::from_secs(400);

/// What a run came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Of everything that happened in the world.
    pub trace: u64,
    /// Acknowledged appends.
    pub acknowledged: usize,
    /// Records that readers saw.
    pub seen: usize,
    /// Streams of which retention gave something up.
    pub given_up: usize,
    /// Objects at the end that compaction wrote.
    pub merged: usize,
    /// Forks that were made.
    pub forks: usize,
    /// Promises that were broken, with what happened last.
    pub broken: Vec<String>,
}

/// Runs the seed.
#[must_use]
pub fn run(seed: u64) -> Report {
    Sim::run(seed, |sim| async move {
        let world = World::new(&sim);
        sim.set_faults(FaultPlan::slow());
        world.start().await;
        let history = History::default();
        let client = |name: &str| Client {
            world: Arc::clone(&world),
            history: history.clone(),
            name: name.to_owned(),
        };
        clients::create_all(&client("creator")).await;
        let mut tasks = Vec::new();
        for index in 0..3 {
            tasks.push(sim.spawn(clients::produce(client(&format!("plain-{index}")), 40)));
            tasks.push(sim.spawn(clients::produce_once(client(&format!("once-{index}")), 30)));
        }
        for stream in STREAMS {
            tasks.push(sim.spawn(clients::follow(client("reader"), stream, 60)));
        }
        tasks.push(sim.spawn(clients::administer(client("admin"), 40)));
        chaos::disturb(Arc::clone(&world), 8).await;
        for task in tasks {
            if let Err(error) = task.await {
                std::panic::resume_unwind(error.into_panic());
            }
        }
        world.crash().await;
        world.start().await;
        finish(&world, &history).await
    })
}

async fn finish(world: &World, history: &History) -> Report {
    let facts = history.facts();
    let mut streams = BTreeMap::new();
    let mut broken = Vec::new();
    let (mut given_up, mut merged) = (0, 0);
    if let Some(life) = world.life() {
        quiesce(world, &life).await;
        merged = life.meta.view().objects().filter(|object| object.kind == ObjectKind::Packed).count();
        let listing = life
            .service
            .list(&Caller::anonymous(), &ListRequest { limit: Some(1000), ..ListRequest::default() });
        for info in listing.map(|listing| listing.streams).unwrap_or_default() {
            match whole(&life.service, &info.name, info.stream).await {
                Ok(mut found) => {
                    let view = life.meta.view();
                    let entry = view.entry(&info.name);
                    found.parent = entry.and_then(|it| it.parent).map(|it| (it.stream, it.offset));
                    found.max_bytes = info.retention.max_bytes;
                    given_up += usize::from(found.max_bytes.is_some() && found.start > Offset::ZERO);
                    streams.insert(info.stream, found);
                }
                Err(error) => broken.push(format!("{} cannot be read: {error}", info.name)),
            }
        }
        broken.extend(invariants::check(&life.meta.view()).err());
        broken.extend(leaks(world, &life.meta.view()));
    }
    broken.extend(checker::check(&facts, &streams));
    if !broken.is_empty() {
        broken.push(world.sim.recent_trace());
    }
    Report {
        trace: world.sim.trace_hash(),
        acknowledged: facts.appends.len(),
        seen: facts.seen.len(),
        given_up,
        merged,
        forks: facts.forks.len(),
        broken,
    }
}

/// Lets maintenance come to an end: longer than every age that it waits for, with the clock of the store wherever it is.
async fn quiesce(world: &World, life: &Life) {
    for _ in 0..4 {
        life.engine.flush().await;
        world.sim.sleep(QUIET).await;
        life.engine.maintain_now().await;
    }
}

/// Everything that a stream holds.
async fn whole(
    service: &Service,
    name: &StreamName,
    stream: StreamId,
) -> Result<Final, kelda_service::ReadError> {
    let caller = Caller::anonymous();
    let position = service.resolve(&caller, name, StartAt::First, Some(stream)).await?;
    let limit = ReadLimit { max_bytes: 1 << 20, max_records: 1000, until: None };
    let mut found = Final { start: position.offset, ..Final::default() };
    let mut from = position.offset;
    loop {
        let chunk = service.read(&caller, name, stream, from, limit).await?;
        let records = chunk.blocks.iter().flat_map(|block| block.records());
        found.bodies.extend(records.map(|record| String::from_utf8_lossy(&record.record.body).into_owned()));
        found.sealed = chunk.sealed;
        if chunk.next == chunk.tail {
            return Ok(found);
        }
        from = chunk.next;
    }
}

/// The store holds exactly what the metadata names, nothing waits to be deleted or committed, and every stream has few
/// references.
fn leaks(world: &World, state: &State) -> Vec<String> {
    let mut found = Vec::new();
    let named: BTreeSet<String> =
        state.objects().map(|object| data_key(state.cluster(), object.id)).collect();
    let stored: BTreeSet<String> =
        world.store.keys().into_iter().filter(|key| key.contains("/data/")).collect();
    found.extend(named.difference(&stored).map(|key| format!("{key} is not in the store")));
    found.extend(stored.difference(&named).map(|key| format!("{key} leaks")));
    found
        .extend(state.objects_to_destroy().map(|row| format!("object {} waits to be destroyed", row.object)));
    found.extend(state.reservations().map(|row| format!("object {} is still reserved", row.object)));
    found.extend(world.machine().files().into_iter().filter(|path| path.starts_with("tmp/")));
    for row in state.streams() {
        let refs = state.refs(row.id).count();
        let full = usize::try_from(row.bytes / (42 << 10)).unwrap_or(usize::MAX);
        if refs > full + LOOSE_REFS {
            found.push(format!("stream {} has {refs} references for {} bytes", row.id, row.bytes));
        }
    }
    found
}
