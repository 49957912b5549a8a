//! With `--json` every verb prints JSON: data on standard output, problems on standard error.

use serde_json::{Value, json};

use crate::node::{Node, kelda};

fn node() -> (tempfile::TempDir, Node) {
    let directory = tempfile::tempdir().unwrap();
    let node = Node::start(&directory.path().join("data"));
    (directory, node)
}

fn problem(output: &std::process::Output) -> Value {
    assert!(output.stdout.is_empty(), "no data");
    let text = String::from_utf8_lossy(&output.stderr);
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn every_verb_prints_an_object() {
    let (_directory, node) = node();
    let created = node.json(&["--json", "create", "a", "--content-type", "text/plain", "--max-age", "7d"]);
    assert_eq!(
        (&created["name"], &created["new"], &created["max_age"]),
        (&json!("a"), &json!(true), &json!("7d"))
    );
    assert_eq!(node.json(&["create", "a", "--json"])["new"], false);
    let appended = node.feed(&["append", "a", "--json"], b"1\n2\n");
    let appended: Value = serde_json::from_slice(&appended.stdout).unwrap();
    assert_eq!(
        appended,
        json!({"stream": "a", "records": 2, "bytes": 4, "first_offset": "00000000000000000000", "next_offset": "00000000000000000002"})
    );
    let head = node.json(&["head", "a", "--json"]);
    let mut listed = node.json(&["ls", "a", "--json"]);
    // The list estimates with what is known when it is asked; all else is the same.
    listed["bytes"] = head["bytes"].clone();
    assert_eq!(head, listed);
    assert_eq!(
        (&head["unlimited"], &head["sealed"], &head["kind"]),
        (&json!(false), &json!(false), &json!("stream"))
    );
    let record = node.stdout(&["tail", "a", "-n", "1", "--json"]);
    let record: Value = serde_json::from_str(&record).unwrap();
    assert_eq!((&record["offset"], &record["body"]), (&json!("00000000000000000001"), &json!("2\n")));
    assert_eq!(node.json(&["trim", "a", "--before", "1", "--json"])["start_offset"], "00000000000000000001");
    assert_eq!(node.json(&["set", "a", "--max-age", "1d", "--json"])["max_age"], "1d");
    assert_eq!(
        node.json(&["seal", "a", "--json"]),
        json!({"stream": "a", "sealed": true, "next_offset": "00000000000000000002"})
    );
    assert_eq!(node.json(&["delete", "a", "--json"]), json!({"stream": "a", "deleted": true}));
}

#[test]
fn confirmations_are_no_data() {
    let (_directory, node) = node();
    for args in [
        &["create", "a"][..],
        &["append", "a"],
        &["set", "a", "--max-age", "1d"],
        &["trim", "a", "--before", "0"],
        &["seal", "a"],
        &["delete", "a"],
    ] {
        let output = node.run(args);
        assert!(output.stdout.is_empty() && !output.stderr.is_empty(), "{args:?}");
    }
    node.run(&["create", "b", "--quiet"]);
    for args in [
        &["append", "b", "-q"][..],
        &["set", "b", "--max-age", "1d", "-q"],
        &["seal", "b", "-q"],
        &["delete", "b", "-q"],
    ] {
        let output = node.run(args);
        assert!(output.stdout.is_empty() && output.stderr.is_empty(), "{args:?}");
    }
}

#[test]
fn problems_keep_the_code_and_the_fields_of_the_server() {
    let (_directory, node) = node();
    node.run(&["create", "a", "--content-type", "text/plain"]);
    let conflict =
        problem(&node.command(&["--json", "create", "a", "--content-type", "text/html"]).output().unwrap());
    assert_eq!(
        (&conflict["type"], &conflict["code"]),
        (&json!("urn:kelda:problem:config-conflict"), &json!("config-conflict"))
    );
    assert_eq!((&conflict["status"], &conflict["exit"]), (&json!(409), &json!(4)));
    assert!(conflict["differences"].is_array(), "{conflict}");
    let missing = problem(&node.command(&["head", "none", "--json"]).output().unwrap());
    assert_eq!((&missing["code"], &missing["exit"]), (&json!("not-found"), &json!(3)));
    let past = problem(&node.command(&["read", "a", "--from", "9", "--json"]).output().unwrap());
    assert_eq!((&past["code"], &past["exit"]), (&json!("offset-past-tail"), &json!(4)));
}

#[test]
fn problems_of_this_side_have_a_code_too() {
    for (args, code, exit) in [
        (&["read", "--json"][..], "usage", 2),
        (&["read", "a", "--json", "--format", "raw"], "usage", 2),
        (&["ls", "--json", "--profile", "none"], "profile", 2),
        (&["ls", "--json", "--endpoint", "http://127.0.0.1:1"], "unreachable", 5),
    ] {
        let problem = problem(&kelda(args).output().unwrap());
        assert_eq!((&problem["code"], &problem["exit"]), (&json!(code), &json!(exit)), "{args:?}");
        assert_eq!(problem["type"], format!("urn:kelda:cli:{code}"), "{args:?}");
    }
}
