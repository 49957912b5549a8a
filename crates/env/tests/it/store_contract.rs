//! What every object store does.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use kelda_env::{StoreError, Tag};

use crate::contract::{World, contract};

contract!(
    creates_only_what_is_not_there,
    replaces,
    reads_what_was_put,
    reads_exact_ranges,
    reads_several_ranges,
    a_read_object_can_be_replaced_and_deleted,
    knows_what_is_there,
    tells_when_an_object_got_its_bytes,
    swaps_only_what_is_still_the_same,
    one_of_many_swappers_wins,
    deletes,
    deletes_many,
    lists_page_by_page,
    lists_whole_segments_in_order,
    refuses_bad_keys,
    one_of_many_creators_wins,
    adopts_files,
    adopts_only_what_is_there,
    holds_empty_objects,
);

async fn creates_only_what_is_not_there(World { store, .. }: World) {
    store.put_if_absent("c/data/00/1", Bytes::from_static(b"one")).await.unwrap();
    let error = store.put_if_absent("c/data/00/1", Bytes::from_static(b"two")).await.unwrap_err();
    assert!(error.is_already_exists(), "{error}");
    assert_eq!(store.get("c/data/00/1").await.unwrap(), "one");
}

async fn replaces(World { store, .. }: World) {
    store.put("a/b", Bytes::from_static(b"one")).await.unwrap();
    store.put("a/b", Bytes::from_static(b"two")).await.unwrap();
    assert_eq!(store.get("a/b").await.unwrap(), "two");
}

async fn reads_what_was_put(World { store, .. }: World) {
    let body: Vec<u8> = (0..300_000_u32).flat_map(u32::to_le_bytes).collect();
    store.put_if_absent("big", Bytes::from(body.clone())).await.unwrap();
    assert_eq!(store.get("big").await.unwrap(), body);
    assert!(store.get("bigger").await.unwrap_err().is_not_found());
}

async fn reads_exact_ranges(World { store, .. }: World) {
    store.put_if_absent("a", Bytes::from_static(b"0123456789")).await.unwrap();
    assert_eq!(store.get_range("a", 2..5).await.unwrap(), "234");
    assert_eq!(store.get_range("a", 0..10).await.unwrap(), "0123456789");
    assert_eq!(store.get_range("a", 3..3).await.unwrap(), "");
    for range in [0..11, 9..12, 10..11, 50..60] {
        let error = store.get_range("a", range.clone()).await.unwrap_err();
        assert!(matches!(error, StoreError::OutOfRange { len: 10, .. }), "{range:?}: {error}");
    }
    assert!(store.get_range("b", 0..1).await.unwrap_err().is_not_found());
}

async fn reads_several_ranges(World { store, .. }: World) {
    let body: Vec<u8> = (0..100_000_u32).flat_map(u32::to_le_bytes).collect();
    store.put_if_absent("a", Bytes::from(body.clone())).await.unwrap();
    for ranges in
        [&[0..7, 7..9][..], &[3..4, 1000..150_000, 399_999..400_000], &[0..200_000, 200_000..400_000], &[]]
    {
        let parts = store.get_ranges("a", ranges).await.unwrap();
        let wanted: Vec<&[u8]> = ranges.iter().map(|it| &body[it.start as usize..it.end as usize]).collect();
        assert_eq!(parts, wanted);
    }
    let error = store.get_ranges("a", &[5..6, 399_999..400_001]).await.unwrap_err();
    assert!(matches!(error, StoreError::OutOfRange { len: 400_000, .. }), "{error}");
    assert!(store.get_ranges("b", &[0..1, 2..3]).await.unwrap_err().is_not_found());
}

async fn a_read_object_can_be_replaced_and_deleted(World { store, .. }: World) {
    store.put("a", Bytes::from_static(b"one")).await.unwrap();
    assert_eq!(store.get_range("a", 0..3).await.unwrap(), "one");
    store.put("a", Bytes::from_static(b"two")).await.unwrap();
    assert_eq!(store.get_range("a", 0..3).await.unwrap(), "two");
    store.delete("a").await.unwrap();
    assert!(store.get_range("a", 0..3).await.unwrap_err().is_not_found());
}

async fn knows_what_is_there(World { store, .. }: World) {
    store.put_if_absent("x/a", Bytes::from_static(b"12345")).await.unwrap();
    let info = store.head("x/a").await.unwrap().unwrap();
    assert_eq!((info.key.as_str(), info.len), ("x/a", 5));
    let [listed] = &store.list("x/").await.unwrap()[..] else { panic!("one object") };
    assert_eq!((&listed.key, listed.len), (&info.key, info.len));
    assert!(listed.modified.abs_diff(info.modified) < 1000, "{listed:?} {info:?}");
    assert_eq!(store.head("x/b").await.unwrap(), None);
    assert_eq!(store.head("y/z/b").await.unwrap(), None);
}

async fn tells_when_an_object_got_its_bytes(World { env, store }: World) {
    store.put("a", Bytes::from_static(b"one")).await.unwrap();
    let first = store.head("a").await.unwrap().unwrap().modified;
    assert!(first.abs_diff(env.clock.now()) < 60_000, "{first}");
    // Stores may count in seconds.
    env.clock.sleep(std::time::Duration::from_millis(1100)).await;
    store.put("a", Bytes::from_static(b"two")).await.unwrap();
    let second = store.head("a").await.unwrap().unwrap().modified;
    assert!(second > first, "{first} {second}");
}

/// A store without the operation says so, and changes nothing.
async fn swaps_only_what_is_still_the_same(World { store, .. }: World) {
    let body = |text: &'static str| Bytes::from_static(text.as_bytes());
    store.put_if_absent("a/b", body("one")).await.unwrap();
    let Some(first) = store.head("a/b").await.unwrap().unwrap().tag else {
        let error = store.swap("a/b", body("two"), &Tag("x".to_owned())).await.unwrap_err();
        assert!(matches!(error, StoreError::Unsupported { .. }), "{error}");
        assert!(!error.is_outcome_unknown());
        assert_eq!(store.get("a/b").await.unwrap(), "one");
        return;
    };
    let second = store.swap("a/b", body("two"), &first).await.unwrap();
    assert_ne!(first, second);
    assert_eq!(store.head("a/b").await.unwrap().unwrap().tag.as_ref(), Some(&second));
    let error = store.swap("a/b", body("three"), &first).await.unwrap_err();
    assert!(error.is_stale() && !error.is_outcome_unknown(), "{error}");
    assert_eq!(store.get("a/b").await.unwrap(), "two");
    store.swap("a/b", body("three"), &second).await.unwrap();
    assert_eq!(store.get("a/b").await.unwrap(), "three");
    store.delete("a/b").await.unwrap();
    let error = store.swap("a/b", body("four"), &second).await.unwrap_err();
    assert!(error.is_stale(), "{error}");
    assert_eq!(store.head("a/b").await.unwrap(), None);
}

async fn one_of_many_swappers_wins(World { env, store }: World) {
    store.put_if_absent("a", Bytes::from_static(b"one")).await.unwrap();
    let Some(tag) = store.head("a").await.unwrap().unwrap().tag else { return };
    let winners = Arc::new(parking_lot::Mutex::new(BTreeSet::new()));
    let mut tasks = Vec::new();
    for number in 0..8_u8 {
        let (store, winners, tag) = (store.clone(), winners.clone(), tag.clone());
        tasks.push(env.spawn("swapper", async move {
            match store.swap("a", Bytes::from(vec![number; 1000]), &tag).await {
                Ok(_) => {
                    winners.lock().insert(number);
                }
                Err(error) => assert!(error.is_stale(), "{error}"),
            }
        }));
    }
    for task in tasks {
        task.join().await.unwrap();
    }
    let winners = winners.lock().iter().copied().collect::<Vec<_>>();
    assert_eq!(winners.len(), 1);
    assert_eq!(store.get("a").await.unwrap(), vec![winners[0]; 1000]);
}

async fn deletes(World { store, .. }: World) {
    store.put_if_absent("x/a", Bytes::from_static(b"one")).await.unwrap();
    store.delete("x/a").await.unwrap();
    store.delete("x/a").await.unwrap();
    store.delete("never/was").await.unwrap();
    assert_eq!(store.head("x/a").await.unwrap(), None);
    store.put_if_absent("x/a", Bytes::from_static(b"two")).await.unwrap();
    assert_eq!(store.get("x/a").await.unwrap(), "two");
}

async fn deletes_many(World { store, .. }: World) {
    let keys: Vec<String> = (0..40).map(|number| format!("d/{number:02}")).collect();
    for key in &keys {
        store.put_if_absent(key, Bytes::from_static(b"one")).await.unwrap();
    }
    let mut gone = keys[1..].to_vec();
    gone.push("never/was".to_owned());
    store.delete_many(&gone).await.unwrap();
    store.delete_many(&gone).await.unwrap();
    store.delete_many(&[]).await.unwrap();
    let left = store.list("d/").await.unwrap();
    assert_eq!(left.into_iter().map(|object| object.key).collect::<Vec<_>>(), ["d/00"]);
    let error = store.delete_many(&["d/00".to_owned(), "d/".to_owned()]).await.unwrap_err();
    assert!(matches!(error, StoreError::BadKey { .. }), "{error}");
}

async fn lists_page_by_page(World { store, .. }: World) {
    for key in ["a/1", "a/10", "a/2", "a/b/1", "b/1"] {
        store.put_if_absent(key, Bytes::from_static(b"xyz")).await.unwrap();
    }
    let keys = async |prefix: &str, after: Option<&str>, limit: usize| {
        let found = store.list_page(prefix, after, limit).await.unwrap();
        found.into_iter().map(|object| object.key).collect::<Vec<_>>()
    };
    assert_eq!(keys("a/", None, 2).await, ["a/1", "a/10"]);
    assert_eq!(keys("a/", Some("a/10"), 2).await, ["a/2", "a/b/1"]);
    assert_eq!(keys("a/", Some("a/b/1"), 2).await, [""; 0]);
    assert_eq!(keys("a/", Some("a/15"), 9).await, ["a/2", "a/b/1"]);
    assert_eq!(keys("", Some("a/b"), 9).await, ["a/b/1", "b/1"]);
}

async fn lists_whole_segments_in_order(World { store, .. }: World) {
    for key in ["a/b/2", "a/b/10", "a/bc/1", "a/b-/1", "z"] {
        store.put_if_absent(key, Bytes::from_static(b"xyz")).await.unwrap();
    }
    let keys = async |prefix: &str| {
        let found = store.list(prefix).await.unwrap();
        assert!(found.iter().all(|object| object.len == 3));
        found.into_iter().map(|object| object.key).collect::<Vec<_>>()
    };
    assert_eq!(keys("a/b/").await, ["a/b/10", "a/b/2"]);
    assert_eq!(keys("").await, ["a/b-/1", "a/b/10", "a/b/2", "a/bc/1", "z"]);
    assert_eq!(keys("none/").await, [""; 0]);
    let error = store.list("a/b").await.unwrap_err();
    assert!(matches!(error, StoreError::BadKey { .. }), "{error}");
}

async fn refuses_bad_keys(World { store, .. }: World) {
    let long = "a".repeat(600);
    for key in ["", "/a", "a/", "a//b", "../a", "a/./b", "a b", "a#1", "ä", "a%2f", &long] {
        let error = store.put_if_absent(key, Bytes::new()).await.unwrap_err();
        assert!(matches!(error, StoreError::BadKey { .. }), "{key:?}: {error}");
        let error = store.get(key).await.unwrap_err();
        assert!(matches!(error, StoreError::BadKey { .. }), "{key:?}: {error}");
    }
}

async fn one_of_many_creators_wins(World { env, store }: World) {
    let winners = Arc::new(parking_lot::Mutex::new(BTreeSet::new()));
    let mut tasks = Vec::new();
    for number in 0..8_u8 {
        let (store, winners) = (store.clone(), winners.clone());
        tasks.push(env.spawn("creator", async move {
            match store.put_if_absent("new/dir/key", Bytes::from(vec![number; 1000])).await {
                Ok(()) => {
                    winners.lock().insert(number);
                }
                Err(error) => assert!(error.is_already_exists(), "{error}"),
            }
        }));
    }
    for task in tasks {
        task.join().await.unwrap();
    }
    let winners = winners.lock().iter().copied().collect::<Vec<_>>();
    assert_eq!(winners.len(), 1);
    assert_eq!(store.get("new/dir/key").await.unwrap(), vec![winners[0]; 1000]);
}

async fn adopts_files(World { env, store }: World) {
    let file = env.disk.create("segment").await.unwrap();
    file.write_at(&[Bytes::from_static(b"0123456789")], 0).await.unwrap();
    file.sync_data().await.unwrap();
    store.adopt(&*env.disk, "segment", "c/data/00/1").await.unwrap();
    let error = store.adopt(&*env.disk, "segment", "c/data/00/1").await.unwrap_err();
    assert!(error.is_already_exists(), "{error}");
    assert!(env.disk.exists("segment").await.unwrap());
    env.disk.remove("segment").await.unwrap();
    env.disk.sync_dir("").await.unwrap();
    drop(file);
    assert_eq!(store.get("c/data/00/1").await.unwrap(), "0123456789");
    assert_eq!(store.get_range("c/data/00/1", 2..4).await.unwrap(), "23");
    assert_eq!(store.head("c/data/00/1").await.unwrap().unwrap().len, 10);
    store.delete("c/data/00/1").await.unwrap();
    assert_eq!(store.head("c/data/00/1").await.unwrap(), None);
}

async fn adopts_only_what_is_there(World { env, store }: World) {
    assert!(store.adopt(&*env.disk, "segment", "c/data/00/1").await.unwrap_err().is_not_found());
    assert_eq!(store.head("c/data/00/1").await.unwrap(), None);
}

async fn holds_empty_objects(World { store, .. }: World) {
    store.put_if_absent("empty", Bytes::new()).await.unwrap();
    assert_eq!(store.get("empty").await.unwrap(), "");
    assert_eq!(store.head("empty").await.unwrap().unwrap().len, 0);
    assert!(store.get_range("empty", 0..1).await.is_err());
}
