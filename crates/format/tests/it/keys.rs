//! Keys of the object store.

use kelda_format::fuzzing::CLUSTER;
use kelda_format::ids::{NodeId, SessionEpoch};
use kelda_format::{ObjectId, SessionId, keys};

const HEX: &str = "66757a7a656420636c75737465722121";

#[test]
fn keys_are_as_documented() {
    let session = SessionId { node: NodeId(3), epoch: SessionEpoch(12) };
    assert_eq!(keys::data_key(CLUSTER, ObjectId(42)), format!("{HEX}/data/87/00000000000000000042"));
    assert_eq!(
        keys::wal_key(CLUSTER, session, 7),
        format!("{HEX}/wal/00000000000000000003/00000000000000000012/00000000000000000007")
    );
    assert_eq!(keys::meta_log_key(CLUSTER, 9), format!("{HEX}/meta/log/00000000000000000009"));
    assert_eq!(
        keys::meta_snapshot_key(CLUSTER, 9, 0xabc),
        format!("{HEX}/meta/snapshots/00000000000000000009-0000000000000abc")
    );
    assert_eq!(keys::meta_pointer_key(CLUSTER), format!("{HEX}/meta/pointer"));
    assert_eq!(keys::backup_manifest_key(CLUSTER, "20261130T1"), format!("{HEX}/backup/20261130T1/manifest"));
    assert_eq!(keys::backup_snapshot_key(CLUSTER, "20261130T1"), format!("{HEX}/backup/20261130T1/snapshot"));
}

#[test]
fn a_slot_and_a_manifest_are_known_by_their_keys() {
    let session = SessionId { node: NodeId(3), epoch: SessionEpoch(12) };
    let slot = keys::wal_key(CLUSTER, session, u64::MAX);
    assert!(slot.starts_with(&keys::wal_root(CLUSTER)));
    assert_eq!(keys::parse_wal_key(CLUSTER, &slot), Some((session, u64::MAX)));
    for wrong in
        ["", &slot[1..], &slot.replace("/000", "/+00"), &format!("{slot}/1"), &slot.replace("wal", "w")]
    {
        assert_eq!(keys::parse_wal_key(CLUSTER, wrong), None, "{wrong}");
    }
    let manifest = keys::backup_manifest_key(CLUSTER, "one-2");
    assert_eq!(keys::parse_manifest_key(CLUSTER, &manifest), Some("one-2"));
    for wrong in ["", "a/b", "a.b", &"x".repeat(65)] {
        let key = keys::backup_manifest_key(CLUSTER, wrong);
        assert_eq!(keys::parse_manifest_key(CLUSTER, &key), None, "{wrong}");
    }
    assert_eq!(keys::parse_manifest_key(CLUSTER, &keys::backup_snapshot_key(CLUSTER, "one-2")), None);
}

#[test]
fn an_object_is_known_by_its_key_and_nothing_else_is() {
    let key = keys::data_key(CLUSTER, ObjectId(u64::MAX));
    assert!(key.starts_with(&keys::data_prefix(CLUSTER)));
    assert_eq!(keys::parse_data_key(CLUSTER, &key), Some(ObjectId(u64::MAX)));
    let other = keys::data_key(CLUSTER, ObjectId(42));
    for wrong in
        ["", "x", &other.replace("/87/", "/88/"), &other.replace("/000", "/+00"), &format!("{other}0")]
    {
        assert_eq!(keys::parse_data_key(CLUSTER, wrong), None, "{wrong}");
    }
    assert_eq!(keys::parse_data_key(kelda_format::ClusterId([0; 16]), &other), None);
}
