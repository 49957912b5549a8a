//! Server-sent events as text.
//!
//! Owns the framing of the HTML standard's section 9.2. Guarantees that no byte of a payload can end a line, a field or
//! an event: every line break of a payload, `\n`, `\r` or both, becomes the start of another `data:` line. Never
//! decides when an event is sent.

use base64::Engine as _;

/// A comment, which clients ignore and which keeps intermediaries from closing an idle connection.
pub const HEARTBEAT: &[u8] = b": heartbeat\n\n";

/// Appends an event whose payload is text, or bytes that are taken for text.
pub fn put_event(out: &mut Vec<u8>, name: &str, payload: &[u8]) {
    put_name(out, name);
    let mut rest = payload;
    loop {
        let end = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
        put_line(out, &rest[..end.unwrap_or(rest.len())]);
        let Some(end) = end else { break };
        let both = rest[end] == b'\r' && rest.get(end + 1) == Some(&b'\n');
        rest = &rest[end + 1 + usize::from(both)..];
    }
    out.push(b'\n');
}

/// Appends an event whose payload is bytes in standard base64.
pub fn put_base64_event(out: &mut Vec<u8>, name: &str, payload: &[u8]) {
    put_name(out, name);
    put_line(out, base64::engine::general_purpose::STANDARD.encode(payload).as_bytes());
    out.push(b'\n');
}

fn put_name(out: &mut Vec<u8>, name: &str) {
    out.extend_from_slice(b"event: ");
    out.extend_from_slice(name.as_bytes());
    out.push(b'\n');
}

/// One `data:` line. Receivers drop one space after the colon, so a line that begins with one gets another.
fn put_line(out: &mut Vec<u8>, line: &[u8]) {
    out.extend_from_slice(if line.first() == Some(&b' ') { b"data: " } else { b"data:" });
    out.extend_from_slice(line);
    out.push(b'\n');
}

#[cfg(test)]
mod tests;
