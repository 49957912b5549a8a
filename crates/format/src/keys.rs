//! Where things are in the object store: owns every key, guarantees that all but the marker begin with the
//! cluster id, never touches the store.

use crate::ids::{ClusterId, ObjectId, SessionId};
use crate::wire::{DecodeError, Fixed, Reader, crc};

/// Key of the marker object: claims a store prefix for one cluster, by create-if-absent.
pub const MARKER_KEY: &str = "kelda-cluster";

/// Bytes of the marker object.
pub const MARKER_BYTES: usize = 40;

const MARKER_MAGIC: [u8; 8] = *b"KELDACLU";
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

/// The bytes of the marker object.
#[must_use]
pub fn encode_marker(cluster: ClusterId) -> [u8; MARKER_BYTES] {
    let mut out = Fixed::new(&MARKER_MAGIC);
    out.u16(MARKER_VERSION);
    out.zeros(6);
    out.bytes(&cluster.0);
    out.zeros(4);
    out.finish(0)
}

/// Reads the marker object: which cluster the store prefix belongs to.
///
/// # Errors
/// When it is damaged or of a later version.
pub fn decode_marker(bytes: &[u8]) -> Result<ClusterId, DecodeError> {
    let mut reader = Reader::new(bytes, "cluster marker");
    if reader.array::<8>()? != MARKER_MAGIC {
        return Err(reader.error("not a cluster marker"));
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
