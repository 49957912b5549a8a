//! What is not checked, and why.

use super::{Data, objects};
use crate::node::Node;

#[test]
fn a_directory_in_use() {
    let data = Data::new();
    let mut node = Node::start(&data.path());
    let refused = data.run(&[]);
    let holder = String::from_utf8(data.read("lock")).unwrap();
    assert_eq!((refused.status.code(), refused.stdout.len()), (Some(1), 0));
    let expected = format!("is in use by a running node ({holder}): stop the node, or check a copy");
    let stderr = String::from_utf8(refused.stderr).unwrap();
    assert!(stderr.contains(&expected), "{stderr}");
    node.kill();
    data.clean();
    assert_eq!(String::from_utf8(data.read("lock")).unwrap(), holder, "the lock file says what it said");
}

#[test]
fn what_is_no_data_directory() {
    let data = Data::new();
    let none = data.check();
    assert_eq!(none.code, 1);
    assert!(none.stderr.contains("there is no directory"), "{}", none.stderr);
    assert!(!data.path().exists());

    std::fs::create_dir(data.path()).unwrap();
    let empty = data.check();
    assert_eq!(empty.code, 1);
    assert!(empty.stderr.contains("is empty: no node has stored anything in it"), "{}", empty.stderr);

    std::fs::write(data.file("letter.txt"), "dear").unwrap();
    let other = data.check();
    assert_eq!(other.code, 1);
    assert!(other.stderr.contains("is not a data directory of Kelda"), "{}", other.stderr);

    std::fs::remove_dir_all(data.path()).unwrap();
    std::fs::write(data.path(), "a file").unwrap();
    assert_eq!(data.check().code, 1);
}

#[test]
fn what_a_newer_version_wrote() {
    let data = Data::golden();
    let file = objects(&data.clean())[0].clone();
    let footer = data.read(&file).len() as u64 - 88;
    data.write(&file, footer + 8, &3_u16.to_le_bytes());
    let checked = data.check();
    assert_eq!((checked.code, &checked.report["result"]), (1, &"newer".into()));
    assert!(checked.stderr.contains("was written by a newer version of Kelda"), "{}", checked.stderr);
    let finding = &checked.report["findings"][0];
    assert_eq!((&finding["kind"], &finding["file"]), (&"newer".into(), &file.into()));

    let data = Data::new();
    let mut node = Node::start(&data.path());
    assert!(node.stop().success());
    // The version of the layout, in the header of the database.
    data.write("meta/log.sqlite", 60, &2_u32.to_be_bytes());
    let checked = data.check();
    assert_eq!((checked.code, &checked.report["result"]), (1, &"newer".into()));
    let finding = &checked.report["findings"][0];
    assert_eq!((&finding["kind"], &finding["file"]), (&"newer".into(), &"meta/log.sqlite".into()));
    assert!(finding["detail"].as_str().unwrap().contains("layout version 2"), "{finding}");
}
