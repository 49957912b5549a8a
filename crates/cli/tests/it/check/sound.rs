//! Directories with nothing wrong, however their node ended.

use std::io::Write;
use std::process::Stdio;
use std::time::Duration;

use kelda_format::{ObjectId, keys};

use super::{Data, objects};
use crate::node::Node;

/// The first segment of the log that the killed node of 0.1 left.
pub const SEGMENT: &str = "wal/2/00000000000000000000";

#[test]
fn the_directory_of_0_1_is_clean_and_described() {
    let data = Data::golden();
    let report = data.clean();
    assert_eq!(report["metadata"]["last_entry"], 89);
    let stream = |name: &str| {
        let found = report["streams"].as_array().unwrap().iter().find(|stream| stream["name"] == name);
        found.unwrap_or_else(|| panic!("{name}")).clone()
    };
    let text = stream("golden/text");
    assert_eq!((&text["committed_end"], &text["next_offset"]), (&"20".into(), &"25".into()));
    assert_eq!((&text["records"], &text["unlimited"], &text["epoch"]), (&25.into(), &true.into(), &1.into()));
    let trimmed = stream("golden/trimmed");
    assert_eq!((&trimmed["start_offset"], &trimmed["records"]), (&"6".into(), &8.into()));
    assert_eq!(stream("golden/wal-only-sealed")["sealed"], true, "the seal is only in the log");
    assert_eq!(stream("golden/producers")["producers"], 2);
    assert_eq!(stream("golden/retention")["unlimited"], false);
    let log = &report["logs"][0];
    assert_eq!((&log["session"], &log["state"]), (&"1.2".into(), &"live".into()));
    assert_eq!((&log["segments"][0]["entries"], &log["segments"][0]["torn"]), (&21.into(), &().into()));
    assert_eq!(log["segments"][1]["state"], "unused");
    let uses: Vec<_> = report["objects"].as_array().unwrap().iter().map(|object| &object["use"]).collect();
    assert_eq!(uses, ["referenced", "to-destroy", "referenced"]);

    let output = data.run(&[]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.ends_with("clean: nothing is damaged or missing\n"), "{text}");
    assert!(text.contains("20, 17 of them without a limit; 270 records"), "{text}");
    assert!(!text.contains("golden/text"), "streams are listed when they are asked for: {text}");
    let text = String::from_utf8(data.run(&["--streams"]).stdout).unwrap();
    assert!(text.contains("golden/text (id 1): offsets 0 to 25"), "{text}");
}

#[test]
fn a_torn_end_is_named_and_no_damage() {
    let data = Data::golden();
    let bytes = data.read(SEGMENT);
    let end = bytes.iter().rposition(|byte| *byte != 0).unwrap().next_multiple_of(8);
    data.write(SEGMENT, end as u64, &bytes[80..120]);
    let written = bytes[80..120].iter().rposition(|byte| *byte != 0).unwrap() + 1;
    let report = data.clean();
    let torn = &report["logs"][0]["segments"][0]["torn"];
    assert_eq!((&torn["position"], &torn["bytes"]), (&end.into(), &written.into()));
    assert_eq!(report["totals"]["torn_bytes"], written);
}

#[test]
fn an_orphan_is_named_and_no_damage() {
    let data = Data::golden();
    let report = data.clean();
    let cluster = report["cluster"].as_str().unwrap();
    let mut id = [0; 16];
    for (byte, digits) in id.iter_mut().zip(cluster.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(digits).unwrap(), 16).unwrap();
    }
    let cluster = kelda_format::ClusterId(id);
    let copy = |id| {
        let file = format!("objects/{}", keys::data_key(cluster, ObjectId(id)));
        std::fs::create_dir_all(data.file(&file).parent().unwrap()).unwrap();
        std::fs::copy(data.file(&objects(&report)[0]), data.file(&file)).unwrap();
        file
    };
    let orphan = copy(0);
    std::fs::write(data.file("objects/notes.txt"), "of somebody").unwrap();
    let report = data.clean();
    let found = report["objects"].as_array().unwrap().iter().find(|object| object["file"] == *orphan);
    assert_eq!(found.unwrap()["use"], "orphan");
    assert_eq!(report["totals"]["orphans"], 1);
    assert_eq!(report["other_files"], serde_json::json!(["objects/notes.txt"]));
    let text = String::from_utf8(data.run(&["-v"]).stdout).unwrap();
    assert!(text.contains(&format!("{orphan}: 23085 bytes, orphan")), "{text}");

    // An id that the metadata have not come to: they are older than the object.
    let later = copy(999);
    let finding = data.finding();
    assert_eq!((&finding["kind"], &finding["file"]), (&"foreign".into(), &later.into()));
}

#[test]
fn several_streams_objects_and_segments_are_clean_after_a_stop_and_a_kill() {
    let data = Data::new();
    let file = data.temporary.path().join("large");
    std::fs::write(&file, vec![b'x'; 20 << 20]).unwrap();
    let mut node = Node::start(&data.path());
    for name in ["many/a", "many/b", "many/c"] {
        node.run(&["create", name, "--content-type", "text/plain"]);
    }
    for round in 0..3 {
        for name in ["many/a", "many/b"] {
            let mut append = node.command(&["append", name]).stdin(Stdio::piped()).spawn().unwrap();
            let lines: String = (0..2000).map(|line| format!("{round} {line}\n")).collect();
            append.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
            assert!(append.wait().unwrap().success());
        }
        if round < 2 {
            assert!(node.stop().success());
            assert_eq!(objects(&data.clean()).len(), round + 1);
            node.restart();
        }
    }
    // More than a segment holds.
    let large = file.to_str().unwrap();
    node.run(&["append", "many/c", "--whole", large, large, large, large]);
    node.kill();
    let report = data.clean();
    assert_eq!(report["totals"]["records"], 12_004);
    assert_eq!(report["totals"]["logs_to_recover"], 1);
    assert!(report["totals"]["stream_bytes"].as_u64().unwrap() > 80 << 20);
    node.restart();
    assert!(node.stop().success());
    let report = data.clean();
    assert!(objects(&report).len() >= 4, "{:?}", report["objects"]);
    assert_eq!(report["totals"]["records"], 12_004);
    assert_eq!(report["totals"]["log_entries"], 0);
}

/// Where the next record of a stream goes.
async fn next_offset(node: &Node, name: &str) -> u64 {
    crate::node::client(&node.endpoint()).head(name).await.unwrap().next_offset
}

#[tokio::test]
async fn a_kill_under_load_leaves_a_clean_directory() {
    let data = Data::new();
    let mut node = Node::start(&data.path());
    let mut records = 0;
    for name in ["load/a", "load/b"] {
        node.run(&["create", name, "--content-type", "text/plain"]);
    }
    for round in 0..6_u64 {
        let mut writers: Vec<_> = ["load/a", "load/b"]
            .iter()
            .map(|name| {
                let args = ["append", name, "--retry", "0"];
                node.command(&args).stdin(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
            })
            .collect();
        let inputs: Vec<_> = writers.iter_mut().map(|writer| writer.stdin.take().unwrap()).collect();
        let threads: Vec<_> = inputs
            .into_iter()
            .map(|mut input| {
                std::thread::spawn(move || {
                    let line = "y".repeat(3000) + "\n";
                    while input.write_all(line.as_bytes()).is_ok() {}
                })
            })
            .collect();
        // Both writers are at work, however slow the machine; then a moment that differs each round.
        for (name, writer) in ["load/a", "load/b"].into_iter().zip(&mut writers) {
            let before = next_offset(&node, name).await;
            while next_offset(&node, name).await == before {
                assert_eq!(writer.try_wait().unwrap(), None, "the writer to {name} ended");
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        }
        tokio::time::sleep(Duration::from_millis(17 * round)).await;
        node.kill();
        for writer in &mut writers {
            writer.wait().unwrap();
        }
        for thread in threads {
            thread.join().unwrap();
        }
        let report = data.clean();
        let found = report["totals"]["records"].as_u64().unwrap();
        assert!(found > records, "{found} records, {records} in the round before");
        records = found;
        node.restart();
    }
}
