//! The tables of `docs/http.md` are complete: owns how the code names header fields, query parameters and statuses,
//! guarantees that each is in its table and that a table has nothing else. The table of problems is compared where
//! the problems are, in `crates/service`.

use std::collections::{BTreeMap, BTreeSet};

use kelda_service::Problem;

use super::tables::{column, rows, source, spans};
use super::{Source, none, sources};

const PAGE: &str = "docs/http.md";
const FIELDS: &str = "crates/server/src/http/fields.rs";

/// What the HTTP library adds to replies by itself.
const ADDED: [&str; 2] = ["date", "transfer-encoding"];

/// The names of statuses that are no problems.
const SUCCESSES: [(&str, &str); 4] =
    [("OK", "200"), ("CREATED", "201"), ("NO_CONTENT", "204"), ("NOT_MODIFIED", "304")];

#[test]
fn every_header_is_in_its_table() {
    let (requests, replies) = (column(PAGE, "## Request headers"), column(PAGE, "## Response headers"));
    let listed = listed_fields();
    let mut findings = Vec::new();
    for (name, direction) in &listed {
        let expected = (direction != "Response", direction != "Request");
        let found = (requests.contains(name), replies.contains(name));
        if expected != found {
            findings.push(format!("{name} goes {direction}; (request, reply) tables have it: {found:?}"));
        }
    }
    let plain: BTreeSet<_> = plain_fields().into_iter().chain(ADDED.map(str::to_owned)).collect();
    let known = |name: &&String| listed.contains_key(*name) || plain.contains(*name);
    let here = |name: &&String| requests.contains(*name) || replies.contains(*name);
    findings.extend(plain.iter().filter(|name| !here(name)).map(|name| format!("{name} is in no table")));
    let all = requests.iter().chain(&replies);
    findings.extend(all.filter(|name| !known(name)).map(|name| format!("{name} is in no code")));
    none(&findings, "the tables of headers in docs/http.md are those of the code");
}

#[test]
fn every_query_parameter_is_in_the_table() {
    let rows = rows(PAGE, "## Query parameters");
    let mut findings = Vec::new();
    for (file, kinds) in [("read", ["read", "live read"]), ("list", ["list", "list"])] {
        let code = source(&format!("crates/server/src/http/query/{file}.rs"));
        let known = parameters(&code.text);
        assert!(!known.is_empty(), "{} names no parameter", code.path);
        let here = rows.iter().filter(|row| kinds.contains(&row[1].as_str()));
        let here: BTreeSet<_> = here.map(|row| spans(&row[0]).concat()).collect();
        findings.extend(known.symmetric_difference(&here).map(|name| format!("{name}, of a {file}")));
    }
    none(&findings, "the table of parameters in docs/http.md is that of the code");
}

#[test]
fn every_status_is_in_the_table_with_its_problems() {
    let mut expected: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for problem in Problem::ALL {
        expected.entry(problem.status().to_string()).or_default().insert(problem.code().to_owned());
    }
    for name in server_sources().iter().flat_map(|source| after(&source.text, "StatusCode::")) {
        // Others are made from a problem's number, or in a file of tests.
        if let Some((_, number)) = SUCCESSES.iter().find(|(known, _)| **known == name) {
            expected.entry((*number).to_owned()).or_default();
        }
    }
    let found: BTreeMap<_, _> = rows(PAGE, "## Statuses")
        .into_iter()
        .map(|row| {
            let problems = if row[0].as_str() < "400" { Vec::new() } else { spans(&row[1]) };
            (row[0].clone(), BTreeSet::from_iter(problems))
        })
        .collect();
    let differ = expected.keys().chain(found.keys()).filter(|key| expected.get(*key) != found.get(*key));
    let findings: BTreeSet<_> = differ
        .map(|key| format!("{key}: the code has {:?}, the page {:?}", expected.get(key), found.get(key)))
        .collect();
    none(&Vec::from_iter(findings), "the table of statuses in docs/http.md is that of the code");
}

/// The fields of the list, in lower case, each with its direction.
fn listed_fields() -> BTreeMap<String, String> {
    let code = source(FIELDS).text;
    let list = code.split("\nfields! {").nth(1).unwrap().split("\n}").next().unwrap();
    let mut found = BTreeMap::new();
    for entry in list.split(';') {
        let words: Vec<_> = entry.split('"').collect();
        if let [_, _title, _, name, direction, ..] = words[..] {
            let direction = direction.trim();
            assert!(["Request", "Response", "Both"].contains(&direction), "{entry}");
            found.insert(name.to_owned(), direction.to_owned());
        }
    }
    assert!(found.len() > 30, "only {} fields found", found.len());
    found
}

/// The fields that the server uses without having them in its list, as the standard's constants name them.
fn plain_fields() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for source in server_sources().iter().filter(|source| source.path != FIELDS) {
        let constants = after(&source.text, "header::").into_iter().filter(|name| is_constant(name));
        found.extend(constants.map(|name| name.to_lowercase().replace('_', "-")));
        let literals = source.text.split("HeaderName::from_static(").skip(1);
        found.extend(literals.filter_map(|rest| rest.split('"').nth(1)).map(str::to_owned));
    }
    assert!(found.contains("vary"), "the code is not read as it should be: {found:?}");
    found
}

/// The parameters that a query of this file takes, as the calls and pairs with their names are written.
fn parameters(code: &str) -> BTreeSet<String> {
    let calls = ["parameters.one(\"", "parameters.text(\"", "parameters.parsed(\""];
    let found = calls.iter().flat_map(|call| code.split(call).skip(1));
    found.filter_map(|rest| rest.split('"').next()).map(str::to_owned).collect()
}

fn server_sources() -> Vec<Source> {
    let all = sources().into_iter();
    all.filter(|source| {
        source.path.starts_with("crates/server/src/")
            && source.path.ends_with(".rs")
            && !source.path.ends_with("/tests.rs")
    })
    .collect()
}

/// The identifiers behind each `prefix`.
fn after(code: &str, prefix: &str) -> Vec<String> {
    let rest = code.split(prefix).skip(1);
    rest.map(|rest| rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()).collect()
}

fn is_constant(name: &str) -> bool {
    name.len() > 1 && name.chars().all(|c| c.is_ascii_uppercase() || c == '_')
}

#[test]
fn names_are_found_as_the_code_writes_them() {
    let code = "let a = parameters.one(\"x\")?; (\"y\", parameters.parsed(\"y\", |t| header::ALLOW))";
    assert_eq!(Vec::from_iter(parameters(code)), ["x", "y"]);
    assert_eq!(after(code, "header::"), ["ALLOW"]);
    assert!(is_constant("ALLOW") && !is_constant("Headers"));
}
