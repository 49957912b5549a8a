//! The shape of a problem.
#![allow(clippy::unwrap_used)]

use kelda_format::ids::{Offset, StreamId};

use super::*;

#[test]
fn facts_go_to_body_and_headers() {
    let refusal = Refusal::new(Problem::Sealed, "the stream is sealed")
        .with("next_offset", Fact::Offset(Offset(7)))
        .with("stream_id", Fact::Stream(StreamId(3)))
        .with("expected_seq", Fact::Number(2));
    let json = refusal.json();
    assert_eq!(json["type"], "urn:kelda:problem:sealed");
    assert_eq!(json["status"], 409);
    assert_eq!(json["detail"], "the stream is sealed");
    assert_eq!(json["next_offset"], "00000000000000000007");
    assert_eq!(json["stream_id"], "3");
    let response = refusal.into_response();
    assert_eq!(response.status(), 409);
    let header = |name: HeaderName| response.headers()[name].to_str().unwrap().to_owned();
    assert_eq!(header(fields::STREAM_NEXT_OFFSET), "00000000000000000007");
    assert_eq!(header(fields::STREAM_CLOSED), "true");
    assert_eq!(header(fields::PRODUCER_EXPECTED_SEQ), "2");
    assert_eq!(header(header::CONTENT_TYPE), PROBLEM_JSON);
    assert!(!response.headers().contains_key(fields::RETRY_AFTER));
}

#[test]
fn what_may_be_repeated_says_when() {
    for problem in Problem::ALL {
        let response = Refusal::new(*problem, "x").into_response();
        assert_eq!(
            response.headers().contains_key(fields::RETRY_AFTER),
            problem.is_transient(),
            "{problem:?}"
        );
    }
}
