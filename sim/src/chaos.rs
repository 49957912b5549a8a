//! What goes wrong during a run: owns the sequence of faults that a seed means, guarantees that the machine is up
//! again at its end, never touches clients.

use std::sync::Arc;
use std::time::Duration;

use kelda_engine::WalKind;
use kelda_env::Random as _;
use kelda_env::sim::FaultPlan;
use kelda_metalog::memory::FaultRates;

use crate::world::World;

/// Faults of the metadata log in a rough phase.
const ROUGH_LOG: FaultRates = FaultRates { max_delay: Duration::from_millis(20), lost_per_mille: 10 };

/// Does so many bad things, one after the other, and ends calm with a running process.
pub async fn disturb(world: Arc<World>, events: u64) {
    let random = world.sim.random();
    for _ in 0..events {
        world.sim.sleep(Duration::from_millis(50 + random.below(1500))).await;
        match random.below(11) {
            0..=2 => {
                world.crash().await;
                world.start().await;
            }
            3 | 4 => {
                world.kill().await;
                world.start().await;
            }
            5 => {
                world.stop().await;
                world.start().await;
            }
            6 => {
                world.sim.set_faults(FaultPlan::rough());
                world.set_log_faults(ROUGH_LOG);
            }
            7 => {
                world.sim.set_faults(FaultPlan::slow());
                world.set_log_faults(FaultRates::default());
            }
            8 => full(&world).await,
            // With a log on a disk there is one node (P12).
            9 if world.wal == WalKind::Object => world.fail_over().await,
            _ => world.machine().jump_clock(random.below(60_000).cast_signed() - 30_000),
        }
    }
    calm(&world).await;
}

/// The disk is full for a while, perhaps over a crash.
async fn full(world: &World) {
    let random = world.sim.random();
    let used: usize = world
        .machine()
        .files()
        .iter()
        .filter_map(|path| world.machine().peek(path))
        .map(|file| file.len())
        .sum();
    world.machine().set_capacity(Some(used as u64 + random.below(16 << 10)));
    world.sim.sleep(Duration::from_millis(random.below(3000))).await;
    if random.below(2) == 0 {
        world.crash().await;
    }
    world.machine().set_capacity(None);
    if world.life().is_none() {
        world.start().await;
    }
}

/// Nothing goes wrong any more; a last power cut shows what is really on the medium.
async fn calm(world: &World) {
    world.sim.set_faults(FaultPlan::calm());
    world.set_log_faults(FaultRates::default());
    world.machine().set_capacity(None);
    world.crash().await;
    world.start().await;
}
