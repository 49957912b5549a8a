//! What a repair does, and what it leaves alone.

use kelda_format::ids::{NodeId, SessionEpoch};
use kelda_format::wal::Seal;
use kelda_format::{ClusterId, ObjectId, SessionId, keys};
use serde_json::{Value, json};

use super::sound::SEGMENT;
use super::{Checked, Data, find, objects, tree};
use crate::golden::{check_all, first_golden};
use crate::node::{Node, kelda, stderr};

/// Repairs, and gives what is left.
fn repair(data: &Data) -> Checked {
    let output = data.run(&["--repair", "--yes", "--json"]);
    let stderr = String::from_utf8(output.stderr).unwrap();
    let report = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
    Checked { code: output.status.code().unwrap(), report, stderr }
}

fn cluster(report: &Value) -> ClusterId {
    let digits = report["cluster"].as_str().unwrap();
    let mut id = [0; 16];
    for (byte, digits) in id.iter_mut().zip(digits.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(digits).unwrap(), 16).unwrap();
    }
    ClusterId(id)
}

fn put(data: &Data, file: &str, bytes: &[u8]) -> String {
    std::fs::create_dir_all(data.file(file).parent().unwrap()).unwrap();
    std::fs::write(data.file(file), bytes).unwrap();
    file.to_owned()
}

/// Where the index of an object begins, as its footer says.
fn index_position(bytes: &[u8]) -> usize {
    let footer = &bytes[bytes.len() - 88..];
    usize::try_from(u64::from_le_bytes(footer[56..64].try_into().unwrap())).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_nothing_needs_goes_and_everything_else_stays() {
    let data = Data::golden();
    let report = data.clean();
    let cluster = cluster(&report);
    let session = |epoch| SessionId { node: NodeId(1), epoch: SessionEpoch(epoch) };
    let slot = |epoch, slot| format!("objects/{}", keys::wal_key(cluster, session(epoch), slot));
    let object = data.read(&objects(&report)[0]);
    let orphan = put(&data, &format!("objects/{}", keys::data_key(cluster, ObjectId(0))), &object);
    let gone = [
        orphan.clone(),
        put(&data, &format!("{}#7", objects(&report)[0]), b"half"),
        put(&data, "tmp/pack-1", b"half of an object"),
        put(&data, "wal/1/00000000000000000000", b"committed long ago"),
        put(&data, &slot(1, 0), b"KELDASLT, as far as anybody looks"),
        put(&data, &slot(1, 1), b""),
    ];
    let seal = Seal { cluster, session: session(1), slot: 2, by: session(2), nonce: 7 }.encode();
    let kept = [put(&data, &slot(1, 2), &seal), put(&data, "objects/notes.txt", b"of somebody")];
    let found = data.clean();
    assert_eq!((&found["totals"]["orphans"], &found["totals"]["leftovers"]), (&1.into(), &4.into()));
    let uses: Vec<_> = found["slots"].as_array().unwrap().iter().map(|slot| &slot["use"]).collect();
    assert_eq!(uses, ["left-over", "left-over", "seal"]);

    let text = data.run(&["-v"]);
    let text = String::from_utf8(text.stdout).unwrap();
    assert!(text.contains("tmp/pack-1: left by a temporary file"), "{text}");
    let before = tree(&data.path());
    let asked = data.run(&["--repair"]);
    assert_eq!(asked.status.code(), Some(2));
    let said = stderr(&asked);
    assert!(
        said.contains("remove 1 orphan with") && said.contains("2 slots") && said.contains("--yes"),
        "{said}"
    );
    assert!(tree(&data.path()) == before, "nothing is changed unasked");

    let repaired = repair(&data);
    assert_eq!((repaired.code, &repaired.report["result"]), (0, &"clean".into()), "{}", repaired.stderr);
    let done = &repaired.report["repair"];
    assert_eq!(done["removed_objects"], 1);
    assert_eq!(
        (&done["removed_object_bytes"], &done["removed_leftovers"]),
        (&object.len().into(), &5.into())
    );
    assert_eq!((&done["failed"], &done["rebuilt"]), (&json!([]), &json!([])));
    assert!(gone.iter().all(|file| !data.file(file).exists()), "{gone:?}");
    assert!(!data.file("wal/1").exists());
    assert!(kept.iter().all(|file| data.file(file).exists()), "{kept:?}");
    assert_eq!(
        (&repaired.report["totals"]["orphans"], &repaired.report["leftovers"]),
        (&0.into(), &json!([]))
    );
    let again = repair(&data);
    assert_eq!((again.code, &again.report["repair"]["removed_leftovers"]), (0, &0.into()));
    check_all(&Node::start(&data.path()), &first_golden()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_index_or_footer_is_built_anew_as_it_was() {
    let data = Data::golden();
    for file in objects(&data.clean()) {
        let bytes = data.read(&file);
        let (index, end) = (index_position(&bytes), bytes.len());
        for at in [index, index + 1, end - 89, end - 88, end - 70, end - 30, end - 1] {
            data.flip(&file, at as u64);
            let repaired = repair(&data);
            assert_eq!(repaired.code, 0, "byte {at} of {file}: {}", repaired.report);
            assert_eq!(repaired.report["repair"]["rebuilt"].as_array().unwrap().len(), 1);
            assert!(data.read(&file) == bytes, "byte {at} of {file}");
        }
        for cut in [index, index + 1, end - 88, end - 1] {
            std::fs::write(data.file(&file), &bytes[..cut]).unwrap();
            assert_eq!(repair(&data).code, 0, "cut at {cut} of {file}");
            assert!(data.read(&file) == bytes, "cut at {cut} of {file}");
        }
        // Both the header and the index: the footer still says whose entries they are.
        data.flip(&file, 20);
        data.flip(&file, index as u64);
        let repaired = repair(&data);
        assert_eq!(repaired.code, 6, "the header is only reported");
        assert_eq!(repaired.report["findings"].as_array().unwrap().len(), 1);
        assert_eq!(repaired.report["findings"][0]["position"], 0);
        data.flip(&file, 20);
        assert!(data.read(&file) == bytes);
    }
    data.clean();
    check_all(&Node::start(&data.path()), &first_golden()).await;
}

#[test]
fn damaged_records_are_left_as_they_are_and_named() {
    let data = Data::golden();
    let file = objects(&data.clean())[0].clone();
    let bytes = data.read(&file);
    let index = index_position(&bytes) as u64;
    data.flip(&file, find(&bytes, b"line 3\n")[0] as u64);
    data.flip(&file, index);
    let damaged = data.read(&file);
    let repaired = repair(&data);
    assert_eq!(repaired.code, 6);
    let failed = &repaired.report["repair"]["failed"];
    assert_eq!(failed.as_array().unwrap().len(), 1, "{failed}");
    assert_eq!(failed[0]["file"], file.as_str());
    assert!(failed[0]["detail"].as_str().unwrap().contains("the intact data end at byte"), "{failed}");
    assert!(data.read(&file) == damaged, "nothing that is damaged is touched");
    // The index alone is mended by hand: then only the records named cannot be read.
    data.flip(&file, index);
    let repaired = repair(&data);
    assert_eq!((repaired.code, &repaired.report["repair"]["rebuilt"]), (6, &json!([])));
    let mut node = Node::start(&data.path());
    let read = node.command(&["read", "golden/text"]).output().unwrap();
    assert_eq!(read.status.code(), Some(1), "{}", stderr(&read));
    assert_eq!(node.stdout(&["read", "golden/many", "--count", "1"]).lines().count(), 1);
    assert!(node.stop().success());
}

#[test]
fn what_the_metadata_do_not_know_is_left_alone() {
    let data = Data::golden();
    let report = data.clean();
    let cluster = cluster(&report);
    let object = data.read(&objects(&report)[0]);
    put(&data, &format!("objects/{}", keys::data_key(cluster, ObjectId(999))), &object);
    let unknown = SessionId { node: NodeId(1), epoch: SessionEpoch(99) };
    put(&data, &format!("objects/{}", keys::wal_key(cluster, unknown, 0)), b"of the future");
    std::fs::create_dir(data.file("wal/99")).unwrap();
    let before = tree(&data.path());
    let repaired = repair(&data);
    assert_eq!(repaired.code, 6);
    let kinds: Vec<_> = repaired.report["findings"].as_array().unwrap().iter().map(|f| &f["kind"]).collect();
    assert_eq!(kinds, ["foreign", "foreign", "foreign"], "{}", repaired.report["findings"]);
    assert!(tree(&data.path()) == before);

    // Nor anything at all when the metadata do not read.
    let data = Data::golden();
    put(&data, &format!("objects/{}", keys::data_key(cluster, ObjectId(0))), &object);
    std::fs::remove_dir_all(data.file("meta")).unwrap();
    let before = tree(&data.path());
    assert_eq!(repair(&data).code, 6);
    assert!(tree(&data.path()) == before);
}

#[test]
fn a_log_or_a_marker_is_never_repaired() {
    for (file, at) in [(SEGMENT, 200), ("objects/kelda-cluster", 20)] {
        let data = Data::golden();
        data.flip(file, at);
        let before = data.read(file);
        let repaired = repair(&data);
        assert_eq!((repaired.code, repaired.report["findings_total"].as_u64()), (6, Some(1)), "{file}");
        assert!(data.read(file) == before, "{file}");
    }
}

#[test]
fn a_store_elsewhere_is_checked_and_another_one_is_told_from_it() {
    let data = Data::golden();
    let elsewhere = data.temporary.path().join("elsewhere");
    std::fs::rename(data.file("objects"), &elsewhere).unwrap();
    let url = format!("file://{}", elsewhere.display());
    let check = |store: &str| {
        let output = data.run(&["--json", "--store", store]);
        (output.status.code(), serde_json::from_slice::<Value>(&output.stdout).unwrap_or(Value::Null), output)
    };
    let (code, report, _) = check(&url);
    assert_eq!((code, &report["store"]), (Some(0), &url.clone().into()), "{}", report["findings"]);
    assert!(report["objects"][0]["file"].as_str().unwrap().starts_with(&url));
    let missing = data.check();
    assert_eq!((missing.code, &missing.report["findings"][0]["file"]), (6, &"objects".into()));

    let text = kelda(&["check", "--data-dir"]).arg(data.path()).args(["--store", &url]).output().unwrap();
    assert!(String::from_utf8(text.stdout).unwrap().contains(&format!("object store    {url}\n")));
    let (code, _, output) = check("nonsense");
    assert_eq!(code, Some(1));
    assert!(stderr(&output).contains("name the store of this node with --store"), "{}", stderr(&output));

    let other = Data::new();
    let mut node = Node::start(&other.path());
    assert!(node.stop().success());
    let (code, report, _) = check(&format!("file://{}", other.file("objects").display()));
    assert_eq!(code, Some(6));
    assert_eq!(report["findings"][0]["kind"], "foreign", "{}", report["findings"]);
}
