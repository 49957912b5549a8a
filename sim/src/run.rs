//! One run: owns how clients and faults come together and what is looked at in the end, guarantees the same run for
//! the same seed.

use std::collections::BTreeMap;
use std::sync::Arc;

use kelda_env::sim::{FaultPlan, Sim};
use kelda_format::{StreamId, StreamName};
use kelda_meta::{Meta as _, invariants};
use kelda_service::{Caller, ListRequest, ReadLimit, Service, StartAt};

use crate::chaos;
use crate::checker::{self, Final};
use crate::clients::{self, Client, STREAMS};
use crate::history::History;
use crate::world::World;

/// What a run came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Of everything that happened in the world.
    pub trace: u64,
    /// Acknowledged appends.
    pub acknowledged: usize,
    /// Records that readers saw.
    pub seen: usize,
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
    if let Some(life) = world.life() {
        let listing = life
            .service
            .list(&Caller::anonymous(), &ListRequest { limit: Some(1000), ..ListRequest::default() });
        for info in listing.map(|listing| listing.streams).unwrap_or_default() {
            match whole(&life.service, &info.name, info.stream).await {
                Ok(found) => drop(streams.insert(info.stream, found)),
                Err(error) => broken.push(format!("{} cannot be read: {error}", info.name)),
            }
        }
        broken.extend(invariants::check(&life.meta.view()).err());
        broken.extend(objects(world, &life.meta.view()));
    }
    broken.extend(checker::check(&facts, &streams));
    if !broken.is_empty() {
        broken.push(world.sim.recent_trace());
    }
    Report {
        trace: world.sim.trace_hash(),
        acknowledged: facts.appends.len(),
        seen: facts.seen.len(),
        broken,
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
    let mut found = Final { start: position.offset, bodies: Vec::new(), sealed: false };
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

/// Every object that the metadata names is in the store.
fn objects(world: &World, state: &kelda_meta::State) -> Vec<String> {
    let keys = world.store.keys();
    let missing = state.objects().filter(|object| {
        let wanted = format!("{}", object.id);
        !keys.iter().any(|key| key.ends_with(&format!("{wanted:0>20}")))
    });
    missing.map(|object| format!("object {} is not in the store", object.id)).collect()
}
