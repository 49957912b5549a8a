//! The key space: versions and repeats (P21).

use kelda_format::command::{DeleteKey, PutKey};
use kelda_format::rows::KeySpace;
use kelda_meta::{Limited, Outcome, Rejection};

use crate::world::{World, bytes};

fn put(key: &'static str, value: &'static str, expected_version: Option<u64>) -> PutKey {
    PutKey { space: KeySpace::Binding, key: bytes(key), value: bytes(value), expected_version }
}

#[test]
fn a_change_is_based_on_the_version_that_is_there() {
    let mut world = World::new();
    assert_eq!(world.apply(put("k", "one", None)), Outcome::Stored { version: 1 });
    assert_eq!(world.apply(put("k", "one", None)), Outcome::AlreadyApplied);
    assert_eq!(
        world.rejected(put("k", "two", None)),
        Rejection::Version { expected: None, current: Some(1) }
    );
    assert_eq!(world.apply(put("k", "two", Some(1))), Outcome::Stored { version: 2 });
    let delete = |expected_version| DeleteKey { space: KeySpace::Binding, key: bytes("k"), expected_version };
    assert_eq!(world.rejected(delete(1)), Rejection::Version { expected: Some(1), current: Some(2) });
    assert_eq!(world.apply(delete(2)), Outcome::Applied);
    assert_eq!(world.apply(delete(2)), Outcome::AlreadyApplied);
    assert_eq!(
        world.rejected(put("k", "three", Some(2))),
        Rejection::Version { expected: Some(2), current: None }
    );
    // Versions are not reused, so that a key which comes back is not taken for the old one.
    assert_eq!(world.apply(put("k", "three", None)), Outcome::Stored { version: 3 });
}

#[test]
fn spaces_are_apart_and_in_order() {
    let mut world = World::new();
    for key in ["b", "a", "c"] {
        world.apply(put(key, key, None));
        world.apply(PutKey { space: KeySpace::Setting, ..put(key, "setting", None) });
    }
    let values: Vec<_> = world.state.keys(KeySpace::Binding).map(|row| row.value.clone()).collect();
    assert_eq!(values, ["a", "b", "c"].map(bytes));
    assert_eq!(world.state.key(KeySpace::Setting, b"a").unwrap().value, bytes("setting"));
    assert_eq!(world.state.keys(KeySpace::AccessToken).count(), 0);
}

#[test]
fn keys_and_values_have_limits() {
    let mut world = World::new();
    let empty = put("", "v", None);
    assert_eq!(
        world.rejected(empty),
        Rejection::Limit { field: Limited::KeyBytes, value: 0, min: 1, max: 4096 }
    );
    let mut large = put("k", "v", None);
    large.value = vec![0; 70_000].into();
    assert!(matches!(
        world.rejected(large),
        Rejection::Limit { field: Limited::ValueBytes, value: 70_000, .. }
    ));
}
