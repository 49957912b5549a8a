//! A reader that goes away, and Ctrl-C.

use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Stdio};

use crate::node::Node;

fn filled(directory: &std::path::Path) -> Node {
    let node = Node::start(directory);
    let lines: String = (0..50_000).map(|n| format!("line {n}\n")).collect();
    assert!(node.feed(&["append", "a", "--create"], lines.as_bytes()).status.success());
    node
}

#[test]
fn a_closed_pipe_ends_a_command_quietly() {
    let directory = tempfile::tempdir().unwrap();
    let node = filled(directory.path());
    for args in [&["read", "a"][..], &["read", "a", "--json"], &["tail", "a", "-f", "-n", "50000"]] {
        let mut child = node.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        // The pipe is closed here, with most of the stream not read.
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]), "{args:?}");
        assert!(line.contains("line 0"), "{args:?}: {line}");
    }
}

#[test]
fn ctrl_c_ends_a_command_as_a_signal_and_what_was_read_is_printed() {
    let directory = tempfile::tempdir().unwrap();
    let node = filled(directory.path());
    let mut child = node.command(&["tail", "a", "-f", "-n", "2"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut seen = BufReader::new(child.stdout.take().unwrap()).lines();
    assert_eq!(seen.next().unwrap().unwrap(), "line 49998");
    assert_eq!(seen.next().unwrap().unwrap(), "line 49999");
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    // A shell reports the signal as 128 + 2 = 130.
    assert_eq!(child.wait().unwrap().signal(), Some(2));
    assert!(seen.next().is_none());
}

#[test]
fn following_ends_with_a_sealed_stream() {
    let directory = tempfile::tempdir().unwrap();
    let node = filled(directory.path());
    let child = node.command(&["tail", "a", "-f", "-n", "1"]).stdout(Stdio::piped()).spawn().unwrap();
    node.run(&["seal", "a"]);
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(0), &b"line 49999\n"[..]));
}
