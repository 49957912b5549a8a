//! Writers that race for one key: fencing rests on exactly one of them having it.

use std::sync::Arc;

use bytes::Bytes;
use kelda_env::{Env, StoreError, Tag};

use crate::contract::{World, remote};

const WRITERS: u8 = 16;
const ROUNDS: u32 = 200;

/// Runs a race and answers who was told that it won.
async fn race<F>(env: &Env, write: impl Fn(u8) -> F) -> Vec<u8>
where
    F: Future<Output = Result<(), StoreError>> + Send + 'static,
{
    let winners = Arc::new(parking_lot::Mutex::new(Vec::new()));
    let mut tasks = Vec::new();
    for number in 0..WRITERS {
        let (write, winners) = (write(number), Arc::clone(&winners));
        tasks.push(env.spawn("writer", async move {
            match write.await {
                Ok(()) => winners.lock().push(number),
                Err(error) => assert!(error.is_already_exists() || error.is_stale(), "{error}"),
            }
        }));
    }
    for task in tasks {
        task.join().await.unwrap();
    }
    winners.lock().clone()
}

#[test]
fn exactly_one_of_many_creators_wins_every_time() {
    remote(|World { env, store }| async move {
        for round in 0..ROUNDS {
            let key = format!("race/{round}");
            let winners = race(&env, |number| {
                let (store, key) = (Arc::clone(&store), key.clone());
                async move { store.put_if_absent(&key, Bytes::from(vec![number; 100])).await }
            })
            .await;
            assert_eq!(winners.len(), 1, "round {round}: {winners:?}");
            assert_eq!(store.get(&key).await.unwrap(), vec![winners[0]; 100]);
        }
    });
}

#[test]
fn exactly_one_of_many_swappers_wins_every_time() {
    remote(|World { env, store }| async move {
        store.put_if_absent("race", Bytes::from_static(b"first")).await.unwrap();
        for round in 0..ROUNDS {
            let tag: Tag = store.head("race").await.unwrap().unwrap().tag.unwrap();
            let winners = race(&env, |number| {
                let (store, tag) = (Arc::clone(&store), tag.clone());
                // Tags may be of the bytes, so that every write has bytes of its own.
                let body = Bytes::from(format!("{round} {number}"));
                async move { store.swap("race", body, &tag).await.map(drop) }
            })
            .await;
            assert_eq!(winners.len(), 1, "round {round}: {winners:?}");
            assert_eq!(store.get("race").await.unwrap(), format!("{round} {}", winners[0]));
        }
    });
}
