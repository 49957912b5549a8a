//! What `append` makes of its input, and what it refuses.

use crate::node::{Node, stderr};

fn node() -> (tempfile::TempDir, Node) {
    let directory = tempfile::tempdir().unwrap();
    let node = Node::start(&directory.path().join("data"));
    (directory, node)
}

#[test]
fn lines_files_and_whole_inputs() {
    let (directory, node) = node();
    let file = |name: &str, text: &[u8]| {
        let path = directory.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (one, two) = (file("one", b"a\nb\n"), file("two", b"c\n\nd"));
    let appended = node.feed(&["append", "lines", "--create", &one, "-", &two, "--json"], b"x\ny\n");
    let said: serde_json::Value = serde_json::from_slice(&appended.stdout).unwrap();
    assert_eq!((&said["records"], &said["bytes"]), (&7.into(), &12.into()));
    assert_eq!(said["first_offset"], "00000000000000000000");
    assert_eq!(said["next_offset"], "00000000000000000007");
    assert_eq!(node.stdout(&["read", "lines", "--format", "raw"]), "a\nb\nx\ny\nc\n\nd");
    node.run(&["append", "whole", "--create=application/octet-stream", "--whole", &one, &two]);
    assert_eq!(node.stdout(&["read", "whole", "--format", "json"]).lines().count(), 2);
    assert_eq!(node.stdout(&["read", "whole", "--format", "raw"]), "a\nb\nc\n\nd");
}

#[test]
fn a_wrong_line_is_named_and_nothing_of_its_batch_is_stored() {
    let (directory, node) = node();
    node.run(&["create", "a", "--content-type", "text/plain"]);
    let bad = "{\"body\":\"1\"}\n{\"body\":\"2\",\"body_base64\":\"\"}\n{\"body\":\"3\"}\n";
    let output = node.feed(&["append", "a", "--format", "json"], bad.as_bytes());
    assert_eq!(output.status.code(), Some(2));
    let error = stderr(&output);
    assert!(error.contains("standard input line 2: ") && error.contains("not both"), "{error}");
    assert!(error.contains("nothing was stored"), "{error}");
    assert_eq!(node.json(&["head", "a", "--json"])["next_offset"], "00000000000000000000");

    // Batches before it are stored, and the error says how many records that is.
    let path = directory.path().join("records.json");
    let good: String = (0..5_000).map(|n| format!("{{\"body\":\"{n}\"}}\n")).collect();
    std::fs::write(&path, good + "{\"headers\":[{\"value\":\"x\"}]}\n").unwrap();
    let output = node
        .command(&["append", "a", "--format", "json", "--json", path.to_str().unwrap()])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let problem: serde_json::Value = serde_json::from_slice(&output.stderr).unwrap();
    assert_eq!((&problem["code"], &problem["exit"]), (&"input".into(), &2.into()));
    let detail = problem["detail"].as_str().unwrap();
    assert!(detail.contains("line 5001: missing field `name`"), "{detail}");
    assert_eq!(
        (&problem["stored_records"], &problem["stored_next_offset"]),
        (&4096.into(), &"00000000000000004096".into())
    );
    assert_eq!(node.json(&["head", "a", "--json"])["next_offset"], "00000000000000004096");
}

#[test]
fn a_stream_of_json_takes_values_only() {
    let (_directory, node) = node();
    node.run(&["create", "j", "--content-type", "application/json"]);
    let output = node.feed(&["append", "j"], b"{\"n\": 1}\n\n  [2]\n{\"n\":\n");
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("standard input line 4: the stream takes JSON values"),
        "{}",
        stderr(&output)
    );
    assert!(node.feed(&["append", "j"], b"{\"n\": 1}\n\n  [2]\n").status.success());
    assert_eq!(node.stdout(&["read", "j"]), "{\"n\": 1}\n[2]\n");
    let output = node.feed(&["append", "j", "--format", "json"], b"{\"body\":\"no value\"}\n");
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
}

#[test]
fn a_file_that_is_missing_stores_nothing_of_the_others() {
    let (directory, node) = node();
    let path = directory.path().join("one");
    std::fs::write(&path, "a\n").unwrap();
    let output = node
        .command(&["append", "a", "--create", path.to_str().unwrap(), "/nonexistent/two"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(node.stdout(&["ls", "--names"]), "", "not even the stream");
}

#[test]
fn what_is_piped_is_stored_as_it_comes() {
    use std::io::Write as _;
    use std::process::Stdio;
    let (_directory, node) = node();
    node.run(&["create", "a"]);
    let mut append = node.command(&["append", "a"]).stdin(Stdio::piped()).spawn().unwrap();
    let mut input = append.stdin.take().unwrap();
    let mut follow =
        node.command(&["tail", "a", "-f", "--count", "2"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut seen = std::io::BufRead::lines(std::io::BufReader::new(follow.stdout.take().unwrap()));
    for line in ["one", "two"] {
        writeln!(input, "{line}").unwrap();
        // The input is still open: nobody waits for its end.
        assert_eq!(seen.next().unwrap().unwrap(), line);
    }
    drop(input);
    assert!(append.wait().unwrap().success() && follow.wait().unwrap().success());
}
