//! One simulated machine: owns its disk, its clock's error and its current life. Guarantees that after a crash nothing of the
//! old life has an effect on the disk. Never loses what was synced.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::time::Instant;

use super::clock::SimClock;
use super::disk::SimDisk;
use super::medium::Medium;
use super::random::SimRandom;
use super::tasks::{Life, SimTasks};
use super::world::World;
use crate::{Disk, Env, Random};

/// One simulated machine. Cheap to clone.
#[derive(Clone)]
pub struct SimNode {
    inner: Arc<Inner>,
}

struct Inner {
    world: Arc<World>,
    name: Arc<str>,
    medium: Arc<Mutex<Medium>>,
    ahead_ms: Arc<AtomicI64>,
    asleep_ms: Arc<AtomicU64>,
    env: Mutex<(Arc<Life>, Env)>,
}

impl SimNode {
    pub(super) fn new(world: Arc<World>, name: &str) -> SimNode {
        let name: Arc<str> = Arc::from(name);
        let medium = Arc::new(Mutex::new(Medium::new()));
        let (ahead_ms, asleep_ms) = (Arc::new(AtomicI64::new(0)), Arc::new(AtomicU64::new(0)));
        let env = Mutex::new(start(&world, &name, &medium, (&ahead_ms, &asleep_ms)));
        SimNode { inner: Arc::new(Inner { world, name, medium, ahead_ms, asleep_ms, env }) }
    }

    /// The world of the current life. What a crashed life was handed stays dead.
    #[must_use]
    pub fn env(&self) -> Env {
        self.inner.env.lock().1.clone()
    }

    /// The power fails: every task ends where it is, and of what was not synced, any part is lost or torn. Not to be called
    /// from a task of the node itself, which could not see its own end.
    pub async fn crash(&self) {
        self.end_life("power lost").await;
        self.inner.medium.lock().lose_power(&self.inner.world.fate);
        self.begin_life();
    }

    /// The process is killed: every task ends where it is. The system lives on and loses nothing that was written; what was
    /// not synced is still at risk.
    pub async fn kill(&self) {
        self.end_life("killed").await;
        self.inner.medium.lock().close_all();
        self.begin_life();
    }

    /// Moves the wall clock by so many milliseconds, in either direction.
    pub fn jump_clock(&self, ms: i64) {
        self.inner.ahead_ms.fetch_add(ms, Ordering::Relaxed);
        self.inner.world.note(&format!("{} clock jumps {ms} ms", self.inner.name));
    }

    /// The machine sleeps for so many milliseconds: its wall clock goes on and nothing else.
    pub fn fall_asleep(&self, ms: u64) {
        self.inner.ahead_ms.fetch_add(ms.cast_signed(), Ordering::Relaxed);
        self.inner.asleep_ms.fetch_add(ms, Ordering::Relaxed);
        self.inner.world.note(&format!("{} sleeps {ms} ms", self.inner.name));
    }

    /// Limits the disk to so many bytes; `None` lifts the limit.
    pub fn set_capacity(&self, bytes: Option<u64>) {
        self.inner.medium.lock().set_capacity(bytes);
    }

    /// What a file holds now, without delay or fault, for checks.
    #[must_use]
    pub fn peek(&self, path: &str) -> Option<Bytes> {
        self.inner.medium.lock().peek(path)
    }

    /// The names of all files, without delay or fault, for checks.
    #[must_use]
    pub fn files(&self) -> Vec<String> {
        self.inner.medium.lock().files()
    }

    /// Flips the lowest bit of a byte on the medium, as decay does. False when there is no such byte.
    #[must_use]
    pub fn flip_bit(&self, path: &str, at: u64) -> bool {
        self.inner.medium.lock().flip_bit(path, at)
    }

    async fn end_life(&self, why: &str) {
        let life = self.inner.env.lock().0.clone();
        life.end().await;
        self.inner.world.note(&format!("{} {why}", self.inner.name));
    }

    fn begin_life(&self) {
        let inner = &self.inner;
        *inner.env.lock() =
            start(&inner.world, &inner.name, &inner.medium, (&inner.ahead_ms, &inner.asleep_ms));
    }
}

/// A new life on what the disk holds.
fn start(
    world: &Arc<World>,
    name: &Arc<str>,
    medium: &Arc<Mutex<Medium>>,
    (ahead_ms, asleep_ms): (&Arc<AtomicI64>, &Arc<AtomicU64>),
) -> (Arc<Life>, Env) {
    let life = Life::new();
    let disk: Arc<dyn Disk> = Arc::new(SimDisk {
        world: world.clone(),
        name: name.clone(),
        medium: medium.clone(),
        life: life.clone(),
    });
    let clock = SimClock {
        world: world.clone(),
        ahead_ms: ahead_ms.clone(),
        asleep_ms: asleep_ms.clone(),
        started: Instant::now(),
    };
    let env = Env {
        clock: Arc::new(clock),
        random: Arc::new(SimRandom::new(world.fate.next_u64())),
        tasks: Arc::new(SimTasks { world: world.clone(), life: life.clone() }),
        disk,
    };
    (life, env)
}
