//! Which problem ends a command how.
#![allow(clippy::unwrap_used)]

use super::*;

#[test]
fn every_status_of_the_server_has_its_exit_code() {
    for (status, code, exit) in [
        (404, "not-found", 3),
        (410, "gone", 3),
        (410, "offset-gone", 4),
        (416, "offset-past-tail", 4),
        (409, "sealed", 4),
        (409, "config-conflict", 4),
        (412, "stream-id-mismatch", 4),
        (403, "stale-epoch", 4),
        (400, "invalid-json", 2),
        (413, "too-large", 2),
        (503, "overloaded", 5),
        (507, "disk-full", 5),
        (500, "damaged", 1),
        (501, "not-implemented", 1),
    ] {
        assert_eq!(exit_of(status, code), exit, "{status} {code}");
    }
}

#[test]
fn what_is_added_is_said_to_people_and_to_programs() {
    let failure = Failure::input("line 7: no").with("6 before it", &[("appended_records", json!(6))]);
    let Failure::Said(complaint) = failure else { panic!("something is said") };
    assert_eq!(complaint.message, "line 7: no; 6 before it");
    assert_eq!(complaint.fields["detail"], "line 7: no; 6 before it");
    assert_eq!(
        (&complaint.fields["appended_records"], &complaint.fields["code"]),
        (&json!(6), &json!("input"))
    );
}
