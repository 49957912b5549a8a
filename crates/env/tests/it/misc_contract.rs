//! What every clock, source of randomness and executor does.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use kelda_env::{Elapsed, TaskEnd};

use crate::contract::{World, contract};

contract!(
    sleeps_long_enough,
    tells_a_plausible_time,
    limits_waits,
    draws_different_numbers,
    draws_within_bounds,
    joins_tasks,
    aborts_tasks,
    leaves_dropped_tasks_running,
    runs_threads,
    aborts_threads,
    runs_blocking_work,
);

const MS: Duration = Duration::from_millis(1);

async fn sleeps_long_enough(World { env, .. }: World) {
    for wait in [Duration::ZERO, MS, MS * 15] {
        let before = env.clock.monotonic();
        env.clock.sleep(wait).await;
        assert!(env.clock.monotonic() - before >= wait);
    }
}

async fn tells_a_plausible_time(World { env, .. }: World) {
    let before = env.clock.now();
    assert!(before > 1_700_000_000_000, "{before}");
    env.clock.sleep(MS * 20).await;
    assert!(env.clock.now() >= before + 19);
}

async fn limits_waits(World { env, .. }: World) {
    assert_eq!(env.timeout(MS * 10, std::future::pending::<()>()).await, Err(Elapsed(MS * 10)));
    assert_eq!(env.timeout(Duration::ZERO, async { 7 }).await, Ok(7));
}

async fn draws_different_numbers(World { env, .. }: World) {
    assert_ne!(env.random.next_u64(), env.random.next_u64());
    assert_ne!(env.random.nonce(), env.random.nonce());
    let mut bytes = [0; 33];
    env.random.fill(&mut bytes);
    assert!(bytes.iter().any(|byte| *byte != 0));
}

async fn draws_within_bounds(World { env, .. }: World) {
    let mut seen = [false; 3];
    for _ in 0..200 {
        seen[usize::try_from(env.random.below(3)).unwrap()] = true;
    }
    assert_eq!(seen, [true; 3]);
    assert_eq!(env.random.below(1), 0);
    assert_eq!(env.random.below(0), 0);
}

async fn joins_tasks(World { env, .. }: World) {
    let count = Arc::new(AtomicU32::new(0));
    let task = env.spawn("count", {
        let (count, clock) = (count.clone(), env.clock.clone());
        async move {
            clock.sleep(MS * 5).await;
            count.fetch_add(1, Ordering::Relaxed);
        }
    });
    task.join().await.unwrap();
    task.join().await.unwrap();
    assert_eq!(count.load(Ordering::Relaxed), 1);
    assert_eq!(task.name(), "count");
}

/// Counts when dropped.
struct OnDrop(Arc<AtomicU32>);

impl Drop for OnDrop {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

async fn aborts_tasks(World { env, .. }: World) {
    let dropped = Arc::new(AtomicU32::new(0));
    let held = OnDrop(dropped.clone());
    let task = env.spawn("stuck", async move {
        let _held = held;
        std::future::pending::<()>().await;
    });
    task.abort();
    assert_eq!(task.join().await, Err(TaskEnd::Aborted));
    assert_eq!(dropped.load(Ordering::Relaxed), 1, "what the task held is released before its end is told");
}

async fn leaves_dropped_tasks_running(World { env, .. }: World) {
    let (sender, receiver) = tokio::sync::oneshot::channel();
    let clock = env.clock.clone();
    drop(env.spawn("orphan", async move {
        clock.sleep(MS * 5).await;
        sender.send(()).unwrap();
    }));
    receiver.await.unwrap();
}

async fn runs_threads(World { env, .. }: World) {
    let (sender, receiver) = tokio::sync::oneshot::channel();
    let inner = env.clone();
    let thread = env.tasks.spawn_thread(
        "thread",
        Box::pin(async move {
            inner.clock.sleep(MS * 5).await;
            let nested = inner.clone();
            inner.spawn("from the thread", async move { nested.clock.sleep(MS).await }).join().await.unwrap();
            sender.send(7).unwrap();
        }),
    );
    assert_eq!(receiver.await.unwrap(), 7);
    thread.join().await.unwrap();
}

async fn aborts_threads(World { env, .. }: World) {
    let thread = env.tasks.spawn_thread("stuck", Box::pin(std::future::pending()));
    thread.abort();
    assert_eq!(thread.join().await, Err(TaskEnd::Aborted));
}

async fn runs_blocking_work(World { env, .. }: World) {
    assert_eq!(env.blocking("add", || 3 + 4).await, Ok(7));
    let started = Arc::new(AtomicU32::new(0));
    let inner = started.clone();
    let work = env.tasks.spawn_blocking("count", Box::new(move || inner.store(1, Ordering::Relaxed)));
    work.join().await.unwrap();
    assert_eq!(started.load(Ordering::Relaxed), 1);
}

async fn panics_are_told(world: World) {
    let task = world.env.spawn("bad", async { panic!("on purpose") });
    assert_eq!(task.join().await, Err(TaskEnd::Panicked("on purpose".to_owned())));
    let end = world.env.blocking("bad", || panic!("number {}", 7)).await;
    assert_eq!(end, Err::<(), _>(TaskEnd::Panicked("number 7".to_owned())));
}

#[test]
fn panics_are_told_in_the_real_world() {
    crate::contract::real(panics_are_told);
}

#[tokio::test(start_paused = true)]
async fn panics_are_told_in_a_simulation() {
    let sim = kelda_env::sim::Sim::new(1);
    panics_are_told(World { env: sim.node("node").env(), store: Arc::new(sim.store()) }).await;
    assert_eq!(sim.panics(), ["bad: on purpose", "bad: number 7"]);
}

#[test]
#[should_panic(expected = "tasks panicked")]
fn a_panic_in_a_task_fails_the_run() {
    kelda_env::sim::Sim::run(1, |sim| async move {
        let task = sim.node("node").env().spawn("bad", async { panic!("on purpose") });
        let _ = task.join().await;
    });
}
