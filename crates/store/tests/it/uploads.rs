//! Files that become objects, many keys at once, and listings of several pages.

use std::sync::Arc;

use bytes::Bytes;
use futures::{StreamExt, stream};
use kelda_env::layers::Counted;
use kelda_env::{Adopted, Env, Store, StoreError, StoreOp};

use crate::contract::{World, remote};

/// Not a multiple of a piece, and with no two pieces alike.
const LEN: u32 = 40 * 1024 * 1024 + 12_345;

#[test]
fn a_large_file_is_uploaded_in_pieces() {
    remote(|World { env, store }| async move {
        let file = env.disk.create("segment").await.unwrap();
        let bytes: Vec<u8> = (0..=LEN / 4).flat_map(u32::to_le_bytes).take(LEN as usize).collect();
        let bytes = Bytes::from(bytes);
        file.write_at(std::slice::from_ref(&bytes), 0).await.unwrap();
        file.sync_data().await.unwrap();
        let counted = Counted::new(store);
        let adopted = counted.adopt(&*env.disk, "segment", "c/data/1").await.unwrap();
        assert_eq!(adopted, Adopted::Pieces(6), "a look, a beginning, three pieces and an end");
        let seen = counted.counts().snapshot();
        assert_eq!((seen.of(StoreOp::Adopt), seen.bytes_written), (6, u64::from(LEN)));
        assert_eq!(counted.head("c/data/1").await.unwrap().unwrap().len, u64::from(LEN));
        assert!(counted.get("c/data/1").await.unwrap() == bytes);
        let error = counted.adopt(&*env.disk, "segment", "c/data/1").await.unwrap_err();
        assert!(error.is_already_exists(), "{error}");
        let error = counted.adopt(&*env.disk, "none", "c/data/2").await.unwrap_err();
        assert!(error.is_not_found(), "{error}");
        assert_eq!(counted.head("c/data/2").await.unwrap(), None);
    });
}

#[test]
fn more_keys_than_a_request_takes_are_listed_and_deleted() {
    remote(|World { store, .. }| async move {
        let keys: Vec<String> = (0..1_003).map(|number| format!("many/{number:04}")).collect();
        stream::iter(&keys)
            .for_each_concurrent(16, async |key| store.put(key, Bytes::from_static(b"x")).await.unwrap())
            .await;
        let counted = Counted::new(Arc::clone(&store));
        let listed = counted.list("many/").await.unwrap();
        assert_eq!(listed.iter().map(|object| object.key.clone()).collect::<Vec<_>>(), keys);
        let page = counted.list_page("many/", Some("many/0500"), 2).await.unwrap();
        assert_eq!(page.into_iter().map(|object| object.key).collect::<Vec<_>>(), ["many/0501", "many/0502"]);
        assert_eq!(counted.counts().snapshot().of(StoreOp::List), 3);
        counted.delete_many(&keys[1..]).await.unwrap();
        assert_eq!(counted.counts().snapshot().of(StoreOp::Delete), 2);
        assert_eq!(store.list("many/").await.unwrap().len(), 1);
    });
}

#[test]
fn the_store_passes_the_probe_and_is_left_clean() {
    remote(|World { env, store }| async move {
        let probed = kelda_env::probe(&*store, &*env.clock, &*env.random, "c/").await.unwrap();
        assert!(probed.swaps && probed.clock_ahead_ms.abs() < 60_000, "{probed:?}");
        assert_eq!(store.list("").await.unwrap(), []);
    });
}

#[test]
fn a_thread_with_a_runtime_of_its_own_can_ask() {
    remote(|World { env, store }| async move {
        let task = env.tasks.spawn_thread("writer", {
            let store = Arc::clone(&store);
            Box::pin(async move { store.put("a", Bytes::from_static(b"x")).await.unwrap() })
        });
        task.join().await.unwrap();
        assert_eq!(store.get("a").await.unwrap(), "x");
    });
}

#[test]
fn a_bucket_that_is_not_there_is_no_missing_object() {
    let Some(bucket) = crate::s3::Bucket::new() else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let dir = tempfile::tempdir().unwrap();
        let env = Env::real(dir.path()).unwrap();
        let store = crate::s3::at(&bucket.url().replace("kelda-test", "kelda-none"), &env);
        for error in [
            store.get("a").await.unwrap_err(),
            store.put("a", Bytes::new()).await.unwrap_err(),
            store.list("").await.unwrap_err(),
        ] {
            assert!(matches!(&error, StoreError::Failed { .. }), "{error}");
            assert!(error.to_string().contains("NoSuchBucket"), "{error}");
        }
    });
}
