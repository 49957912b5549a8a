//! Verbs that live through kill -9 of the node: nothing is lost, repeated or out of order.

use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::process::Stdio;
use std::sync::mpsc;
use std::time::Duration;

use crate::node::{Node, stderr};

const ROUNDS: u64 = 4;

fn node() -> (tempfile::TempDir, Node) {
    let directory = tempfile::tempdir().unwrap();
    let node = Node::start(&directory.path().join("data"));
    node.run(&["create", "a", "--content-type", "text/plain", "--max-age", "7d"]);
    (directory, node)
}

/// Waits until so many records are stored; the limit is only there so that a failure ends.
fn until_stored(node: &Node, records: u64) {
    for _ in 0..6_000 {
        let next = node.json(&["head", "a", "--json"])["next_offset"].as_str().unwrap().parse::<u64>();
        if next.unwrap() >= records {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("never: {records} records");
}

fn lines(numbers: std::ops::Range<u64>) -> String {
    numbers.map(|number| format!("{number}\n")).collect()
}

#[test]
fn append_stores_each_line_once_and_in_order() {
    const LINES: u64 = 20_000;
    let (_directory, mut node) = node();
    let mut append = node.command(&["append", "a", "--json"]);
    let append = append.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut append = append.spawn().unwrap();
    let mut input = append.stdin.take().unwrap();
    let (go, rounds) = mpsc::channel::<u64>();
    let writer = std::thread::spawn(move || {
        for round in rounds {
            for number in round * LINES..(round + 1) * LINES {
                writeln!(input, "{number}").unwrap();
            }
        }
    });
    for round in 0..ROUNDS {
        go.send(round).unwrap();
        // Somewhere in the middle, with batches under way and lines still to come.
        until_stored(&node, round * LINES + LINES / 4);
        node.kill();
        node.restart();
    }
    drop(go);
    writer.join().unwrap();
    let output = append.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let said: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&said["records"], &said["first_offset"]), (&(ROUNDS * LINES).into(), &"0".repeat(20).into()));
    assert!(node.stdout(&["read", "a"]) == lines(0..ROUNDS * LINES), "each line once and in order");
}

#[test]
fn read_goes_on_where_it_was() {
    const LINES: u64 = 1_000_000;
    let (_directory, mut node) = node();
    assert!(node.feed(&["append", "a"], lines(0..LINES).as_bytes()).status.success());
    let mut read = node.command(&["read", "a"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut seen = BufReader::new(read.stdout.take().unwrap());
    let mut text = String::new();
    for _ in 0..1_000 {
        seen.read_line(&mut text).unwrap();
    }
    // What is read and what the pipe holds is a small part.
    node.kill();
    node.restart();
    seen.read_to_string(&mut text).unwrap();
    assert!(read.wait().unwrap().success());
    assert!(text == lines(0..LINES), "each line once and in order");
}

#[test]
fn tail_goes_on_without_repeating_or_skipping() {
    const LINES: u64 = 500;
    let (_directory, mut node) = node();
    let mut tail = node.command(&["tail", "a", "-f", "-n", "0"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut seen = BufReader::new(tail.stdout.take().unwrap());
    // It has subscribed when it prints the first, which is written until it does.
    let mut line = String::new();
    let first = std::thread::spawn(move || {
        seen.read_line(&mut line).unwrap();
        (seen, line)
    });
    let mut before = 0;
    while !first.is_finished() {
        assert!(node.feed(&["append", "a"], format!("before {before}\n").as_bytes()).status.success());
        before += 1;
    }
    let (mut seen, line) = first.join().unwrap();
    let printed: u64 = line.trim().strip_prefix("before ").unwrap().parse().unwrap();
    let mut expected: String = (printed + 1..before).map(|number| format!("before {number}\n")).collect();
    for round in 0..ROUNDS {
        let (from, half, to) = (round * LINES, round * LINES + LINES / 2, (round + 1) * LINES);
        assert!(node.feed(&["append", "a"], lines(from..half).as_bytes()).status.success());
        node.kill();
        node.restart();
        // What is written while it is away, and what may have been on its way.
        assert!(node.feed(&["append", "a"], lines(half..to).as_bytes()).status.success());
        expected.push_str(&lines(from..to));
        let mut text = String::new();
        while text.len() < expected.len() {
            assert!(seen.read_line(&mut text).unwrap() > 0, "it has ended");
        }
        assert_eq!(text, std::mem::take(&mut expected), "round {round}");
    }
    node.run(&["seal", "a"]);
    let mut rest = String::new();
    seen.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "");
    assert!(tail.wait().unwrap().success());
}
