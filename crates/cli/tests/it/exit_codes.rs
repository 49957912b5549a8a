//! Every documented exit code, one by one, and what is said with it.

use crate::node::{Node, kelda, stderr};

fn code(node: &Node, args: &[&str]) -> Option<i32> {
    node.command(args).output().unwrap().status.code()
}

#[test]
fn zero_when_it_is_done() {
    let directory = tempfile::tempdir().unwrap();
    let node = Node::start(directory.path());
    assert_eq!(code(&node, &["create", "a"]), Some(0));
    assert_eq!(code(&node, &["create", "a"]), Some(0), "again with the same configuration");
    for args in [["--help"], ["--version"]] {
        assert_eq!(kelda(&args).output().unwrap().status.code(), Some(0), "{args:?}");
    }
}

#[test]
fn one_when_something_failed_on_this_side() {
    let directory = tempfile::tempdir().unwrap();
    let node = Node::start(directory.path());
    node.run(&["create", "a"]);
    let output = node.command(&["append", "a", "/nonexistent/file"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("/nonexistent/file"), "{}", stderr(&output));
    assert_eq!(code(&node, &["append", "a", directory.path().to_str().unwrap()]), Some(1), "a directory");
}

#[test]
fn two_when_what_was_typed_is_wrong() {
    let directory = tempfile::tempdir().unwrap();
    let node = Node::start(directory.path());
    node.run(&["create", "a", "--content-type", "text/plain"]);
    for args in [
        &["reed", "a"][..],
        &["read", "a//b"],
        &["read", "a", "--from", "yesterday"],
        &["read", "a", "--until", "first"],
        &["read", "a", "--count", "0"],
        &["read", "a", "--json", "--format", "raw"],
        &["create", "b", "--max-age", "7 days"],
        &["create", "b", "--max-bytes", "0"],
        &["create", "__kelda/x"],
        &["create", "b", "--content-type", "nonsense"],
        &["trim", "a"],
        &["trim", "a", "--before", "soon"],
        &["set", "a"],
        &["set", "a", "--max-age", "never"],
        &["append", "a", "--whole", "--format", "json"],
        &["man", "nothing"],
        &["completions", "tcl"],
        &["--endpoint", "127.0.0.1:4437", "ls"],
        &["--endpoint", "http://127.0.0.1:70000", "ls"],
        &["--endpoint", "http://u:p@127.0.0.1:4437", "bench", "append"],
        &["--endpoint", "https://127.0.0.1:4437", "bench", "append"],
    ] {
        let output = node.command(args).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", stderr(&output));
        assert!(output.stdout.is_empty() && !output.stderr.is_empty(), "{args:?}");
    }
}

#[test]
fn three_when_there_is_no_such_stream() {
    let directory = tempfile::tempdir().unwrap();
    let node = Node::start(directory.path());
    for args in [
        &["read", "none"][..],
        &["tail", "none"],
        &["head", "none"],
        &["append", "none"],
        &["seal", "none"],
        &["delete", "none"],
        &["set", "none", "--max-age", "1d"],
        &["trim", "none", "--before", "1"],
        &["trim", "none", "--before", "1h"],
    ] {
        let output = node.command(args).output().unwrap();
        assert_eq!(output.status.code(), Some(3), "{args:?}: {}", stderr(&output));
    }
    assert!(stderr(&node.command(&["head", "none"]).output().unwrap()).contains("no stream \"none\""));
    assert!(stderr(&node.command(&["append", "none"]).output().unwrap()).contains("--create"));
}

#[test]
fn four_when_the_stream_is_not_as_expected() {
    let directory = tempfile::tempdir().unwrap();
    let node = Node::start(directory.path());
    node.run(&["create", "a", "--content-type", "text/plain"]);
    assert!(node.feed(&["append", "a"], b"1\n2\n3\n").status.success());
    assert_eq!(code(&node, &["create", "a", "--content-type", "text/html"]), Some(4), "another type");
    assert_eq!(code(&node, &["read", "a", "--from", "4"]), Some(4), "past the tail");
    assert_eq!(code(&node, &["trim", "a", "--before", "4"]), Some(4), "past the tail");
    node.run(&["trim", "a", "--before", "2"]);
    assert_eq!(code(&node, &["read", "a", "--from", "1"]), Some(4), "gone");
    node.run(&["seal", "a"]);
    assert_eq!(node.feed(&["append", "a"], b"4\n").status.code(), Some(4), "sealed");
}

#[test]
fn five_when_the_server_is_not_there() {
    // A port that was just free, and that nobody listens on.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let endpoint = format!("http://127.0.0.1:{port}");
    for args in
        [&["ls"][..], &["head", "a"], &["read", "a", "--retry", "0"], &["append", "a", "--retry", "0"]]
    {
        let output = kelda(args).env("KELDA_ENDPOINT", &endpoint).output().unwrap();
        assert_eq!(output.status.code(), Some(5), "{args:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(&endpoint), "{args:?}: {}", stderr(&output));
    }
}

#[test]
fn every_code_is_in_the_help() {
    let help = String::from_utf8(kelda(&["--help"]).output().unwrap().stdout).unwrap();
    let codes = help.split("Exit codes:").nth(1).unwrap();
    for code in ["  0 ", "  1 ", "  2 ", "  3 ", "  4 ", "  5 ", "  130 "] {
        assert!(codes.contains(code), "{code}: {help}");
    }
}

/// The node speaks plain HTTP, which says enough: nothing is tried again.
#[test]
fn five_when_there_is_no_secure_connection() {
    let directory = tempfile::tempdir().unwrap();
    let node = Node::start(directory.path());
    let endpoint = node.endpoint().replace("http://", "https://");
    for args in [&["ls"][..], &["head", "a"], &["append", "a", "/dev/null"]] {
        let output = kelda(args).arg("--json").env("KELDA_ENDPOINT", &endpoint).output().unwrap();
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(5), "{args:?}: {said}");
        assert!(said.contains("\"code\":\"tls\"") && said.contains("speaks no TLS"), "{args:?}: {said}");
        assert!(said.contains(&endpoint), "{args:?}: {said}");
    }
}
