//! The append path of the engine: reservation, admission, the entry, the group, the acknowledgement, and now and then a
//! segment that becomes an object, on a simulated disk that takes no time.

use std::sync::Arc;
use std::time::{Duration, Instant};

use criterion::{Criterion, Throughput};
use futures::future::join_all;
use kelda_engine::{AppendRequest, Engine, EngineConfig, Identity, OpenStream};
use kelda_env::sim::Sim;
use kelda_format::{Batch, ClusterId, NodeId, Outcome};
use kelda_meta::Meta;
use kelda_metalog::{MemoryLog, MetaLog, MetaLogConfig};

use crate::apply::creation;
use crate::formats::records_of;

const CLUSTER: ClusterId = ClusterId([7; 16]);
/// Bytes appended to one simulated world, which keeps all of them in memory.
const WORLD_BYTES: usize = 256 << 20;

pub fn all(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("append path, simulated disk");
    for (records, in_flight) in [(1, 1), (1, 16), (1, 256), (256, 16)] {
        let batch = Batch::from_records(&records_of(records)).unwrap();
        group.throughput(Throughput::Elements(in_flight as u64));
        group.bench_function(format!("{records} x 1 KiB, {in_flight} in flight"), |bencher| {
            bencher.iter_custom(|rounds| {
                let most = (WORLD_BYTES / (in_flight * records * 1024)) as u64;
                let (mut left, mut taken) = (rounds, Duration::ZERO);
                while left > 0 {
                    let now = left.min(most);
                    taken += world(batch.clone(), in_flight, now);
                    left -= now;
                }
                taken
            });
        });
    }
    group.finish();
}

/// The time of so many rounds of so many appends at once, in a world of their own.
fn world(batch: Batch, in_flight: usize, rounds: u64) -> Duration {
    Sim::run(1, |sim| async move {
        let (env, store, log) = (sim.node("a").env(), sim.store(), MemoryLog::new());
        let metalog = MetaLogConfig { cluster: Some(CLUSTER), ..MetaLogConfig::default() };
        let meta = MetaLog::open(env.clone(), Arc::new(log.handle()), metalog).await.unwrap();
        let identity = Identity { node: NodeId(1), address: "node-1".to_owned(), cluster: CLUSTER };
        let (shared, config) = (Arc::new(meta.clone()), EngineConfig::default());
        let engine = Engine::start(env, shared, Arc::new(store), config, identity).await.unwrap();
        let stream = match meta.propose(creation("bench")).await.unwrap() {
            Outcome::Created { stream, .. } => stream,
            other => panic!("{other:?}"),
        };
        let open: Arc<OpenStream> = engine.open(stream).await.unwrap();
        let began = Instant::now();
        for _ in 0..rounds {
            let appends = (0..in_flight).map(|_| open.append(AppendRequest::new(batch.clone())));
            for appended in join_all(appends).await {
                appended.unwrap();
            }
        }
        began.elapsed()
    })
}
