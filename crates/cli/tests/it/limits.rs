//! Streams that grow for ever are warned of and marked; limits are changed; the oldest records are given up.

use std::time::Duration;

use crate::node::{Node, stderr};

fn node() -> (tempfile::TempDir, Node) {
    let directory = tempfile::tempdir().unwrap();
    let node = Node::start(&directory.path().join("data"));
    (directory, node)
}

fn warnings(node: &Node, args: &[&str]) -> usize {
    let output = node.run(args);
    stderr(&output).lines().filter(|line| line.contains("warning: ") && line.contains("kelda set")).count()
}

#[test]
fn a_stream_without_a_limit_is_warned_of_once() {
    let (_directory, node) = node();
    assert_eq!(warnings(&node, &["create", "a"]), 1);
    assert_eq!(warnings(&node, &["create", "a"]), 0, "it was there");
    assert_eq!(warnings(&node, &["append", "b", "--create"]), 1);
    assert_eq!(warnings(&node, &["append", "b", "--create"]), 0, "it was there");
    for (name, limit) in [
        ("c", "--max-age=7d"),
        ("d", "--max-bytes=1GiB"),
        ("e", "--ttl=60"),
        ("f", "--expires-at=2099-01-01T00:00:00Z"),
    ] {
        assert_eq!(warnings(&node, &["create", name, limit]), 0, "{limit}");
    }
    assert!(node.run(&["create", "g", "--quiet"]).stderr.is_empty());
    assert!(node.run(&["append", "h", "--create", "-q"]).stderr.is_empty());
    let warned = stderr(&node.run(&["create", "i", "--json"]));
    let warned: serde_json::Value = serde_json::from_str(&warned).unwrap();
    assert_eq!((&warned["warning"], &warned["stream"]), (&"unlimited".into(), &"i".into()));
}

#[test]
fn ls_marks_streams_that_grow_for_ever() {
    let (_directory, node) = node();
    node.run(&["create", "open"]);
    node.run(&["create", "aged", "--max-age", "7d", "--max-bytes", "10GiB"]);
    node.run(&["create", "full"]);
    assert!(node.feed(&["append", "full"], b"one\ntwo\n").status.success());
    node.run(&["seal", "full"]);
    let text = node.stdout(&["ls"]);
    let row = |name: &str| text.lines().find(|line| line.ends_with(&format!("  {name}"))).unwrap().to_owned();
    assert!(text.lines().next().unwrap().trim_start().starts_with("RECORDS"), "{text}");
    assert!(row("open").contains("unlimited") && row("open").trim_start().starts_with("0 "), "{text}");
    assert!(row("aged").contains("7d,10 GiB") && row("full").contains("sealed"), "{text}");
    assert!(row("full").trim_start().starts_with("2 "), "{text}");
    let long = node.stdout(&["ls", "--long", "full"]);
    assert!(long.contains("application/octet-stream") && long.contains("NEXT"), "{long}");
    let marks: Vec<_> = node
        .stdout(&["ls", "--json"])
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
        .map(|stream| (stream["name"].as_str().unwrap().to_owned(), stream["unlimited"].as_bool().unwrap()))
        .collect();
    assert_eq!(marks, [("aged".to_owned(), false), ("full".to_owned(), false), ("open".to_owned(), true)]);
}

#[test]
fn ls_goes_through_all_pages() {
    let (_directory, node) = node();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let kelda = crate::node::client(&node.endpoint());
    let names: Vec<_> = (0..1_100).map(|n| format!("page/{n:04}")).collect();
    runtime.block_on(async {
        for name in &names {
            kelda.declare_stream(name, kelda_client::StreamLimits::new()).await.unwrap();
        }
    });
    let listed = node.stdout(&["ls", "page/", "--names"]);
    assert!(listed.lines().eq(names.iter().map(String::as_str)), "every name once, in order");
    let rows = node.stdout(&["ls", "page/"]);
    assert_eq!(rows.lines().filter(|line| line.contains("RECORDS")).count(), 1, "one heading");
    assert_eq!(rows.lines().count(), 1_101);
}

#[test]
fn set_changes_and_removes_limits() {
    let (_directory, node) = node();
    node.run(&["create", "a"]);
    let set = node.json(&["set", "a", "--max-age", "12h", "--max-bytes", "1MiB", "--json"]);
    assert_eq!(
        (&set["max_age"], &set["max_bytes"], &set["unlimited"]),
        (&"12h".into(), &1_048_576.into(), &false.into())
    );
    let set = node.json(&["set", "a", "--max-age", "none", "--json"]);
    assert_eq!((set.get("max_age"), &set["max_bytes"]), (None, &1_048_576.into()), "the other stays");
    assert_eq!(warnings(&node, &["set", "a", "--max-bytes", "none"]), 1, "now it grows for ever");
    assert_eq!(node.json(&["head", "a", "--json"])["unlimited"], true);
}

#[test]
fn trim_by_offset_by_time_and_by_age() {
    let (_directory, node) = node();
    node.run(&["create", "a", "--max-age", "7d"]);
    let batch = |text: &[u8]| {
        assert!(node.feed(&["append", "a"], text).status.success());
        // Times are milliseconds, and the next batch is to have a later one.
        std::thread::sleep(Duration::from_millis(5));
    };
    batch(b"0\n1\n2\n");
    batch(b"3\n4\n");
    batch(b"5\n");
    let start =
        || node.json(&["head", "a", "--json"])["start_offset"].as_str().unwrap().parse::<u64>().unwrap();
    let trimmed = node.json(&["trim", "a", "--before", "2", "--json"]);
    assert_eq!((&trimmed["start_offset"], start()), (&"00000000000000000002".into(), 2));
    node.run(&["trim", "a", "--before", "1"]);
    assert_eq!(start(), 2, "below the start nothing changes");
    node.run(&["trim", "a", "--before", "1h"]);
    assert_eq!(start(), 2, "all are younger");
    let record: serde_json::Value =
        serde_json::from_str(&node.stdout(&["read", "a", "--from", "3", "--count", "1", "--format", "json"]))
            .unwrap();
    let ms = record["timestamp"].as_str().unwrap().parse::<i64>().unwrap();
    let time = jiff::Timestamp::from_millisecond(ms).unwrap().to_string();
    node.run(&["trim", "a", "--before", &time]);
    assert_eq!(start(), 3, "the first at that time is kept");
    let said = stderr(&node.run(&["trim", "a", "--before", "1ms"]));
    assert_eq!(start(), 6, "all are older: {said}");
    assert!(said.contains("begins at offset 6, 0 records are left"), "{said}");
    assert_eq!(node.stdout(&["read", "a"]), "");
}
