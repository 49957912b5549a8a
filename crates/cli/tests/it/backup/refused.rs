//! What is refused, before anything is changed.

use super::{Place, files};
use crate::golden::first_directory;
use crate::node::Node;

#[test]
fn what_is_in_the_way_is_named_and_left_alone() {
    let place = Place::new();
    let data = first_directory(place.temporary.path());
    place.back_up(&data, "backups");
    let mut other = Node::start(&place.path("other"));
    assert!(other.stop().success());
    let before = files(place.temporary.path());
    let (data, backups, other) = (data.to_str().unwrap(), place.url("backups"), place.path("other"));
    let other = other.to_str().unwrap();
    let (of_data, of_other) = (format!("file://{data}/objects"), format!("file://{other}/objects"));
    let fresh = place.path("fresh");
    let fresh = fresh.to_str().unwrap();
    let cases: [(&[&str], &str); 9] = [
        (&["backup", "--data-dir", data, "--to", &of_data], "a node keeps its objects here"),
        (&["backup", "--data-dir", other, "--to", &backups], "has backups of cluster"),
        (&["backup", "--data-dir", fresh, "--to", &backups], "there is no directory"),
        (&["migrate", "--data-dir", data, "--to", &backups], "backups are kept here"),
        (&["migrate", "--data-dir", data, "--to", &of_other], "it belongs to cluster"),
        (&["migrate", "--data-dir", data, "--store", &of_other, "--to", &backups], "belongs to cluster"),
        (&["restore", "--from", &backups, "--data-dir", other], "has metadata already"),
        (&["restore", "--from", &of_data, "--data-dir", other], "a node keeps its objects here"),
        (
            &["restore", "--from", &backups, "--backup", "none", "--data-dir", other],
            "there is no backup none",
        ),
    ];
    for (args, expected) in cases {
        let (code, said) = place.fails(args);
        assert!(code == 1 && said.contains(expected), "kelda {args:?}: {code} {said}");
    }
    assert!(files(place.temporary.path()) == before, "nothing was changed");

    let running = Node::start(&place.path("running"));
    let in_use = place.path("running");
    for verb in ["backup", "migrate"] {
        let (code, said) =
            place.fails(&[verb, "--data-dir", in_use.to_str().unwrap(), "--to", &place.url("x")]);
        assert!(code == 1 && said.contains("in use by a running node"), "{verb}: {code} {said}");
    }
    drop(running);
}

#[test]
fn no_node_starts_on_a_place_of_backups() {
    let place = Place::new();
    let data = first_directory(place.temporary.path());
    place.back_up(&data, "backups");
    let before = files(&place.path("backups"));
    let (fresh, url) = (place.path("fresh"), place.url("backups"));
    let args = [
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--amqp-listen",
        "off",
        "--admin-listen",
        "off",
        "--store",
        &url,
        "--data-dir",
    ];
    let output = crate::node::kelda(&args).arg(&fresh).output().unwrap();
    let said = crate::node::stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("backups are kept here"), "{said}");
    assert!(files(&place.path("backups")) == before);
}
