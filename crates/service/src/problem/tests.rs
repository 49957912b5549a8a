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

/// The table of the documentation, made from the code; a difference prints the row that the page has to have.
#[test]
fn the_documentation_has_the_same_table() {
    let page = include_str!("../../../../docs/http.md");
    let table =
        page.split("| code | status | title | meaning | fields |\n").nth(1).expect("the table of problems");
    let rows: Vec<_> = table.lines().skip(1).take_while(|line| line.starts_with('|')).collect();
    for (problem, row) in Problem::ALL.iter().zip(&rows) {
        let meaning = problem.meaning().split_whitespace().collect::<Vec<_>>().join(" ");
        let begin =
            format!("| `{}` | {} | {} | {meaning} |", problem.code(), problem.status(), problem.title());
        assert!(row.starts_with(&begin), "docs/http.md has\n{row}\nwhich has to begin with\n{begin}");
    }
    assert_eq!(rows.len(), Problem::ALL.len(), "docs/http.md has another number of problems");
}
