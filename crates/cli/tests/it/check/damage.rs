//! One fault in each kind of file, named with its place and the records concerned.

use std::io::Write;
use std::process::Stdio;

use super::sound::SEGMENT;
use super::{Data, find, objects, records};
use crate::node::Node;

const FOOTER_BYTES: usize = 88;

/// Where the index of an object begins, as its footer says.
fn index_position(bytes: &[u8]) -> u64 {
    let footer = &bytes[bytes.len() - FOOTER_BYTES..];
    u64::from_le_bytes(footer[56..64].try_into().unwrap())
}

#[test]
fn of_a_segment_header() {
    let data = Data::golden();
    data.flip(SEGMENT, 40);
    let finding = data.finding();
    assert_eq!((&finding["kind"], &finding["file"]), (&"damaged".into(), &SEGMENT.into()));
    assert_eq!(finding["position"], 0);
    assert_eq!(records(&finding, "golden/text"), ("20".to_owned(), None));
    assert_eq!(records(&finding, "golden/wal-only"), ("0".to_owned(), None));

    let output = data.run(&[]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains(&format!("damaged: {SEGMENT} at byte 0\n")), "{text}");
    assert!(text.contains("stream golden/text (id 1): from offset 20 on\n"), "{text}");
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(
        (output.status.code(), stderr.ends_with("is damaged: 1 finding\n")),
        (Some(6), true),
        "{stderr}"
    );
}

#[test]
fn of_an_entry_that_others_follow() {
    let data = Data::golden();
    data.flip(SEGMENT, 200);
    let finding = data.finding();
    assert_eq!((&finding["kind"], &finding["file"]), (&"damaged".into(), &SEGMENT.into()));
    assert_eq!(finding["position"], 80, "the first entry");
    assert_eq!(records(&finding, "golden/text"), ("20".to_owned(), None));
}

#[test]
fn of_a_segment_that_is_missing() {
    for whole in [false, true] {
        let data = Data::golden();
        match whole {
            true => std::fs::remove_dir_all(data.file("wal")).unwrap(),
            false => std::fs::remove_file(data.file(SEGMENT)).unwrap(),
        }
        let finding = data.finding();
        assert_eq!((&finding["kind"], &finding["file"]), (&"missing".into(), &SEGMENT.into()));
        assert_eq!(records(&finding, "golden/many"), ("200".to_owned(), None));
    }
}

#[test]
fn of_a_log_of_no_known_session() {
    let data = Data::golden();
    std::fs::create_dir(data.file("wal/99")).unwrap();
    let finding = data.finding();
    assert_eq!((&finding["kind"], &finding["file"]), (&"foreign".into(), &"wal/99".into()));
}

#[test]
fn of_a_block_in_an_object() {
    let data = Data::golden();
    let file = objects(&data.clean())[0].clone();
    let bytes = data.read(&file);
    let at = find(&bytes, b"line 3\n")[0];
    data.flip(&file, at as u64);
    let finding = data.finding();
    assert_eq!((&finding["kind"], &finding["file"]), (&"damaged".into(), &file.clone().into()));
    let position = finding["position"].as_u64().unwrap() as usize;
    assert_eq!(&bytes[position..position + 4], b"KENT", "an entry begins there");
    assert!(position < at && at < position + 4096, "{position} before {at}");
    // All of what a reader gets together with the record.
    assert_eq!(records(&finding, "golden/text"), ("0".to_owned(), Some("20".to_owned())));
    assert_eq!(finding["records"].as_array().unwrap().len(), 1, "{finding:#}");
}

#[test]
fn of_the_parts_of_an_object() {
    let data = Data::golden();
    let file = objects(&data.clean())[0].clone();
    let bytes = data.read(&file);
    let (index, footer) = (index_position(&bytes), (bytes.len() - FOOTER_BYTES) as u64);
    // What is flipped, where it is named, and whether records are concerned.
    for (flipped, named, concerned) in [(40, 0, false), (index + 1, index, true), (footer + 60, footer, true)]
    {
        data.flip(&file, flipped);
        let finding = data.finding();
        assert_eq!((&finding["kind"], &finding["file"]), (&"damaged".into(), &file.clone().into()));
        assert_eq!(finding["position"], named, "byte {flipped}");
        assert_eq!(!finding["records"].as_array().unwrap().is_empty(), concerned, "byte {flipped}");
        data.flip(&file, flipped);
    }
    data.clean();
}

#[test]
fn of_every_byte_of_an_object() {
    let data = stopped();
    for file in objects(&data.clean()) {
        let len = data.read(&file).len() as u64;
        // Reserved bytes are checked too, so there is no byte that may be another.
        for at in (0..len).step_by(usize::try_from(len / 60).unwrap()).chain([0, 79, 80, len - 1]) {
            data.flip(&file, at);
            let checked = data.check();
            assert_ne!(checked.code, 0, "byte {at} of {file}");
            for finding in checked.report["findings"].as_array().unwrap() {
                assert_eq!(finding["file"], file.as_str(), "byte {at}");
            }
            data.flip(&file, at);
        }
    }
    data.clean();
}

#[test]
fn of_an_object_that_is_missing_or_short() {
    let data = Data::golden();
    let file = objects(&data.clean())[1].clone();
    let bytes = data.read(&file);
    std::fs::write(data.file(&file), &bytes[..bytes.len() - 8]).unwrap();
    let checked = data.check();
    let first = &checked.report["findings"][0];
    assert_eq!((checked.code, &first["file"]), (6, &file.clone().into()));
    assert_eq!(first["position"], bytes.len() - 8);
    assert_eq!(records(first, "golden/many"), ("0".to_owned(), Some("200".to_owned())));

    std::fs::remove_file(data.file(&file)).unwrap();
    let finding = data.finding();
    assert_eq!((&finding["kind"], &finding["file"]), (&"missing".into(), &file.into()));
    assert_eq!(records(&finding, "golden/many"), ("0".to_owned(), Some("200".to_owned())));
    assert_eq!(records(&finding, "golden/ttl"), ("0".to_owned(), Some("1".to_owned())));
}

#[test]
fn of_the_marker() {
    let data = Data::golden();
    data.flip("objects/kelda-cluster", 20);
    let finding = data.finding();
    assert_eq!((&finding["kind"], &finding["file"]), (&"damaged".into(), &"objects/kelda-cluster".into()));
    std::fs::remove_file(data.file("objects/kelda-cluster")).unwrap();
    let finding = data.finding();
    assert_eq!((&finding["kind"], &finding["file"]), (&"missing".into(), &"objects/kelda-cluster".into()));
}

/// A directory whose node was stopped, so that all of its metadata are in the database's own file.
fn stopped() -> Data {
    let data = Data::new();
    let mut node = Node::start(&data.path());
    node.run(&["create", "a", "--content-type", "text/plain"]);
    let mut append = node.command(&["append", "a"]).stdin(Stdio::piped()).spawn().unwrap();
    append.stdin.take().unwrap().write_all(b"one\ntwo\n").unwrap();
    assert!(append.wait().unwrap().success());
    assert!(node.stop().success());
    data
}

#[test]
fn of_an_entry_of_the_metadata_log() {
    let data = stopped();
    data.clean();
    let database = "meta/log.sqlite";
    let entries = find(&data.read(database), b"KELDALOG");
    // The body of an entry behind the first, which names the cluster only.
    data.flip(database, entries[entries.len() / 2] as u64 + 90);
    let finding = data.finding();
    assert_eq!((&finding["kind"], &finding["file"]), (&"damaged".into(), &database.into()));
    let detail = finding["detail"].as_str().unwrap();
    assert!(detail.starts_with("entry ") && detail.contains("does not decode"), "{detail}");
    let report = data.check().report;
    assert_eq!(report["metadata"]["read"], false);
    assert_eq!(report["objects"][0]["use"], "unknown", "objects are verified by themselves then");
    assert_eq!(report["objects"][0]["records"], 2);
    let text = String::from_utf8(data.run(&[]).stdout).unwrap();
    assert!(text.contains("not checked: that needs the metadata"), "{text}");
}

#[test]
fn of_the_log_of_the_database() {
    let data = Data::golden();
    let frame = 24 + 4096;
    let log = "meta/log.sqlite-wal";
    let frames = (data.read(log).len() - 32) / frame;
    data.flip(log, (32 + 2 * frame + 2000) as u64);
    let checked = data.check();
    let first = &checked.report["findings"][0];
    assert_eq!((checked.code, &first["kind"], &first["file"]), (6, &"damaged".into(), &log.into()));
    assert_eq!(first["position"], 32 + 2 * frame);
    data.flip(log, (32 + 2 * frame + 2000) as u64);
    data.clean();
    // The last commit may have been torn by a crash; SQLite drops it, and so does a check.
    data.flip(log, (32 + (frames - 1) * frame + 2000) as u64);
    let after = data.check();
    let named = after.report["findings"].as_array().unwrap().iter().any(|finding| finding["file"] == log);
    assert!(!named, "{}", after.report["findings"]);
}

#[test]
fn of_metadata_that_are_gone() {
    let data = Data::golden();
    std::fs::remove_dir_all(data.file("meta")).unwrap();
    let finding = data.finding();
    assert_eq!((&finding["kind"], &finding["file"]), (&"missing".into(), &"meta/log.sqlite".into()));
    assert_eq!(data.check().report["objects"].as_array().unwrap().len(), 3);

    let data = Data::golden();
    std::fs::write(
        data.file("meta/log.sqlite"),
        "no database at all, and that is longer than a header of one is: xxxxxxxx",
    )
    .unwrap();
    std::fs::remove_file(data.file("meta/log.sqlite-wal")).unwrap();
    let finding = data.finding();
    assert_eq!((&finding["kind"], &finding["file"]), (&"damaged".into(), &"meta/log.sqlite".into()));
}
