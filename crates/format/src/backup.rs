//! The manifest of a backup: owns its layout. Guarantees that what decodes was written whole and names its cluster. Never
//! holds a record or a row: those are in the objects and in the snapshot beside it.

use bytes::Bytes;

use crate::wire::{Reader, Wire, crc, last_four, put_u16, put_u32, wire_struct};
use crate::{ClusterId, DecodeError, ObjectId, Timestamp};

/// The first bytes of every manifest.
pub const MANIFEST_MAGIC: [u8; 8] = *b"KELDABKP";

/// The version that is written, and the only one that is known.
pub const MANIFEST_VERSION: u16 = 1;

/// Bytes of the header, which ends with its own checksum.
pub const MANIFEST_HEADER_BYTES: usize = 44;

/// The longest id of a backup in bytes.
pub const MAX_BACKUP_ID_BYTES: usize = 64;

const WHAT: &str = "backup manifest";

wire_struct! {
    /// What one backup is. It is written last, so that a backup without one is none.
    pub struct Manifest {
        /// Its id, which its keys hold too.
        pub id: String,
        /// When the state was taken.
        pub at: Timestamp,
        /// The version of the software that took it.
        pub software: String,
        /// The index of the last metadata log entry in it.
        pub applied: u64,
        /// Bytes of the snapshot of the metadata.
        pub snapshot_bytes: u64,
        /// CRC-32C of the snapshot.
        pub snapshot_crc: u32,
        /// How many objects it needs.
        pub objects: u64,
        /// Their bytes.
        pub object_bytes: u64,
        /// How many streams are in it.
        pub streams: u64,
        /// How many records of theirs are in objects.
        pub records: u64,
        /// Objects that streams are read from and that were missing where it was taken.
        pub missing: Vec<ObjectId>,
        /// Objects that were damaged where it was taken, and are in it as they were.
        pub damaged: Vec<ObjectId>,
    }
}

impl Manifest {
    /// The bytes of the manifest object.
    ///
    /// # Panics
    /// When it takes 4 GiB or more.
    #[must_use]
    pub fn encode(&self, cluster: ClusterId) -> Bytes {
        let body = self.encoded();
        let mut out = Vec::with_capacity(MANIFEST_HEADER_BYTES + body.len());
        out.extend_from_slice(&MANIFEST_MAGIC);
        put_u16(&mut out, MANIFEST_VERSION);
        out.extend_from_slice(&[0; 6]);
        out.extend_from_slice(&cluster.0);
        put_u32(&mut out, u32::try_from(body.len()).expect("a manifest is below 4 GiB"));
        put_u32(&mut out, crc(&body));
        let header_crc = crc(&out);
        put_u32(&mut out, header_crc);
        out.extend_from_slice(&body);
        Bytes::from(out)
    }

    /// Reads a manifest and the cluster that it is of.
    ///
    /// # Errors
    /// When the bytes are not exactly one manifest of a known version with the right checksums.
    pub fn decode(bytes: &[u8]) -> Result<(ClusterId, Manifest), DecodeError> {
        let mut reader = Reader::new(bytes, WHAT);
        let mut header = Reader::new(reader.take(MANIFEST_HEADER_BYTES)?, WHAT);
        if header.array()? != MANIFEST_MAGIC {
            return Err(header.error("it does not begin with KELDABKP"));
        }
        header.version_u16(MANIFEST_VERSION)?;
        let stored = u32::from_le_bytes(last_four(&bytes[..MANIFEST_HEADER_BYTES]));
        let found = crc(&bytes[..MANIFEST_HEADER_BYTES - 4]);
        if stored != found {
            return Err(header.error(format!("header checksum {stored:08x} stored, {found:08x} computed")));
        }
        header.zeros(6)?;
        let cluster = ClusterId(header.array()?);
        let (body_bytes, body_crc) = (header.u32()? as usize, header.u32()?);
        if body_bytes != reader.remaining() {
            let detail = format!("{body_bytes} bytes announced, {} follow", reader.remaining());
            return Err(reader.error(detail));
        }
        let found = crc(&bytes[MANIFEST_HEADER_BYTES..]);
        if body_crc != found {
            return Err(reader.error(format!("body checksum {body_crc:08x} stored, {found:08x} computed")));
        }
        let manifest = Manifest::get(&mut reader)?;
        reader.finish()?;
        if !is_backup_id(&manifest.id) {
            return Err(DecodeError::new(WHAT, 0, format!("{:?} is no id of a backup", manifest.id)));
        }
        Ok((cluster, manifest))
    }
}

/// Whether a text can be the id of a backup: 1 to 64 ASCII letters, digits and `-`, so that it can be part of a key.
#[must_use]
pub fn is_backup_id(text: &str) -> bool {
    (1..=MAX_BACKUP_ID_BYTES).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}
