//! Counting what a reply holds while it comes: owns the place in a sequence of read frames, guarantees that frames follow
//! each other without a gap in their offsets; never looks at metadata or bodies, so it costs 48 bytes a frame.

use super::frame::{FRAME_HEADER_BYTES, Header, Kind, WHAT};
use crate::ids::Offset;
use crate::wire::DecodeError;

/// Walks the frames of a read that arrives in pieces of any size.
#[derive(Clone, Debug, Default)]
pub struct FrameWalk {
    /// The part of a header that came, when one is cut.
    begun: Vec<u8>,
    /// Bytes of the current frame that are still to come.
    left: usize,
    next: Option<Offset>,
    records: u64,
    body_bytes: u64,
}

impl FrameWalk {
    /// Goes on over the bytes that came next.
    ///
    /// # Errors
    /// When no frame of a read begins where one has to, or it does not follow the one before.
    pub fn feed(&mut self, mut bytes: &[u8]) -> Result<(), DecodeError> {
        loop {
            let skipped = self.left.min(bytes.len());
            self.left -= skipped;
            bytes = &bytes[skipped..];
            if bytes.is_empty() {
                return Ok(());
            }
            let taken = (FRAME_HEADER_BYTES - self.begun.len()).min(bytes.len());
            self.begun.extend_from_slice(&bytes[..taken]);
            bytes = &bytes[taken..];
            if self.begun.len() == FRAME_HEADER_BYTES {
                self.header()?;
            }
        }
    }

    fn header(&mut self) -> Result<(), DecodeError> {
        let header = Header::decode(&self.begun)?;
        if header.kind != Kind::Read {
            return Err(DecodeError::new(WHAT, 5, "frame of a write where one of a read should be"));
        }
        if let Some(next) = self.next
            && next != header.base
        {
            let detail = format!("frame at offset {}, where {next} follows", header.base);
            return Err(DecodeError::new(WHAT, 8, detail));
        }
        self.next = Some(header.base.plus(u64::from(header.count)));
        self.records += u64::from(header.count);
        self.body_bytes += u64::from(header.body_len);
        self.left = header.frame_len() - FRAME_HEADER_BYTES;
        self.begun.clear();
        Ok(())
    }

    /// Whether the last frame came whole.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.left == 0 && self.begun.is_empty()
    }

    /// Records of all frames that began.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Bytes of all bodies of all frames that began.
    #[must_use]
    pub fn body_bytes(&self) -> u64 {
        self.body_bytes
    }
}
