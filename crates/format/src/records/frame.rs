//! The fixed header of a frame: owns its bytes, guarantees that lengths are within the limits before anyone
//! waits or allocates for them.

use bytes::Bytes;

use crate::ids::{Offset, Timestamp};
use crate::limits::{MAX_BATCH_BYTES, MAX_BATCH_META_BYTES, MAX_BLOCK_RECORDS};
use crate::wire::{DecodeError, Reader, crc, put_u32, put_u64};

/// Bytes of a frame's header.
pub const FRAME_HEADER_BYTES: usize = 48;

pub(super) const WHAT: &str = "records frame";

const MAGIC: [u8; 4] = *b"KREC";
const VERSION: u8 = 1;
const WRITE: u8 = 1;
const READ: u8 = 2;
const CHECKSUMS: u8 = 1;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Write,
    Read,
}

#[derive(Clone, Debug)]
pub(super) struct Header {
    pub kind: Kind,
    /// Whether the three checksums are filled in; only a writer may leave them 0.
    pub checksums: bool,
    pub base: Offset,
    pub first_timestamp: Timestamp,
    pub count: u32,
    pub meta_len: u32,
    pub body_len: u32,
    pub meta_crc: u32,
    pub body_crc: u32,
}

impl Header {
    pub fn encode(&self) -> Bytes {
        let mut out = Vec::with_capacity(FRAME_HEADER_BYTES);
        out.extend_from_slice(&MAGIC);
        let kind = match self.kind {
            Kind::Write => WRITE,
            Kind::Read => READ,
        };
        out.extend_from_slice(&[VERSION, kind, if self.checksums { CHECKSUMS } else { 0 }, 0]);
        put_u64(&mut out, self.base.0);
        put_u64(&mut out, self.first_timestamp.0);
        for field in [self.count, self.meta_len, self.body_len, self.meta_crc, self.body_crc] {
            put_u32(&mut out, field);
        }
        let sum = if self.checksums { crc(&out) } else { 0 };
        put_u32(&mut out, sum);
        out.into()
    }

    pub fn decode(bytes: &[u8]) -> Result<Header, DecodeError> {
        let mut reader = Reader::new(bytes, WHAT);
        let whole = reader.clone().take(FRAME_HEADER_BYTES)?;
        if reader.array::<4>()? != MAGIC {
            return Err(reader.error("no frame begins here: its first bytes are KREC"));
        }
        reader.version_u8(VERSION)?;
        let kind = match reader.u8()? {
            WRITE => Kind::Write,
            READ => Kind::Read,
            other => return Err(reader.error(format!("kind {other}, 1 (write) and 2 (read) known"))),
        };
        let checksums = match reader.u8()? {
            0 if kind == Kind::Write => false,
            CHECKSUMS => true,
            other => return Err(reader.error(format!("flags {other:#04x}, 1 (checksums) known"))),
        };
        reader.zeros(1)?;
        let header = Header {
            kind,
            checksums,
            base: Offset(reader.u64()?),
            first_timestamp: Timestamp(reader.u64()?),
            count: reader.u32()?,
            meta_len: reader.u32()?,
            body_len: reader.u32()?,
            meta_crc: reader.u32()?,
            body_crc: reader.u32()?,
        };
        let sum = reader.u32()?;
        let expected = if checksums { crc(&whole[..FRAME_HEADER_BYTES - 4]) } else { 0 };
        if sum != expected || (!checksums && (header.meta_crc, header.body_crc) != (0, 0)) {
            return Err(reader.error("checksum mismatch of the header"));
        }
        header.check_limits().map_err(|detail| reader.error(detail))?;
        Ok(header)
    }

    fn check_limits(&self) -> Result<(), String> {
        if self.count == 0 || self.count as usize > MAX_BLOCK_RECORDS {
            return Err(format!("{} records, 1 to {MAX_BLOCK_RECORDS} allowed", self.count));
        }
        if self.meta_len as usize > MAX_BATCH_META_BYTES || self.body_len as usize > MAX_BATCH_BYTES {
            return Err(format!(
                "{} and {} bytes, at most {MAX_BATCH_META_BYTES} of metadata and {MAX_BATCH_BYTES} of bodies",
                self.meta_len, self.body_len
            ));
        }
        if self.base.0.checked_add(u64::from(self.count)).is_none() {
            return Err(format!("offsets from {} on leave the range", self.base));
        }
        if self.kind == Kind::Write && (self.base, self.first_timestamp) != (Offset::ZERO, Timestamp(0)) {
            return Err("offset or timestamp in a write, where the server assigns them".to_owned());
        }
        Ok(())
    }

    pub fn frame_len(&self) -> usize {
        FRAME_HEADER_BYTES + self.meta_len as usize + self.body_len as usize
    }

    /// Metadata and bodies of the whole frame `bytes`, their checksums verified.
    pub fn parts(&self, bytes: &Bytes) -> Result<(Bytes, Bytes), DecodeError> {
        let mut reader = Reader::of_shared(bytes, WHAT);
        reader.take(FRAME_HEADER_BYTES)?;
        let meta = reader.shared(self.meta_len as usize)?;
        let body = reader.shared(self.body_len as usize)?;
        reader.finish()?;
        if self.checksums && (crc(&meta) != self.meta_crc || crc(&body) != self.body_crc) {
            return Err(reader.error("checksum mismatch of metadata or bodies"));
        }
        Ok((meta, body))
    }
}
