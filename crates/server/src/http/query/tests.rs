//! What a query may say, and how it is refused.
#![allow(clippy::unwrap_used)]

use kelda_format::ids::{Offset, Timestamp};
use proptest::prelude::*;

use super::*;

fn read(query: &str) -> Result<ReadQuery, QueryError> {
    ReadQuery::new(&Parameters::parse(Some(query))?)
}

#[test]
fn every_start() {
    for (query, start) in [
        ("offset=-1", Start::First),
        ("offset=now", Start::Next),
        ("offset=7", Start::Offset(Offset(7))),
        ("offset=0000000000000000_0000000000000007", Start::Offset(Offset(7))),
        ("from=first", Start::First),
        ("from=last", Start::Last),
        ("from=next", Start::Next),
        ("from=1h", Start::Ago(3_600_000)),
        ("from=2026-01-31T12:00:00Z", Start::Time(Timestamp(1_769_860_800_000))),
        ("from=2026-01-31T13:00:00+01:00", Start::Time(Timestamp(1_769_860_800_000))),
        ("from=2026-01-31T13%3A00%3A00%2B01%3A00", Start::Time(Timestamp(1_769_860_800_000))),
        ("tail=10", Start::Tail(10)),
        ("tail=0", Start::Tail(0)),
    ] {
        assert_eq!(read(query).unwrap().start, Some(start), "{query}");
    }
    assert_eq!(read("").unwrap(), ReadQuery::default());
}

#[test]
fn every_end_and_form() {
    let query = read("from=first&until=12&count=3&bytes=100&live=sse&cursor=5&as=records").unwrap();
    assert_eq!(query.until, Some(Until::Offset(Offset(12))));
    assert_eq!((query.count, query.bytes, query.cursor), (Some(3), Some(100), Some(5)));
    assert_eq!((query.live, query.as_records), (Some(Live::Sse), true));
    let query = read("offset=0&until=2026-01-31T12:00:00Z&live=long-poll").unwrap();
    assert_eq!(query.until, Some(Until::Time(Timestamp(1_769_860_800_000))));
    assert_eq!(query.live, Some(Live::LongPoll));
}

#[test]
fn wrong_values_of_known_parameters_are_refused_by_name() {
    for (query, name) in [
        ("offset=", "offset"),
        ("offset", "offset"),
        ("offset=a", "offset"),
        ("offset=-2", "offset"),
        ("offset=0,1", "offset"),
        ("offset=0%201", "offset"),
        ("offset=1&offset=2", "offset"),
        ("offset=1&offset=1", "offset"),
        ("offset=99999999999999999999", "offset"),
        ("offset=%00", "offset"),
        ("offset=%ff", "offset"),
        ("from=", "from"),
        ("from=0", "from"),
        ("from=-1h", "from"),
        ("from=yesterday", "from"),
        ("tail=-1", "tail"),
        ("tail=+1", "tail"),
        ("tail=99999999999999999999", "tail"),
        ("until=", "until"),
        ("until=now", "until"),
        ("until=1h", "until"),
        ("count=0", "count"),
        ("count=1.5", "count"),
        ("bytes=0", "bytes"),
        ("bytes=x", "bytes"),
        ("live=poll&offset=0", "live"),
        ("live=&offset=0", "live"),
        ("cursor=abc", "cursor"),
        ("as=json", "as"),
        ("offset=0&from=first", "from"),
        ("offset=0&tail=1", "tail"),
        ("from=1h&tail=1", "tail"),
        ("live=sse", "offset"),
        ("live=long-poll", "offset"),
    ] {
        assert_eq!(read(query).unwrap_err().name, name, "{query}");
    }
}

#[test]
fn unknown_parameters_are_ignored() {
    let query = read("offset=-1&foo=bar&baz&=&foo=again&%26=%3D").unwrap();
    assert_eq!(query, ReadQuery { start: Some(Start::First), ..ReadQuery::default() });
}

#[test]
fn too_many_parameters_are_refused() {
    assert!(read(&"a=b&".repeat(64)).is_ok());
    assert!(read(&"a=b&".repeat(65)).is_err());
}

#[test]
fn listings() {
    let parse = |query: &str| ListQuery::new(&Parameters::parse(Some(query)).unwrap());
    assert_eq!(
        parse("").unwrap(),
        ListQuery { prefix: String::new(), start_after: None, limit: list::DEFAULT_LIMIT }
    );
    let all = parse("prefix=logs/&start_after=logs/a%2Fb&limit=2").unwrap();
    assert_eq!(all, ListQuery { prefix: "logs/".into(), start_after: Some("logs/a/b".into()), limit: 2 });
    assert_eq!(parse("prefix=").unwrap().prefix, "", "an empty prefix is every name");
    for query in ["limit=0", "limit=1001", "limit=-1", "limit=", "limit=x", "prefix=a&prefix=b"] {
        assert!(parse(query).is_err(), "{query}");
    }
}

proptest! {
    #[test]
    fn nothing_panics(query in ".*") {
        let _ = read(&query);
    }
}
