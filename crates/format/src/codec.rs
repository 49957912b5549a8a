//! Compression of a block's parts: owns the codec byte, guarantees that decompression yields exactly the
//! announced length and never allocates beyond it, never decides when compressing pays.

use std::io::Read;

use crate::wire::DecodeError;

const WHAT: &str = "compressed block";

/// Level of zstd: its default, beyond which speed falls faster than size.
const ZSTD_LEVEL: i32 = 3;

/// Largest window a zstd frame may ask for, as a power of two: no part is larger than 128 MiB.
const ZSTD_WINDOW_LOG_MAX: u32 = 27;

/// LZ4 spends at least one byte per 255 bytes of output, so a larger claim is false.
const LZ4_MAX_RATIO: usize = 255;

/// How much is decompressed before the buffer grows: a false length costs no more than this and what is real.
const FIRST_STEP: usize = 1 << 20;

/// How the parts of a block are stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Codec {
    /// As they are.
    #[default]
    None = 0,
    /// LZ4 block format, without a length prefix.
    Lz4 = 1,
    /// One Zstandard frame.
    Zstd = 2,
}

impl Codec {
    /// The codec with this number.
    ///
    /// # Errors
    /// When there is none.
    pub fn from_byte(byte: u8) -> Result<Codec, DecodeError> {
        match byte {
            0 => Ok(Codec::None),
            1 => Ok(Codec::Lz4),
            2 => Ok(Codec::Zstd),
            other => Err(DecodeError::new("codec", 0, format!("unknown codec {other}, 0 to 2 known"))),
        }
    }

    /// `raw` compressed, when that is smaller.
    pub(crate) fn compress(self, raw: &[u8]) -> Option<Vec<u8>> {
        let stored = match self {
            Codec::None => None,
            Codec::Lz4 => Some(lz4_flex::block::compress(raw)),
            Codec::Zstd => zstd::bulk::compress(raw, ZSTD_LEVEL).ok(),
        };
        stored.filter(|stored| stored.len() < raw.len())
    }

    /// The `raw_len` bytes that `stored` was made of. The caller has checked `raw_len` against its limit.
    pub(crate) fn decompress(self, stored: &[u8], raw_len: usize) -> Result<Vec<u8>, DecodeError> {
        let raw = match self {
            Codec::None => stored.to_vec(),
            Codec::Lz4 => unpack_lz4(stored, raw_len)?,
            Codec::Zstd => unpack_zstd(stored, raw_len).map_err(|error| wrong(error.to_string()))?,
        };
        if raw.len() != raw_len {
            return Err(wrong(format!("{} bytes or more came out, {raw_len} announced", raw.len())));
        }
        Ok(raw)
    }
}

fn unpack_lz4(stored: &[u8], raw_len: usize) -> Result<Vec<u8>, DecodeError> {
    if raw_len / LZ4_MAX_RATIO > stored.len() {
        return Err(wrong(format!("{} bytes of LZ4 cannot hold the announced {raw_len}", stored.len())));
    }
    lz4_flex::block::decompress(stored, raw_len).map_err(|error| wrong(error.to_string()))
}

fn unpack_zstd(stored: &[u8], raw_len: usize) -> std::io::Result<Vec<u8>> {
    let mut decoder = zstd::stream::read::Decoder::with_buffer(stored)?.single_frame();
    decoder.window_log_max(ZSTD_WINDOW_LOG_MAX)?;
    let mut raw = Vec::with_capacity(raw_len.min(FIRST_STEP));
    decoder.by_ref().take(raw_len as u64 + 1).read_to_end(&mut raw)?;
    if !decoder.finish().is_empty() {
        return Err(std::io::Error::other("bytes follow the zstd frame"));
    }
    Ok(raw)
}

fn wrong(detail: String) -> DecodeError {
    DecodeError::new(WHAT, 0, detail)
}
