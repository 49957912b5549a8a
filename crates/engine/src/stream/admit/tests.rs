//! Tests of the order of the checks.

#![allow(clippy::unwrap_used)]

use bytes::Bytes;
use kelda_format::rows::{ProducerId, ProducerResult};
use kelda_format::{Batch, Offset};
use kelda_meta::producers::{ProducerClaim, Verdict};

use super::{Admission, Standing, admit};
use crate::error::AppendError;
use crate::types::AppendRequest;

const OPEN: Standing<'static> = Standing { next: Offset(7), sealed: false, stream_seq: None };
const SEALED: Standing<'static> = Standing { sealed: true, ..OPEN };

/// A request that violates everything that comes after the content type.
fn worst() -> AppendRequest {
    AppendRequest {
        producer: Some(ProducerClaim { id: ProducerId::new("p"), epoch: 1, seq: 70 }),
        match_offset: Some(Offset(3)),
        stream_seq: Some(Bytes::from("a")),
        content_type_mismatch: true,
        ..AppendRequest::new(Batch::single(Bytes::from("x")).unwrap())
    }
}

#[test]
fn each_check_wins_over_those_after_it() {
    let last = Bytes::from("b");
    let standing = |sealed| Standing { stream_seq: Some(&last), sealed, ..OPEN };
    let duplicate = Verdict::Duplicate { result: None, seq: 70 };
    let mut request = worst();
    assert_eq!(
        admit(standing(true), &request, Some(&duplicate)),
        Admission::Duplicate { result: None, seq: Some(70) }
    );
    let gap = Verdict::Gap { expected: 1 };
    let refused = |error| Admission::Refuse(error);
    assert_eq!(admit(standing(true), &request, Some(&gap)), refused(AppendError::Sealed { tail: Offset(7) }));
    assert_eq!(admit(standing(false), &request, Some(&gap)), refused(AppendError::ContentType));
    request.content_type_mismatch = false;
    assert_eq!(
        admit(standing(false), &request, Some(&gap)),
        refused(AppendError::Gap { expected: 1, received: 70 })
    );
    let accept = Verdict::Accept;
    assert_eq!(
        admit(standing(false), &request, Some(&accept)),
        refused(AppendError::MatchOffset { tail: Offset(7) })
    );
    request.match_offset = Some(Offset(7));
    assert_eq!(
        admit(standing(false), &request, Some(&accept)),
        refused(AppendError::StreamSeq { last: last.clone() })
    );
    request.stream_seq = Some(Bytes::from("c"));
    assert_eq!(admit(standing(false), &request, Some(&accept)), Admission::Accept);
}

#[test]
fn a_gap_of_up_to_64_waits() {
    let mut request = worst();
    request.content_type_mismatch = false;
    let gap = |expected| Verdict::Gap { expected };
    assert_eq!(admit(OPEN, &request, Some(&gap(6))), Admission::AwaitPredecessor { expected: 6 });
    assert!(matches!(admit(OPEN, &request, Some(&gap(5))), Admission::Refuse(AppendError::Gap { .. })));
}

#[test]
fn a_repeated_seal_without_records_or_producer_is_a_duplicate() {
    let seal = AppendRequest { seal: true, ..AppendRequest::new(Batch::empty()) };
    assert_eq!(admit(SEALED, &seal, None), Admission::Duplicate { result: None, seq: None });
    let with_records =
        AppendRequest { seal: true, ..AppendRequest::new(Batch::single(Bytes::from("x")).unwrap()) };
    assert!(matches!(admit(SEALED, &with_records, None), Admission::Refuse(AppendError::Sealed { .. })));
}

#[test]
fn the_result_of_the_original_comes_with_the_duplicate() {
    let result = ProducerResult { seq: 70, first_offset: Offset(2), count: 3 };
    let duplicate = Verdict::Duplicate { result: Some(result), seq: 71 };
    assert_eq!(
        admit(OPEN, &worst(), Some(&duplicate)),
        Admission::Duplicate { result: Some(result), seq: Some(71) }
    );
}
