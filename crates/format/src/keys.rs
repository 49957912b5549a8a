//! Where things are in the object store: owns every key, guarantees that all but the marker begin with the
//! cluster id, never touches the store.

use crate::backup::is_backup_id;
use crate::ids::{ClusterId, NodeId, ObjectId, SessionEpoch, SessionId};
use crate::wire::{DecodeError, Fixed, Reader, crc};

/// Key of the marker object: claims a store prefix for one cluster, by create-if-absent.
pub const MARKER_KEY: &str = "kelda-cluster";

/// Bytes of the marker object.
pub const MARKER_BYTES: usize = 40;

const MARKER_MAGIC: [u8; 8] = *b"KELDACLU";
const BACKUP_MARKER_MAGIC: [u8; 8] = *b"KELDABAK";
const MARKER_VERSION: u16 = 1;

/// Key of an object: `<cluster>/data/<2 hex of the id's hash>/<id, 20 digits>`. The hash spreads consecutive
/// ids over prefixes.
#[must_use]
pub fn data_key(cluster: ClusterId, object: ObjectId) -> String {
    let hash = crc(&object.0.to_le_bytes()) & 0xff;
    format!("{cluster}/data/{hash:02x}/{:020}", object.0)
}

/// What every object's key begins with.
#[must_use]
pub fn data_prefix(cluster: ClusterId) -> String {
    format!("{cluster}/data/")
}

/// The object whose key this is; `None` for any other key.
#[must_use]
pub fn parse_data_key(cluster: ClusterId, key: &str) -> Option<ObjectId> {
    let digits = key.rsplit('/').next()?;
    let object = ObjectId(digits.parse().ok()?);
    (data_key(cluster, object) == key).then_some(object)
}

/// Key of a slot of a session's WAL: `<cluster>/wal/<node>/<session epoch>/<slot>`, numbers with 20 digits.
#[must_use]
pub fn wal_key(cluster: ClusterId, session: SessionId, slot: u64) -> String {
    format!("{}{slot:020}", wal_prefix(cluster, session))
}

/// What the keys of a session's WAL begin with.
#[must_use]
pub fn wal_prefix(cluster: ClusterId, session: SessionId) -> String {
    format!("{cluster}/wal/{:020}/{:020}/", session.node.0, session.epoch.0)
}

/// Key of an entry of the metadata log.
#[must_use]
pub fn meta_log_key(cluster: ClusterId, index: u64) -> String {
    format!("{cluster}/meta/log/{index:020}")
}

/// Key of a snapshot of the metadata state (P22: `<index>-<nonce>`).
#[must_use]
pub fn meta_snapshot_key(cluster: ClusterId, index: u64, nonce: u64) -> String {
    format!("{cluster}/meta/snapshots/{index:020}-{nonce:016x}")
}

/// Key of the pointer object (P20).
#[must_use]
pub fn meta_pointer_key(cluster: ClusterId) -> String {
    format!("{cluster}/meta/pointer")
}

/// What the keys of all write-ahead logs of a cluster begin with.
#[must_use]
pub fn wal_root(cluster: ClusterId) -> String {
    format!("{cluster}/wal/")
}

/// The session and the slot whose key this is; `None` for any other key.
#[must_use]
pub fn parse_wal_key(cluster: ClusterId, key: &str) -> Option<(SessionId, u64)> {
    let mut parts = key.strip_prefix(&wal_root(cluster))?.split('/').map(str::parse::<u64>);
    let (node, epoch, slot) = (parts.next()?.ok()?, parts.next()?.ok()?, parts.next()?.ok()?);
    let session = SessionId { node: NodeId(node), epoch: SessionEpoch(epoch) };
    (wal_key(cluster, session, slot) == key).then_some((session, slot))
}

/// What the keys of all backups of a cluster begin with, apart from the objects they share.
#[must_use]
pub fn backup_prefix(cluster: ClusterId) -> String {
    format!("{cluster}/backup/")
}

/// Key of the manifest of a backup, by which it exists.
#[must_use]
pub fn backup_manifest_key(cluster: ClusterId, id: &str) -> String {
    format!("{cluster}/backup/{id}/manifest")
}

/// Key of the snapshot of the metadata in a backup.
#[must_use]
pub fn backup_snapshot_key(cluster: ClusterId, id: &str) -> String {
    format!("{cluster}/backup/{id}/snapshot")
}

/// The id of the backup whose manifest has this key; `None` for any other key.
#[must_use]
pub fn parse_manifest_key(cluster: ClusterId, key: &str) -> Option<&str> {
    let id = key.strip_prefix(&backup_prefix(cluster))?.strip_suffix("/manifest")?;
    is_backup_id(id).then_some(id)
}

/// The bytes of the marker object of a node's store.
#[must_use]
pub fn encode_marker(cluster: ClusterId) -> [u8; MARKER_BYTES] {
    encode(&MARKER_MAGIC, cluster)
}

/// The bytes of the marker object of a place of backups. It has the key of the other one, so that no place is both.
#[must_use]
pub fn encode_backup_marker(cluster: ClusterId) -> [u8; MARKER_BYTES] {
    encode(&BACKUP_MARKER_MAGIC, cluster)
}

/// Reads the marker object: which cluster the store prefix belongs to.
///
/// # Errors
/// When it is damaged, of a later version, or that of a place of backups.
pub fn decode_marker(bytes: &[u8]) -> Result<ClusterId, DecodeError> {
    if bytes.starts_with(&BACKUP_MARKER_MAGIC) {
        return Err(DecodeError::new("cluster marker", 0, "backups are kept here, no node's objects"));
    }
    decode(bytes, &MARKER_MAGIC, "cluster marker")
}

/// Reads the marker object of a place of backups: the cluster whose backups they are.
///
/// # Errors
/// When it is damaged, of a later version, or that of a node's store.
pub fn decode_backup_marker(bytes: &[u8]) -> Result<ClusterId, DecodeError> {
    if bytes.starts_with(&MARKER_MAGIC) {
        return Err(DecodeError::new("backup marker", 0, "a node keeps its objects here, no backups"));
    }
    decode(bytes, &BACKUP_MARKER_MAGIC, "backup marker")
}

fn encode(magic: &[u8; 8], cluster: ClusterId) -> [u8; MARKER_BYTES] {
    let mut out = Fixed::new(magic);
    out.u16(MARKER_VERSION);
    out.zeros(6);
    out.bytes(&cluster.0);
    out.zeros(4);
    out.finish(0)
}

fn decode(bytes: &[u8], magic: &[u8; 8], what: &'static str) -> Result<ClusterId, DecodeError> {
    let mut reader = Reader::new(bytes, what);
    if reader.array::<8>()? != *magic {
        return Err(reader.error(format!("not a {what}")));
    }
    reader.version_u16(MARKER_VERSION)?;
    reader.zeros(6)?;
    let cluster = ClusterId(reader.array()?);
    reader.zeros(4)?;
    let summed = &bytes[..reader.at()];
    if reader.u32()? != crc(summed) {
        return Err(reader.error("checksum mismatch"));
    }
    reader.finish()?;
    Ok(cluster)
}
