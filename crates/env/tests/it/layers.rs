//! What the layers around a store add, on virtual time.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use kelda_env::layers::{Counted, Delayed, Delays, Limited, Outcome, Patience, Patient, Retry};
use kelda_env::sim::{FaultPlan, Sim, StoreFaults};
use kelda_env::{Env, Store, StoreError, StoreOp, Tag};

use crate::contract::{World, contract};

contract!(changes_no_answer);

/// All layers together, over each of the stores.
async fn changes_no_answer(World { env, store }: World) {
    let store = patient(&env, store, Patience::default());
    store.put_if_absent("a/1", Bytes::from_static(b"one")).await.unwrap();
    let error = store.put_if_absent("a/1", Bytes::from_static(b"two")).await.unwrap_err();
    assert!(error.is_already_exists(), "{error}");
    store.put("a/2", Bytes::from_static(b"0123456789")).await.unwrap();
    assert_eq!(store.get("a/1").await.unwrap(), "one");
    assert_eq!(store.get_range("a/2", 2..4).await.unwrap(), "23");
    assert_eq!(store.get_ranges("a/2", &[0..1, 4..6]).await.unwrap(), ["0", "45"]);
    let info = store.head("a/2").await.unwrap().unwrap();
    assert_eq!(info.len, 10);
    if let Some(tag) = &info.tag {
        store.swap("a/2", Bytes::from_static(b"swapped"), tag).await.unwrap();
        assert!(store.swap("a/2", Bytes::new(), tag).await.unwrap_err().is_stale());
    }
    assert_eq!(store.list("a/").await.unwrap().len(), 2);
    assert_eq!(store.list_page("a/", Some("a/1"), 5).await.unwrap().len(), 1);
    store.delete_many(&["a/1".to_owned()]).await.unwrap();
    store.delete("a/2").await.unwrap();
    assert_eq!(store.head("a/2").await.unwrap(), None);
    let file = env.disk.create("segment").await.unwrap();
    file.write_at(&[Bytes::from_static(b"0123456789")], 0).await.unwrap();
    file.sync_data().await.unwrap();
    store.adopt(&*env.disk, "segment", "a/3").await.unwrap();
    assert_eq!(store.get("a/3").await.unwrap(), "0123456789");
}

fn patient(env: &Env, store: Arc<dyn Store>, patience: Patience) -> Arc<dyn Store> {
    let store = Delayed::new(store, env.clock.clone(), Delays::default());
    let store = Counted::new(Arc::new(store));
    let store = Patient::new(Arc::new(store), env.clock.clone(), env.random.clone(), patience);
    Arc::new(Limited::new(Arc::new(store), 4))
}

fn faults(store: StoreFaults) -> FaultPlan {
    FaultPlan { store, ..FaultPlan::calm() }
}

fn body() -> Bytes {
    Bytes::from_static(b"one")
}

#[test]
fn requests_are_counted_by_kind_and_outcome_with_their_bytes() {
    Sim::run(1, |sim| async move {
        let store = Counted::new(Arc::new(sim.store()));
        let counts = store.counts();
        store.put_if_absent("a/1", body()).await.unwrap();
        store.put("a/2", body()).await.unwrap();
        assert!(store.put_if_absent("a/1", body()).await.is_err());
        assert!(store.put_if_absent("a//1", body()).await.is_err(), "never leaves");
        assert!(store.swap("a/1", body(), &Tag("none".to_owned())).await.is_err());
        store.get("a/1").await.unwrap();
        store.get_ranges("a/1", &[0..1, 2..3]).await.unwrap();
        store.get_range("a/1", 1..1).await.unwrap();
        assert!(store.get("a/9").await.is_err());
        assert_eq!(store.head("a/9").await.unwrap(), None);
        store.head("a/1").await.unwrap();
        store.list("a/").await.unwrap();
        store.delete_many(&["a/1".to_owned(), "a/2".to_owned()]).await.unwrap();
        let seen = counts.snapshot();
        assert_eq!(seen.count(StoreOp::Put, Outcome::Ok), 2);
        assert_eq!(seen.count(StoreOp::Put, Outcome::Conflict), 1);
        assert_eq!(seen.count(StoreOp::Swap, Outcome::Conflict), 1);
        assert_eq!(seen.count(StoreOp::Get, Outcome::Ok), 2);
        assert_eq!(seen.count(StoreOp::Get, Outcome::NotFound), 1);
        assert_eq!(seen.count(StoreOp::Head, Outcome::NotFound), 1);
        assert_eq!(seen.count(StoreOp::Head, Outcome::Ok), 1);
        assert_eq!(seen.of(StoreOp::List), 1);
        assert_eq!(seen.of(StoreOp::Delete), 2, "one request per key: this store has no bulk delete");
        assert_eq!(seen.total(), 12);
        assert_eq!((seen.bytes_written, seen.bytes_read), (6, 5));
        sim.set_faults(faults(StoreFaults { throttled: 1.0, ..StoreFaults::default() }));
        assert!(store.get("a/1").await.is_err());
        assert_eq!(counts.snapshot().count(StoreOp::Get, Outcome::Throttled), 1);
    });
}

#[test]
fn a_request_whose_sender_goes_away_is_counted() {
    Sim::run(1, |sim| async move {
        sim.set_faults(faults(StoreFaults { hanging: 1.0, ..StoreFaults::default() }));
        let store = Arc::new(Counted::new(Arc::new(sim.store())));
        let env = sim.node("node").env();
        let waited = env.timeout(Duration::from_secs(1), store.get("a")).await;
        assert!(waited.is_err());
        assert_eq!(store.counts().snapshot().count(StoreOp::Get, Outcome::GivenUp), 1);
    });
}

#[test]
fn no_more_requests_than_places_are_in_flight() {
    Sim::run(1, |sim| async move {
        let env = sim.node("node").env();
        let mut delays = Delays::default();
        delays.set(StoreOp::Put, Duration::from_millis(100));
        let slow = Delayed::new(Arc::new(sim.store()), env.clock.clone(), delays);
        let store: Arc<dyn Store> = Arc::new(Limited::new(Arc::new(slow), 3));
        let began = env.clock.monotonic();
        let puts: Vec<_> = (0..10)
            .map(|number| {
                let store = store.clone();
                env.spawn("put", async move { store.put(&format!("k/{number}"), body()).await.unwrap() })
            })
            .collect();
        for put in puts {
            put.join().await.unwrap();
        }
        let took = env.clock.monotonic() - began;
        assert!(took >= Duration::from_millis(400), "10 puts of 100 ms in 3 places: {took:?}");
        assert!(took < Duration::from_millis(500), "{took:?}");
    });
}

#[test]
fn delays_are_per_kind_and_puts_stand_for_swaps_and_adoptions() {
    let mut delays = Delays::default();
    assert!(delays.is_none());
    delays.set(StoreOp::Put, Duration::from_millis(30));
    delays.set(StoreOp::Adopt, Duration::from_millis(50));
    assert_eq!(delays.get(StoreOp::Swap), Duration::from_millis(30));
    assert_eq!(delays.get(StoreOp::Adopt), Duration::from_millis(50));
    assert_eq!(delays.get(StoreOp::Get), Duration::ZERO);
    assert!(!delays.is_none());
    Sim::run(1, |sim| async move {
        let env = sim.node("node").env();
        let store = Delayed::new(Arc::new(sim.store()), env.clock.clone(), delays);
        let began = env.clock.monotonic();
        store.put("a", body()).await.unwrap();
        assert_eq!(env.clock.monotonic() - began, Duration::from_millis(30));
        store.get("a").await.unwrap();
        assert_eq!(env.clock.monotonic() - began, Duration::from_millis(30));
    });
}

/// How many attempts a request makes at a store that always fails so, and what the end is.
async fn attempts(sim: &Sim, op: StoreOp) -> (u64, StoreError) {
    let env = sim.node("node").env();
    let counted = Arc::new(Counted::new(Arc::new(sim.store())));
    let patience = Patience { retry: Retry { attempts: 4, ..Retry::default() }, ..Patience::default() };
    let store = Patient::new(counted.clone(), env.clock.clone(), env.random.clone(), patience);
    env.disk.create("file").await.unwrap();
    let answer = match op {
        StoreOp::Put => store.put("a", body()).await,
        StoreOp::Swap => store.swap("a", body(), &Tag("1".to_owned())).await.map(drop),
        StoreOp::Get => store.get_range("a", 0..1).await.map(drop),
        StoreOp::Head => store.head("a").await.map(drop),
        StoreOp::Delete => store.delete("a").await,
        StoreOp::List => store.list("a/").await.map(drop),
        StoreOp::Adopt => store.adopt(&*env.disk, "file", "a").await.map(drop),
    };
    (counted.counts().snapshot().of(op), answer.unwrap_err())
}

#[test]
fn what_may_be_repeated_is_repeated_so_often_and_nothing_else() {
    for (op, wanted) in [
        (StoreOp::Put, 4),
        (StoreOp::Get, 4),
        (StoreOp::Head, 4),
        (StoreOp::Delete, 4),
        (StoreOp::List, 4),
        (StoreOp::Swap, 1),
        (StoreOp::Adopt, 1),
    ] {
        Sim::run(1, |sim| async move {
            sim.set_faults(faults(StoreFaults { throttled: 1.0, ..StoreFaults::default() }));
            let (made, error) = attempts(&sim, op).await;
            assert_eq!(made, wanted, "{op}");
            assert!(matches!(error, StoreError::Throttled { .. }), "{op}: {error}");
        });
    }
    Sim::run(1, |sim| async move {
        let (made, error) = attempts(&sim, StoreOp::Get).await;
        assert!(made == 1 && error.is_not_found(), "an answer is an answer: {made} {error}");
    });
}

#[test]
fn a_create_is_never_repeated() {
    Sim::run(1, |sim| async move {
        for (plan, arrives) in [
            (StoreFaults { fail_before: 1.0, ..StoreFaults::default() }, false),
            (StoreFaults { fail_after: 1.0, ..StoreFaults::default() }, true),
        ] {
            sim.set_faults(faults(plan));
            let (env, inner) = (sim.node("node").env(), sim.store());
            let counted = Arc::new(Counted::new(Arc::new(inner.clone())));
            let store =
                Patient::new(counted.clone(), env.clock.clone(), env.random.clone(), Patience::default());
            let error = store.put_if_absent("a", body()).await.unwrap_err();
            assert!(error.is_outcome_unknown(), "{error}");
            assert_eq!(counted.counts().snapshot().of(StoreOp::Put), 1);
            assert_eq!(inner.peek("a").is_some(), arrives);
        }
    });
}

#[test]
fn a_request_that_hangs_ends_at_its_limit() {
    Sim::run(1, |sim| async move {
        sim.set_faults(faults(StoreFaults { hanging: 1.0, ..StoreFaults::default() }));
        let env = sim.node("node").env();
        let limit = Duration::from_secs(7);
        let patience = Patience { timeout: limit, ..Patience::default() };
        let store: Arc<dyn Store> =
            Arc::new(Patient::new(Arc::new(sim.store()), env.clock.clone(), env.random.clone(), patience));
        let began = env.clock.monotonic();
        let error = store.put_if_absent("a", body()).await.unwrap_err();
        assert!(matches!(error, StoreError::TimedOut { after, .. } if after == limit), "{error}");
        assert!(error.is_outcome_unknown());
        assert_eq!(env.clock.monotonic() - began, limit);
        let large = Bytes::from(vec![0; 20 << 20]);
        let error = store.put_if_absent("b", large).await.unwrap_err();
        let after = Duration::from_secs(27);
        assert!(matches!(error, StoreError::TimedOut { after: it, .. } if it == after), "{error}");
    });
}

#[test]
fn what_fails_at_times_succeeds_through_patience() {
    for seed in 0..20 {
        Sim::run(seed, |sim| async move {
            let rate = StoreFaults {
                fail_before: 0.2,
                fail_after: 0.2,
                throttled: 0.2,
                hanging: 0.05,
                ..StoreFaults::default()
            };
            sim.set_faults(faults(rate));
            let env = sim.node("node").env();
            let patience =
                Patience { retry: Retry { attempts: 40, ..Retry::default() }, ..Patience::default() };
            let store = patient(&env, Arc::new(sim.store()), patience);
            for number in 0..20 {
                let key = format!("a/{number:02}");
                store.put(&key, body()).await.unwrap();
                assert_eq!(store.get(&key).await.unwrap(), "one");
            }
            assert_eq!(store.list("a/").await.unwrap().len(), 20);
        });
    }
}

#[test]
fn waits_are_spread_bounded_and_as_long_as_the_store_asks() {
    Sim::run(1, |sim| async move {
        let random = sim.random();
        let retry = Retry::default();
        let failed = StoreError::failed("a", StoreOp::Get, "no");
        let mut seen = Vec::new();
        for attempt in 1..retry.attempts {
            let longest = (retry.first_wait * 2_u32.pow(attempt - 1)).min(retry.max_wait);
            for _ in 0..100 {
                let wait = retry.wait(attempt, &failed, &*random).unwrap();
                assert!(wait <= longest, "{attempt}: {wait:?}");
                seen.push(wait);
            }
        }
        seen.sort_unstable();
        seen.dedup();
        assert!(seen.len() > 400, "full jitter: {} different waits of 500", seen.len());
        assert_eq!(retry.wait(retry.attempts, &failed, &*random), None);
        assert!(Retry { attempts: 99, ..retry }.wait(98, &failed, &*random).unwrap() <= retry.max_wait);
        let denied = StoreError::Denied { key: "a".to_owned(), op: StoreOp::Get, detail: "no".to_owned() };
        assert_eq!(retry.wait(1, &denied, &*random), None);
        let asked = |seconds| StoreError::Throttled {
            key: "a".to_owned(),
            op: StoreOp::Get,
            detail: "slow".to_owned(),
            wait: Some(Duration::from_secs(seconds)),
        };
        let wait = retry.wait(1, &asked(9), &*random).unwrap();
        assert!(wait >= Duration::from_secs(9) && wait <= Duration::from_secs(9) + retry.first_wait);
        let wait = retry.wait(1, &asked(9000), &*random).unwrap();
        assert!(wait <= retry.max_asked + retry.first_wait, "{wait:?}");
    });
}
