//! Backups of stopped nodes, and moves to another store.

use super::{Place, check_everything, files};
use crate::golden::first_directory;
use crate::node::Node;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_node_comes_back_from_its_backup() {
    let place = Place::new();
    let data = first_directory(place.temporary.path());
    let taken = place.back_up(&data, "backups");
    assert_eq!(taken["records"], 270);
    let restored = place.restore("backups", "restored");
    assert_eq!(
        (&restored["missing"], &restored["damaged"]),
        (&serde_json::json!([]), &serde_json::json!([]))
    );
    let data = place.path("restored");
    check_everything(Node::start(&data), &data, "local").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_moves_to_another_directory_of_objects() {
    let place = Place::new();
    let data = first_directory(place.temporary.path());
    let to = place.url("objects");
    let args = ["migrate", "--data-dir", data.to_str().unwrap(), "--to", &to];
    let moved = place.json(&args);
    assert_eq!(moved["serve"], format!("kelda serve --data-dir {} --store {to}", data.display()));
    let (old, metadata) = (files(&data.join("objects")), files(&data.join("meta")));
    // The same again finds everything there, and changes neither side.
    let new = files(&place.path("objects"));
    let again = place.json(&args);
    assert_eq!((&again["copied_objects"], &again["present_objects"]), (&0.into(), &moved["copied_objects"]));
    assert!(files(&data.join("objects")) == old && files(&place.path("objects")) == new);
    assert!(files(&data.join("meta")) == metadata, "names, offsets and the rest are where they were");

    // The objects of the new place are all that is needed.
    std::fs::remove_dir_all(data.join("objects")).unwrap();
    check_everything(Node::with(&data, &["--store", &to]), &data, &to).await;
    assert!(!data.join("objects").exists());
}
