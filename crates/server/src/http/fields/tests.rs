//! The list of header fields is consistent with itself.
#![allow(clippy::unwrap_used)]

use super::*;

#[test]
fn names_are_the_titles_in_lower_case_and_unique() {
    let mut names: Vec<_> = FIELDS.iter().map(|field| field.name).collect();
    for field in FIELDS {
        assert_eq!(field.title.to_ascii_lowercase(), field.name);
        assert!(field.help.ends_with('.'), "{}", field.name);
    }
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), FIELDS.len());
}

#[test]
fn lists_hold_each_direction() {
    let requests = list(Direction::Request);
    assert!(
        requests.contains("If-None-Match")
            && requests.contains("Stream-Closed")
            && !requests.contains("ETag")
    );
    let replies = list(Direction::Response);
    assert!(
        replies.contains("ETag") && replies.contains("Stream-Closed") && !replies.contains("If-None-Match")
    );
}
