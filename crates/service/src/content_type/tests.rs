//! How content types compare.

use super::{is_json, same};

#[test]
fn case_and_parameters_do_not_count() {
    assert!(same("text/plain", "TEXT/PLAIN; charset=utf-8"));
    assert!(same(" text/plain ;a=b", "text/plain"));
    assert!(!same("text/plain", "text/html"));
    assert!(!same("text/plain", ""));
    assert!(is_json("Application/JSON;charset=utf-8"));
    assert!(!is_json("application/jsonl"));
}
