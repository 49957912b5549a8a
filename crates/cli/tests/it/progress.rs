//! Progress with rate and time left is shown on a terminal, and nowhere else.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::node::{KELDA, Node};

/// Runs a command with a terminal as its standard error (and more), given as a shell would take it.
fn on_terminal(node: &Node, command: &str) -> Output {
    let mut script = Command::new("script");
    script.args(["-qec", &format!("{KELDA} {command}"), "/dev/null"]).stdin(Stdio::null());
    script.env("KELDA_ENDPOINT", node.endpoint()).env("TERM", "xterm").env("COLUMNS", "120");
    script.output().unwrap()
}

fn text(output: &Output) -> String {
    assert!(output.status.success());
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn file(folder: &Path) -> String {
    let path = folder.join("lines");
    std::fs::write(&path, "a line of text\n".repeat(200_000)).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn appending_a_file_and_reading_a_large_range() {
    let directory = tempfile::tempdir().unwrap();
    let node = Node::start(&directory.path().join("data"));
    let file = file(directory.path());
    node.run(&["create", "a", "--max-age", "7d"]);
    let shown = text(&on_terminal(&node, &format!("append a {file}")));
    assert!(shown.contains("/s") && shown.contains("eta ") && shown.contains("2.86 MiB"), "{shown:?}");
    let shown = text(&on_terminal(&node, "read a > /dev/null"));
    assert!(shown.contains("/200,000 records") && shown.contains("eta "), "{shown:?}");
    let until = text(&on_terminal(&node, "read a --from 1h --until 150000 > /dev/null"));
    assert!(until.contains("/150,000 records"), "{until:?}");
}

#[test]
fn nothing_is_shown_when_it_is_not_wanted() {
    let directory = tempfile::tempdir().unwrap();
    let node = Node::start(&directory.path().join("data"));
    let file = file(directory.path());
    node.run(&["create", "a", "--max-age", "7d"]);
    for flag in ["--quiet", "--json"] {
        let shown = text(&on_terminal(&node, &format!("append a {file} {flag} > /dev/null")));
        assert_eq!(shown, "", "{flag}");
    }
    assert_eq!(text(&on_terminal(&node, "read a --quiet > /dev/null")), "");
    assert_eq!(text(&on_terminal(&node, "read a --count 9 > /dev/null")), "", "a small range");
    let data = text(&on_terminal(&node, "read a --count 50000"));
    assert!(!data.contains("eta"), "the records themselves are on the terminal");
    assert!(node.run(&["read", "a"]).stderr.is_empty(), "no terminal");
    let appended = node.run(&["append", "a", &file]);
    assert_eq!(String::from_utf8(appended.stderr).unwrap().lines().count(), 1, "only what was done");
}
