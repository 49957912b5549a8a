//! Names of queues as names of streams.
//!
//! Owns the escaping: `%XX` for what a stream's name may not hold, and for `%` itself, so that reading it back gives the name
//! of the queue. Guarantees so that no two names of queues meet in one stream, whichever virtual hosts they are in. Pure.

use kelda_format::StreamName;

/// What the names of streams in other virtual hosts than `/` begin with.
const VHOSTS: &str = "__vhost/";

/// The stream of a queue; nothing when its name would be longer than a stream's may.
pub fn stream(vhost: &[u8], queue: &[u8]) -> Option<StreamName> {
    let mut name = String::with_capacity(queue.len());
    if vhost != b"/" {
        name.push_str(VHOSTS);
        put_segment(&mut name, vhost);
        name.push('/');
    }
    let between =
        |at: usize| at > 0 && queue[at - 1] != b'/' && queue.get(at + 1).is_some_and(|b| *b != b'/');
    let mut start = 0;
    for at in (0..queue.len()).filter(|at| queue[*at] == b'/' && between(*at)) {
        put_segment(&mut name, &queue[start..at]);
        name.push('/');
        start = at + 1;
    }
    put_segment(&mut name, &queue[start..]);
    // Only the first segment makes a name a reserved one; escaping all of them keeps the rule simple.
    StreamName::parse(&name).ok()
}

fn put_segment(out: &mut String, segment: &[u8]) {
    let rest = match segment {
        b"." | b".." => {
            segment.iter().for_each(|byte| put_hex(out, *byte));
            return;
        }
        [b'_', b'_', ..] => {
            put_hex(out, b'_');
            &segment[1..]
        }
        whole => whole,
    };
    for chunk in rest.utf8_chunks() {
        for char in chunk.valid().chars() {
            if matches!(char, '%' | '/') || char.is_control() {
                char.encode_utf8(&mut [0; 4]).bytes().for_each(|byte| put_hex(out, byte));
            } else {
                out.push(char);
            }
        }
        chunk.invalid().iter().for_each(|byte| put_hex(out, *byte));
    }
}

fn put_hex(out: &mut String, byte: u8) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    out.push('%');
    out.push(char::from(DIGITS[usize::from(byte >> 4)]));
    out.push(char::from(DIGITS[usize::from(byte & 15)]));
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_name_is_escaped_where_a_stream_may_not_have_it() {
        for (queue, name) in [
            ("orders", "orders"),
            ("a/b", "a/b"),
            ("a//b", "a%2F%2Fb"),
            ("/a", "%2Fa"),
            ("a/", "a%2F"),
            ("..", "%2E%2E"),
            ("../up", "%2E%2E/up"),
            ("100%", "100%25"),
            ("__x", "%5F_x"),
            ("a\nb", "a%0Ab"),
            ("grün #1", "grün #1"),
        ] {
            assert_eq!(stream(b"/", queue.as_bytes()).unwrap().as_str(), name);
        }
        assert_eq!(stream(b"/", b"\xff").unwrap().as_str(), "%FF");
        assert_eq!(stream(b"a/b", b"q").unwrap().as_str(), "__vhost/a%2Fb/q");
        assert!(!stream(b"/", b"__x").unwrap().is_reserved());
    }

    proptest::proptest! {
        #[test]
        fn every_name_has_a_stream_and_comes_back(queue in proptest::collection::vec(
            proptest::prop_oneof![proptest::sample::select(b"/.%_a".to_vec()), proptest::num::u8::ANY], 1..=255))
        {
            let name = stream(b"/", &queue).unwrap();
            let back: Vec<u8> = percent_encoding::percent_decode_str(name.as_str()).collect();
            proptest::prop_assert_eq!(back, queue);
        }
    }
}
