//! Backups of a running node.

use super::{Place, check_everything, clean};
use crate::golden::first_directory;
use crate::node::{Node, kelda, stderr};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_running_node_comes_back_from_its_backup() {
    let place = Place::new();
    let mut node = Node::with(&first_directory(place.temporary.path()), &["--admin-listen", "127.0.0.1:0"]);
    let (to, admin) = (place.url("backups"), node.admin().to_owned());
    let taken = place.json(&["backup", "--to", &to, "--admin", &admin]);
    assert_eq!((&taken["to"], &taken["streams"]), (&to.clone().into(), &20.into()));
    assert_eq!(taken["records"], 270, "what was only in the write-ahead log is in it");
    node.kill();
    let restored = place.restore("backups", "restored");
    assert_eq!(restored["backup"], taken["backup"]);
    assert_eq!(restored["copied_objects"], taken["objects"]);
    let data = place.path("restored");
    check_everything(Node::start(&data), &data, "local").await;
}

#[test]
fn what_was_acknowledged_before_is_in_it_and_only_new_objects_are_copied() {
    let place = Place::new();
    let mut node = Node::with(&place.path("data"), &["--admin-listen", "127.0.0.1:0"]);
    node.run(&["create", "s", "--content-type", "text/plain"]);
    let to = place.url("backups");
    let admin = node.admin().to_owned();
    let take = || place.json(&["backup", "--to", &to, "--admin", &admin]);
    let mut ids = Vec::new();
    for round in 1..=3_u64 {
        assert!(node.feed(&["append", "s"], b"one\ntwo\n").status.success());
        let taken = take();
        assert_eq!((&taken["records"], &taken["objects"]), (&(2 * round).into(), &round.into()));
        assert_eq!(taken["copied_objects"], 1, "round {round}");
        ids.push(taken["backup"].as_str().unwrap().to_owned());
    }
    let again = take();
    assert_eq!((&again["copied_objects"], &again["objects"]), (&0.into(), &3.into()));
    assert!(node.stop().success());

    let listed = place.json(&["backup", "--to", &to, "--list"]);
    let backups = listed["backups"].as_array().unwrap();
    assert_eq!(backups.len(), 4);
    assert!(ids.iter().all(|id| backups.iter().any(|backup| backup["backup"] == **id)));
    let text = kelda(&["backup", "--to", &to, "--list"]).output().unwrap();
    let text = String::from_utf8(text.stdout).unwrap();
    assert!(text.contains(&ids[1]) && text.contains("4 records"), "{text}");

    // An earlier one of them.
    let data = place.path("earlier");
    let args = ["restore", "--from", &to, "--backup", &ids[1], "--data-dir", data.to_str().unwrap()];
    place.json(&args);
    clean(&data, "local");
    let mut node = Node::start(&data);
    assert_eq!(node.stdout(&["read", "s"]), "one\ntwo\none\ntwo\n");
    assert!(node.stop().success());
}

#[test]
fn a_restored_cluster_and_the_one_it_came_from_share_a_place_of_backups() {
    let place = Place::new();
    let append = |data: &str, text: &str| {
        let mut node = Node::start(&place.path(data));
        assert!(node.feed(&["append", "s"], text.as_bytes()).status.success());
        assert!(node.stop().success());
        place.back_up(&place.path(data), "backups")
    };
    let mut node = Node::start(&place.path("one"));
    node.run(&["create", "s", "--content-type", "text/plain"]);
    assert!(node.stop().success());
    append("one", "common\n");
    place.restore("backups", "two");
    // Both go on, and give out ids; then each is restored from its own last backup.
    let of_one = append("one", "one\n");
    let of_two = append("two", "two\n");
    for (taken, text) in [(of_one, "common\none\n"), (of_two, "common\ntwo\n")] {
        assert_eq!(taken["copied_objects"], 1, "{taken}");
        let id = taken["backup"].as_str().unwrap();
        let to = place.path(&format!("again-{id}"));
        let from = place.url("backups");
        place.json(&["restore", "--from", &from, "--backup", id, "--data-dir", to.to_str().unwrap()]);
        let mut node = Node::start(&to);
        assert_eq!(node.stdout(&["read", "s"]), text);
        assert!(node.stop().success());
    }
}

#[test]
fn the_admin_listener_takes_only_what_no_browser_page_can_send() {
    let place = Place::new();
    let node = Node::with(&place.path("data"), &["--admin-listen", "127.0.0.1:0"]);
    let post = |kind: &str, body: &str| {
        let url = format!("{}/backup", node.admin());
        let kind = format!("Content-Type: {kind}");
        let args = ["-s", "-X", "POST", "-H", &kind, "-d", body, "-w", "\n%{http_code}", &url];
        let output = std::process::Command::new("curl").args(args).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let body = format!("{{\"to\": \"{}\"}}", place.url("backups"));
    let refused = post("text/plain", &body);
    assert!(refused.ends_with("\n400") && refused.contains("application/json"), "{refused}");
    assert!(!place.path("backups").exists());
    let wrong = post("application/json", "{}");
    assert!(wrong.ends_with("\n400"), "{wrong}");
    let taken = post("application/json", &body);
    assert!(taken.ends_with("\n200") && taken.contains("\"done\""), "{taken}");
}

#[test]
fn a_node_that_is_not_there_is_said_so() {
    let place = Place::new();
    let output = place.run(&["backup", "--to", &place.url("backups"), "--admin", "http://127.0.0.1:1"]);
    assert_eq!(output.status.code(), Some(5), "{}", stderr(&output));
}
