//! Frames of AMQP 0-9-1 as a measurement needs them: owns how methods and messages are written and found again. Guarantees that
//! a frame is taken whole or not at all. Never reads what it does not need.

use bytes::{Buf, BufMut, BytesMut};

/// The number of a method: class and method.
pub(super) type Id = (u16, u16);

pub(super) const START: Id = (10, 10);
pub(super) const START_OK: Id = (10, 11);
pub(super) const TUNE: Id = (10, 30);
pub(super) const TUNE_OK: Id = (10, 31);
pub(super) const OPEN: Id = (10, 40);
pub(super) const OPEN_OK: Id = (10, 41);
pub(super) const CLOSE: Id = (10, 50);
pub(super) const CLOSE_OK: Id = (10, 51);
pub(super) const CHANNEL_OPEN: Id = (20, 10);
pub(super) const CHANNEL_OPEN_OK: Id = (20, 11);
pub(super) const CHANNEL_CLOSE: Id = (20, 40);
pub(super) const DECLARE: Id = (50, 10);
pub(super) const DECLARE_OK: Id = (50, 11);
pub(super) const DELETE: Id = (50, 40);
pub(super) const DELETE_OK: Id = (50, 41);
pub(super) const QOS: Id = (60, 10);
pub(super) const QOS_OK: Id = (60, 11);
pub(super) const CONSUME: Id = (60, 20);
pub(super) const CONSUME_OK: Id = (60, 21);
pub(super) const PUBLISH: Id = (60, 40);
pub(super) const ACK: Id = (60, 80);
pub(super) const NACK: Id = (60, 120);
pub(super) const CONFIRM: Id = (85, 10);
pub(super) const CONFIRM_OK: Id = (85, 11);

pub(super) const PROTOCOL: &[u8] = b"AMQP\0\0\x09\x01";

const METHOD: u8 = 1;
const HEADER: u8 = 2;
const BODY: u8 = 3;
const END: u8 = 0xCE;
/// Type, channel and length before a payload.
const HEAD_BYTES: usize = 7;
/// Property flags of a content header whose only property is the delivery mode.
const DELIVERY_MODE: u16 = 1 << 12;
const PERSISTENT: u8 = 2;

/// What came in one frame.
pub(super) enum Frame {
    /// A method with its arguments.
    Method(Id, BytesMut),
    /// A part of a body.
    Body(BytesMut),
    /// A content header or a heartbeat.
    Other,
}

/// The next frame, when it is there whole.
pub(super) fn take(input: &mut BytesMut) -> Result<Option<Frame>, String> {
    if input.len() < HEAD_BYTES {
        return Ok(None);
    }
    let kind = input[0];
    let length = u32::from_be_bytes([input[3], input[4], input[5], input[6]]) as usize;
    if input.len() < HEAD_BYTES + length + 1 {
        return Ok(None);
    }
    let mut frame = input.split_to(HEAD_BYTES + length + 1);
    if frame[HEAD_BYTES + length] != END {
        return Err(format!("a frame of type {kind} does not end where it says"));
    }
    frame.truncate(HEAD_BYTES + length);
    frame.advance(HEAD_BYTES);
    Ok(Some(match kind {
        METHOD if length >= 4 => {
            let id = (frame.get_u16(), frame.get_u16());
            Frame::Method(id, frame)
        }
        BODY => Frame::Body(frame),
        _ => Frame::Other,
    }))
}

/// Writes a method; `arguments` writes what comes after its number.
pub(super) fn put_method(
    out: &mut BytesMut,
    channel: u16,
    (class, method): Id,
    arguments: impl FnOnce(&mut BytesMut),
) {
    put_frame(out, METHOD, channel, |out| {
        out.put_u16(class);
        out.put_u16(method);
        arguments(out);
    });
}

/// Writes a persistent message to the default exchange, in bodies of at most `most` bytes.
pub(super) fn put_message(out: &mut BytesMut, queue: &str, body: &[u8], most: usize) {
    put_method(out, 1, PUBLISH, |out| {
        out.put_u16(0);
        put_short(out, "");
        put_short(out, queue);
        out.put_u8(0);
    });
    put_frame(out, HEADER, 1, |out| {
        out.put_u16(PUBLISH.0);
        out.put_u16(0);
        out.put_u64(body.len() as u64);
        out.put_u16(DELIVERY_MODE);
        out.put_u8(PERSISTENT);
    });
    for part in body.chunks(most) {
        put_frame(out, BODY, 1, |out| out.put_slice(part));
    }
}

fn put_frame(out: &mut BytesMut, kind: u8, channel: u16, payload: impl FnOnce(&mut BytesMut)) {
    let at = out.len();
    out.put_u8(kind);
    out.put_u16(channel);
    out.put_u32(0);
    payload(out);
    let length = (out.len() - at - HEAD_BYTES) as u32;
    out[at + 3..at + HEAD_BYTES].copy_from_slice(&length.to_be_bytes());
    out.put_u8(END);
}

/// A text of at most 255 bytes, cut there.
pub(super) fn put_short(out: &mut BytesMut, text: &str) {
    let bytes = &text.as_bytes()[..text.len().min(255)];
    out.put_u8(bytes.len() as u8);
    out.put_slice(bytes);
}

/// A text of any length.
pub(super) fn put_long(out: &mut BytesMut, text: &str) {
    out.put_u32(text.len() as u32);
    out.put_slice(text.as_bytes());
}

/// A table with one text, or none.
pub(super) fn put_table(out: &mut BytesMut, entry: Option<(&str, &str)>) {
    let at = out.len();
    out.put_u32(0);
    if let Some((name, value)) = entry {
        put_short(out, name);
        out.put_u8(b'S');
        put_long(out, value);
    }
    let length = (out.len() - at - 4) as u32;
    out[at..at + 4].copy_from_slice(&length.to_be_bytes());
}

/// The tag and the flag of an acknowledgement.
pub(super) fn acknowledged(mut arguments: BytesMut) -> Option<(u64, bool)> {
    (arguments.len() >= 9).then(|| (arguments.get_u64(), arguments.get_u8() & 1 == 1))
}

/// The code and the text of a close.
pub(super) fn reason(mut arguments: BytesMut) -> String {
    if arguments.len() < 3 {
        return "no reason".to_owned();
    }
    let (code, length) = (arguments.get_u16(), usize::from(arguments.get_u8()));
    let text = &arguments[..length.min(arguments.len())];
    format!("{code} {}", String::from_utf8_lossy(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_found_again_and_only_when_it_is_whole() {
        let mut out = BytesMut::new();
        put_message(&mut out, "q", &[7; 25], 10);
        let whole = out.clone();
        for length in 0..whole.len() {
            let mut part = BytesMut::from(&whole[..length]);
            while let Some(frame) = take(&mut part).unwrap() {
                drop(frame);
            }
            assert!(length == 0 || part.len() < whole.len());
        }
        assert!(matches!(take(&mut out).unwrap(), Some(Frame::Method(PUBLISH, _))));
        assert!(matches!(take(&mut out).unwrap(), Some(Frame::Other)));
        let mut lengths = Vec::new();
        while let Some(Frame::Body(part)) = take(&mut out).unwrap() {
            lengths.push(part.len());
        }
        assert_eq!((lengths, out.len()), (vec![10, 10, 5], 0));
    }

    #[test]
    fn a_frame_without_its_end_is_refused() {
        let mut out = BytesMut::new();
        put_method(&mut out, 0, OPEN, |out| put_short(out, "/"));
        let last = out.len() - 1;
        out[last] = 0;
        assert!(take(&mut out).is_err());
    }

    #[test]
    fn acknowledgements_and_reasons_are_read() {
        let mut out = BytesMut::new();
        out.put_u64(300);
        out.put_u8(1);
        assert_eq!(acknowledged(out), Some((300, true)));
        let mut out = BytesMut::new();
        out.put_u16(404);
        put_short(&mut out, "NOT_FOUND");
        assert_eq!(reason(out), "404 NOT_FOUND");
        assert_eq!((acknowledged(BytesMut::new()), reason(BytesMut::new())), (None, "no reason".to_owned()));
    }
}
