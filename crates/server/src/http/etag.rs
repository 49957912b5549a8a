//! Entity tags of catch-up reads.
//!
//! Owns what a tag is made of: the stream's identity, the range, the form, and whether the end is reached. Guarantees
//! that two replies with one tag have the same bytes and say the same about the end. Never weak: a tag names bytes.

use kelda_format::ids::{Offset, StreamId};

use super::form::Form;

/// The tag of a reply that carries the records `start..end`.
#[must_use]
pub fn tag(stream: StreamId, start: Offset, end: Offset, form: Form, closed: bool) -> String {
    let end_reached = if closed { ":c" } else { "" };
    format!("\"{stream}:{start}:{end}:{}{end_reached}\"", form.letter())
}

/// Whether an `If-None-Match` value names the tag, compared weakly as RFC 9110 section 13.1.2 asks.
#[must_use]
pub fn matches(if_none_match: &str, tag: &str) -> bool {
    if_none_match
        .split(',')
        .map(str::trim)
        .any(|one| one == "*" || one.strip_prefix("W/").unwrap_or(one) == tag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_differ_by_everything_that_differs() {
        let one = tag(StreamId(3), Offset(0), Offset(9), Form::Plain, false);
        assert_eq!(one, "\"3:0:9:p\"");
        for other in [
            tag(StreamId(4), Offset(0), Offset(9), Form::Plain, false),
            tag(StreamId(3), Offset(1), Offset(9), Form::Plain, false),
            tag(StreamId(3), Offset(0), Offset(8), Form::Plain, false),
            tag(StreamId(3), Offset(0), Offset(9), Form::Json, false),
            tag(StreamId(3), Offset(0), Offset(9), Form::Plain, true),
        ] {
            assert_ne!(one, other);
        }
    }

    #[test]
    fn lists_weak_tags_and_the_star_match() {
        assert!(matches("\"a\"", "\"a\""));
        assert!(matches("\"x\", W/\"a\"", "\"a\""));
        assert!(matches("*", "\"a\""));
        assert!(!matches("\"wrong\"", "\"a\""));
        assert!(!matches("a", "\"a\""));
    }
}
