//! What a stream name may be.

use kelda_format::{NameError, StreamName};

#[test]
fn paths_are_names() {
    for name in ["a", "logs/api/prod", "größe/数", "...", "a/.b", "__vhost/x", &"x".repeat(1024), "a b", " "]
    {
        assert_eq!(StreamName::parse(name).unwrap().as_str(), name);
    }
}

#[test]
fn what_paths_give_another_meaning_is_refused() {
    let parse = |name: &str| StreamName::parse(name).unwrap_err();
    assert_eq!(parse(""), NameError::Empty);
    assert_eq!(parse(&"x".repeat(1025)), NameError::TooLong { bytes: 1025 });
    assert_eq!(parse(&"ö".repeat(513)), NameError::TooLong { bytes: 1026 });
    for name in ["/", "/a", "a/", "a//b"] {
        assert_eq!(parse(name), NameError::EmptySegment { name: name.to_owned() });
    }
    for (name, segment) in [(".", "."), ("..", ".."), ("a/../b", ".."), ("a/.", ".")] {
        let (name, segment) = (name.to_owned(), segment.to_owned());
        assert_eq!(parse(&name), NameError::DotSegment { name, segment });
    }
    for (name, at, code) in [("a\0", 1, 0), ("\n", 0, 10), ("ab\u{7f}", 2, 0x7f), ("ö\u{85}", 2, 0x85)] {
        assert_eq!(parse(name), NameError::Control { name: name.to_owned(), at, code });
    }
}

#[test]
fn reserved_names_are_told_by_their_first_segment() {
    for (name, reserved) in [("__ds", true), ("__", true), ("__a/b", true), ("a/__b", false), ("_a", false)] {
        assert_eq!(StreamName::parse(name).unwrap().is_reserved(), reserved, "{name}");
    }
}

#[test]
fn names_order_by_bytes() {
    let mut names = ["b", "a/b", "a", "a-b", "Z"].map(|name| StreamName::parse(name).unwrap());
    names.sort();
    assert_eq!(names.each_ref().map(StreamName::as_str), ["Z", "a", "a-b", "a/b", "b"]);
}
