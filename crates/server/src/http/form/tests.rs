//! Which form a reply takes.
#![allow(clippy::unwrap_used)]

use super::*;

#[test]
fn plain_unless_records_are_named() {
    for accept in
        [None, Some("*/*"), Some("text/event-stream"), Some("application/json, text/plain;q=0.5"), Some("")]
    {
        assert_eq!(of_reply(accept, false), Form::Plain, "{accept:?}");
        assert_eq!(of_reply(accept, true), Form::Json, "{accept:?}");
    }
}

#[test]
fn the_better_quality_wins() {
    for (accept, form) in [
        ("application/vnd.kelda.records+json", Form::Json),
        ("Application/Vnd.Kelda.Records", Form::Binary),
        ("application/vnd.kelda.records, application/vnd.kelda.records+json", Form::Binary),
        ("application/vnd.kelda.records;q=0.5, application/vnd.kelda.records+json;q=0.9", Form::Json),
        ("application/vnd.kelda.records; q=0, */*", Form::Plain),
        ("text/plain;q=1, application/vnd.kelda.records;q=0.001", Form::Binary),
        ("application/vnd.kelda.records;q=abc", Form::Binary),
    ] {
        assert_eq!(of_reply(Some(accept), false), form, "{accept}");
    }
    assert_eq!(of_reply(Some("application/vnd.kelda.records"), true), Form::Binary);
}

#[test]
fn bodies_by_content_type() {
    assert_eq!(of_content_type("application/vnd.kelda.records+json; charset=utf-8"), Form::Json);
    assert_eq!(of_content_type("application/vnd.kelda.records"), Form::Binary);
    assert_eq!(of_content_type("application/json"), Form::Plain);
}
