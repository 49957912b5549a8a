//! Payloads stay payloads.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::*;

/// What a receiver makes of a text: event names and payloads, as the HTML standard says.
fn receive(text: &[u8]) -> Vec<(String, Vec<u8>)> {
    let text = text.to_vec();
    let mut lines: Vec<Vec<u8>> = vec![Vec::new()];
    let mut at = 0;
    while at < text.len() {
        match text[at] {
            b'\r' | b'\n' => {
                if text[at] == b'\r' && text.get(at + 1) == Some(&b'\n') {
                    at += 1;
                }
                lines.push(Vec::new());
            }
            byte => lines.last_mut().unwrap().push(byte),
        }
        at += 1;
    }
    let (mut events, mut name, mut data) = (Vec::new(), String::new(), Vec::<Vec<u8>>::new());
    for line in lines {
        if line.is_empty() {
            if !data.is_empty() {
                events.push((std::mem::take(&mut name), data.join(&b'\n')));
                data.clear();
            }
            continue;
        }
        let colon = line.iter().position(|b| *b == b':').unwrap_or(line.len());
        let value = line.get(colon + 1..).unwrap_or_default();
        let value = value.strip_prefix(b" ").unwrap_or(value).to_vec();
        match &line[..colon] {
            b"event" => name = String::from_utf8(value).unwrap(),
            b"data" => data.push(value),
            _ => {}
        }
    }
    events
}

#[test]
fn as_the_public_suite_spells_it() {
    let mut out = Vec::new();
    put_event(&mut out, "data", b"line1\nline2");
    put_event(&mut out, "control", b"{}");
    put_base64_event(&mut out, "data", b"Hello");
    out.extend_from_slice(HEARTBEAT);
    let text = String::from_utf8(out).unwrap();
    assert_eq!(
        text,
        "event: data\ndata:line1\ndata:line2\n\nevent: control\ndata:{}\n\nevent: data\ndata:SGVsbG8=\n\n: heartbeat\n\n"
    );
}

#[test]
fn no_payload_injects_an_event() {
    for attack in [
        "safe\r\n\r\nevent: control\r\ndata: {\"injected\":true}\r\n\r\nmore",
        "start\n\nevent: data\ndata: fake\n\nend",
        "start\r\revent: control\rdata: {}\r\rend",
        " leading space",
        "",
        "\n",
        "trailing\n",
    ] {
        let mut out = Vec::new();
        put_event(&mut out, "data", attack.as_bytes());
        let events = receive(&out);
        let meant = attack.replace("\r\n", "\n").replace('\r', "\n");
        assert_eq!(events, [("data".to_owned(), meant.into_bytes())], "{attack:?}");
    }
}

proptest! {
    #[test]
    fn any_bytes_are_one_event(payload: Vec<u8>) {
        let mut out = Vec::new();
        put_event(&mut out, "data", &payload);
        put_base64_event(&mut out, "data", &payload);
        let events = receive(&out);
        prop_assert_eq!(events.len(), 2);
        prop_assert_eq!(base64::engine::general_purpose::STANDARD.decode(&events[1].1).unwrap(), payload);
    }
}
