//! The table of problems.

use std::collections::BTreeSet;

use super::Problem;

#[test]
fn codes_are_unique_words_and_every_row_is_complete() {
    let mut seen = BTreeSet::new();
    for problem in Problem::ALL {
        let code = problem.code();
        assert!(seen.insert(code), "{code} twice");
        assert!(code.bytes().all(|b| b.is_ascii_lowercase() || b == b'-'), "{code}");
        assert!((400..600).contains(&problem.status()), "{code}");
        assert!(
            !problem.title().is_empty() && problem.meaning().ends_with('.'),
            "{code}: {}",
            problem.meaning()
        );
        assert_eq!(problem.is_transient(), matches!(problem.status(), 503 | 507), "{code}");
    }
}

/// The table of the documentation, made from the code; a difference prints what the page has to be.
#[test]
fn the_documentation_has_the_same_table() {
    let row = |problem: &Problem| {
        let meaning = problem.meaning().split_whitespace().collect::<Vec<_>>().join(" ");
        format!("| `{}` | {} | {} | {meaning} |\n", problem.code(), problem.status(), problem.title())
    };
    let table: String = Problem::ALL.iter().map(row).collect();
    let page = include_str!("../../../../docs/problems.md");
    assert!(page.contains(&table), "docs/problems.md has to hold this table:\n{table}");
}
