//! The main job on real input: a log file appended through the command line and through plain HTTP, two
//! followers at different positions, the node killed in the middle and started again.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::Stdio;

use crate::node::Node;

fn log_lines(range: std::ops::Range<u32>) -> String {
    range.map(|n| format!("2026-11-30T12:00:{:02}Z request {n} took {} ms\n", n % 60, n % 97)).collect()
}

#[test]
fn a_log_file_survives_a_kill_and_two_followers_see_all_of_it() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("app.log");
    std::fs::write(&file, log_lines(0..500)).unwrap();
    let mut node = Node::start(&directory.path().join("data"));
    node.run(&["create", "logs/app", "--content-type", "text/plain"]);
    node.run(&["append", "logs/app", file.to_str().unwrap()]);

    let follow = |from: &str, count: &str| {
        let args = ["tail", "-f", "logs/app", "--from", from, "--count", count];
        node.command(&args).stdout(Stdio::piped()).spawn().unwrap()
    };
    let mut first = follow("0", "1000");
    let later = follow("400", "600");
    let mut seen = BufReader::new(first.stdout.take().unwrap());
    let mut text = String::new();
    seen.read_line(&mut text).unwrap();

    node.kill();
    node.restart();
    let mut append = node.command(&["append", "logs/app"]).stdin(Stdio::piped()).spawn().unwrap();
    append.stdin.take().unwrap().write_all(log_lines(500..1000).as_bytes()).unwrap();
    assert!(append.wait().unwrap().success());

    seen.read_to_string(&mut text).unwrap();
    assert!(first.wait().unwrap().success());
    assert_eq!(text, log_lines(0..1000));
    let output = later.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), log_lines(400..1000));
    assert!(node.stop().success(), "a node that is told to stop exits well");
}

#[test]
fn the_verbs_do_what_their_help_says() {
    let directory = tempfile::tempdir().unwrap();
    let node = Node::start(&directory.path().join("data"));
    node.run(&["create", "a/json", "--content-type", "application/json", "--max-age", "7d"]);
    let again = node.command(&["create", "a/json", "--content-type", "text/plain"]).output().unwrap();
    assert_eq!(again.status.code(), Some(4), "another configuration is a conflict");
    let mut append = node.command(&["append", "a/json"]).stdin(Stdio::piped()).spawn().unwrap();
    append.stdin.take().unwrap().write_all(b"{\"n\": 1}\n{\"n\":2}\n").unwrap();
    assert!(append.wait().unwrap().success());
    let read = node.run(&["read", "a/json", "--from", "1", "--format", "json"]);
    let record: serde_json::Value = serde_json::from_slice(&read.stdout).unwrap();
    assert_eq!((&record["offset"], &record["body"]), (&"00000000000000000001".into(), &"{\"n\":2}".into()));
    let listed = node.run(&["ls", "a/", "--names"]);
    assert_eq!(String::from_utf8(listed.stdout).unwrap(), "a/json\n");
    node.run(&["seal", "a/json"]);
    node.run(&["delete", "a/json"]);
    let missing = node.command(&["read", "a/json"]).output().unwrap();
    assert_eq!(missing.status.code(), Some(3), "no such stream");
    let nowhere = node.command(&["--endpoint", "http://127.0.0.1:1", "head", "x"]).output().unwrap();
    assert_eq!(nowhere.status.code(), Some(5), "no server there");
}
