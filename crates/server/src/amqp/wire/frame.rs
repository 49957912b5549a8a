//! Frames.
//!
//! Owns where one ends in what was received. Guarantees that a frame larger than agreed is refused before it is waited for.

use bytes::{BufMut, Bytes, BytesMut};

/// What ends a frame.
pub const FRAME_END: u8 = 0xce;
/// Bytes before the payload.
const HEAD: usize = 7;
/// Bytes that every method has.
const METHOD_NUMBERS: usize = 4;
/// Bytes that every content header has.
const HEADER_START: usize = 14;

/// What a frame carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameKind {
    /// A method.
    Method = 1,
    /// The properties of a content.
    Header = 2,
    /// Bytes of a content.
    Body = 3,
    /// A sign of life.
    Heartbeat = 8,
}

/// One frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// What it carries.
    pub kind: FrameKind,
    /// Of which channel.
    pub channel: u16,
    /// What is between head and end.
    pub payload: Bytes,
}

/// Bytes that are no frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FrameFault {
    /// The type is none, or what it carries cannot be of its type.
    Unknown(u8, Bytes),
    /// More bytes than agreed: how many it has, how many are allowed.
    TooLarge(u8, usize, usize),
    /// It does not end where it says.
    End(u8, Bytes, u8),
}

/// Takes the first frame off `buffer`, if it is there whole. `max` is the agreed size of frames.
pub fn take_frame(buffer: &mut BytesMut, max: usize) -> Result<Option<Frame>, FrameFault> {
    let Some(head) = buffer.first_chunk::<HEAD>() else { return Ok(None) };
    let [octet, c1, c2, size @ ..] = *head;
    let size = u32::from_be_bytes(size) as usize;
    // Clients that forget the bytes around the payload are let through, as RabbitMQ does.
    if size > max {
        return Err(FrameFault::TooLarge(octet, size, max.saturating_sub(HEAD + 1)));
    }
    if buffer.len() < HEAD + size + 1 {
        buffer.reserve(HEAD + size + 1 - buffer.len());
        return Ok(None);
    }
    let mut whole = buffer.split_to(HEAD + size + 1).freeze();
    let end = whole[HEAD + size];
    let payload = whole.split_off(HEAD).slice(..size);
    if end != FRAME_END {
        return Err(FrameFault::End(octet, payload, end));
    }
    let kind = match octet {
        1 if size >= METHOD_NUMBERS => FrameKind::Method,
        2 if size >= HEADER_START => FrameKind::Header,
        3 => FrameKind::Body,
        8 if size == 0 => FrameKind::Heartbeat,
        other => return Err(FrameFault::Unknown(other, payload)),
    };
    Ok(Some(Frame { kind, channel: u16::from_be_bytes([c1, c2]), payload }))
}

/// Appends a frame whose payload `put` appends.
pub fn put_frame(out: &mut BytesMut, kind: FrameKind, channel: u16, put: impl FnOnce(&mut BytesMut)) {
    out.put_u8(kind as u8);
    out.put_u16(channel);
    let at = out.len();
    out.put_u32(0);
    put(out);
    let size = u32::try_from(out.len() - at - 4).unwrap_or(u32::MAX);
    out[at..at + 4].copy_from_slice(&size.to_be_bytes());
    out.put_u8(FRAME_END);
}
