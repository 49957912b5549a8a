//! Copies that did not come to their end, and places that lack something.

use std::path::Path;

use super::{Place, check_everything, clean, files};
use crate::golden::first_directory;
use crate::node::{Node, kelda, stderr};

/// What a start on a directory says when it is refused.
fn refusal(data: &Path) -> String {
    let args =
        ["serve", "--listen", "127.0.0.1:0", "--amqp-listen", "off", "--admin-listen", "off", "--data-dir"];
    let output = kelda(&args).arg(data).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    stderr(&output)
}

/// The objects of a place, without the marker.
fn objects(dir: &Path) -> Vec<std::path::PathBuf> {
    let all = files(dir).into_iter().map(|(path, _)| path);
    all.filter(|path| path.to_str().unwrap().contains("/data/")).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restoration_goes_on_where_it_was_interrupted() {
    let place = Place::new();
    let original = first_directory(place.temporary.path());
    let taken = place.back_up(&original, "backups");
    let data = place.path("restored");
    let dir = data.to_str().unwrap();
    // One object cannot be read: a link to itself is in its place.
    let object = objects(&place.path("backups")).pop().unwrap();
    let bytes = std::fs::read(&object).unwrap();
    std::fs::remove_file(&object).unwrap();
    std::os::unix::fs::symlink(&object, &object).unwrap();
    let from = place.url("backups");
    let (code, said) = place.fails(&["restore", "--from", &from, "--data-dir", dir]);
    assert_eq!(code, 1, "{said}");
    let said = refusal(&data);
    assert!(said.contains("was not finished: run the same kelda restore again"), "{said}");
    let checked = kelda(&["check", "--json", "--data-dir", dir]).output().unwrap();
    assert_eq!(checked.status.code(), Some(6));
    let report: serde_json::Value = serde_json::from_slice(&checked.stdout).unwrap();
    assert_eq!(report["findings"].as_array().unwrap().len(), 1, "{report:#}");
    assert!(report["findings"][0]["detail"].as_str().unwrap().contains("was not finished"), "{report:#}");
    let verb = place.fails(&["migrate", "--data-dir", dir, "--to", &place.url("x")]);
    assert_eq!(verb.0, 1);

    std::fs::remove_file(&object).unwrap();
    std::fs::write(&object, bytes).unwrap();
    // Another backup is not mixed in.
    let later = place.back_up(&original, "backups");
    let id = later["backup"].as_str().unwrap();
    let (code, said) = place.fails(&["restore", "--from", &from, "--backup", id, "--data-dir", dir]);
    assert!(code == 1 && said.contains("ask for the same again"), "{said}");
    let restored = place.restore("backups", "restored");
    assert_eq!(restored["backup"], taken["backup"], "the one that was begun, not the newest");
    check_everything(Node::start(&data), &data, "local").await;
}

#[test]
fn every_step_of_a_restoration_can_be_the_last_before_a_crash() {
    let place = Place::new();
    let original = first_directory(place.temporary.path());
    let taken = place.back_up(&original, "backups");
    place.restore("backups", "whole");
    let whole = place.path("whole");
    let state = |claiming: bool| {
        serde_json::json!({
            "backup": taken["backup"], "from": place.url("backups"), "claiming": claiming,
            "store": format!("file://{}", place.path("cut").join("objects").display()),
        })
        .to_string()
    };
    let cut = place.path("cut");
    let copied = objects(&whole.join("objects"));
    // What is there after each step: objects, the marker, the metadata in their place.
    for (objects, claiming, marker, meta) in [
        (0, false, false, false),
        (1, false, false, false),
        (copied.len(), true, false, false),
        (copied.len(), true, true, false),
        (copied.len(), true, true, true),
    ] {
        let _ = std::fs::remove_dir_all(&cut);
        std::fs::create_dir_all(cut.join("objects")).unwrap();
        std::fs::write(cut.join("restore"), state(claiming)).unwrap();
        for file in copied.iter().take(objects) {
            let to = cut.join(file.strip_prefix(&whole).unwrap());
            std::fs::create_dir_all(to.parent().unwrap()).unwrap();
            std::fs::copy(file, to).unwrap();
        }
        if marker {
            std::fs::copy(whole.join("objects/kelda-cluster"), cut.join("objects/kelda-cluster")).unwrap();
        }
        if meta {
            std::fs::create_dir(cut.join("meta")).unwrap();
            std::fs::copy(whole.join("meta/log.sqlite"), cut.join("meta/log.sqlite")).unwrap();
        } else {
            std::fs::write(cut.join("restore.sqlite"), "half of a database").unwrap();
        }
        assert!(refusal(&cut).contains("was not finished"));
        place.restore("backups", "cut");
        if !meta {
            clean(&cut, "local");
        }
        let mut node = Node::start(&cut);
        assert!(node.stdout(&["read", "golden/text"]).starts_with("line 0\nline 1\n"));
        assert!(node.stop().success());
        clean(&cut, "local");
    }
}

#[test]
fn a_store_that_was_claimed_meanwhile_or_holds_objects_is_not_taken() {
    let place = Place::new();
    let original = first_directory(place.temporary.path());
    place.back_up(&original, "backups");
    place.restore("backups", "first");
    std::fs::create_dir(place.path("second")).unwrap();
    std::fs::rename(place.path("first/objects"), place.path("second/objects")).unwrap();
    let second = place.path("second");
    let args = ["restore", "--from", &place.url("backups"), "--data-dir", second.to_str().unwrap()];
    let (code, said) = place.fails(&args);
    assert!(code == 1 && said.contains("belongs to cluster"), "{said}");
    std::fs::remove_file(second.join("objects/kelda-cluster")).unwrap();
    let (code, said) = place.fails(&args);
    assert!(code == 1 && said.contains("though no marker"), "{said}");
    assert!(!second.join("restore").exists() && !second.join("meta").exists());
}

#[test]
fn a_backup_without_its_manifest_is_none_and_a_damaged_one_is_refused() {
    let place = Place::new();
    let original = first_directory(place.temporary.path());
    let first = place.back_up(&original, "backups");
    let second = place.back_up(&original, "backups");
    let manifest = |taken: &serde_json::Value| {
        let id = format!("/backup/{}/manifest", taken["backup"].as_str().unwrap());
        let all = files(&place.path("backups")).into_iter().map(|(path, _)| path);
        all.into_iter().find(|path| path.to_str().unwrap().ends_with(&id)).unwrap()
    };
    std::fs::remove_file(manifest(&second)).unwrap();
    let listed = place.json(&["backup", "--to", &place.url("backups"), "--list"]);
    assert_eq!(listed["backups"].as_array().unwrap().len(), 1);
    let snapshot = manifest(&first).with_file_name("snapshot");
    let mut bytes = std::fs::read(&snapshot).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&snapshot, bytes).unwrap();
    let data = place.path("restored");
    let args = ["restore", "--from", &place.url("backups"), "--data-dir", data.to_str().unwrap()];
    let (code, said) = place.fails(&args);
    assert!(code == 6 && said.contains("is not what the manifest says"), "{code} {said}");
    assert!(!data.join("restore").exists());
}

#[test]
fn objects_that_are_damaged_or_missing_hold_up_no_other_and_are_named() {
    let place = Place::new();
    let original = first_directory(place.temporary.path());
    let mut node = Node::start(&original);
    assert!(node.stop().success());
    let checked = kelda(&["check", "--json", "--data-dir", original.to_str().unwrap()]).output().unwrap();
    let report: serde_json::Value = serde_json::from_slice(&checked.stdout).unwrap();
    let used = report["objects"].as_array().unwrap().iter().filter(|object| object["use"] == "referenced");
    let all: Vec<_> = used.map(|object| original.join(object["file"].as_str().unwrap())).collect();
    let (bad, gone) = (&all[0], &all[1]);
    let mut bytes = std::fs::read(bad).unwrap();
    let footer = bytes.len() - 30;
    bytes[footer] ^= 1;
    std::fs::write(bad, &bytes).unwrap();
    std::fs::remove_file(gone).unwrap();
    let output =
        place.run(&["backup", "--data-dir", original.to_str().unwrap(), "--to", &place.url("backups")]);
    assert_eq!(output.status.code(), Some(6), "{}", stderr(&output));
    let taken: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (taken["missing"].as_array().unwrap().len(), taken["damaged"].as_array().unwrap().len()),
        (1, 1)
    );
    let listed = place.json(&["backup", "--to", &place.url("backups"), "--list"]);
    assert_eq!(listed["backups"][0]["missing"], taken["missing"]);

    let data = place.path("restored");
    let args = ["restore", "--from", &place.url("backups"), "--data-dir", data.to_str().unwrap()];
    assert_eq!(place.fails(&args).0, 6);
    assert_eq!(std::fs::read(data.join(bad.strip_prefix(&original).unwrap())).unwrap(), bytes, "as it was");
    let mut node = Node::start(&data);
    assert!(node.stop().success());
    // What was repaired since is copied again.
    let repaired = ["check", "--repair", "--yes", "--data-dir", original.to_str().unwrap()];
    assert_eq!(place.run(&repaired).status.code(), Some(6), "one is missing for good");
    let again =
        place.run(&["backup", "--data-dir", original.to_str().unwrap(), "--to", &place.url("backups")]);
    let again: serde_json::Value = serde_json::from_slice(&again.stdout).unwrap();
    assert_eq!((&again["damaged"], &again["copied_objects"]), (&serde_json::json!([]), &1.into()));
}
