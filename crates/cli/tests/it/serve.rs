//! What `kelda serve` says before it serves.

use crate::node::{kelda, stderr};

#[test]
fn a_data_directory_that_is_a_file_is_named_as_that() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "not ours").unwrap();
    for path in [file.clone(), file.join("below")] {
        let output = kelda(&[
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--amqp-listen",
            "off",
            "--admin-listen",
            "off",
            "--data-dir",
        ])
        .arg(&path)
        .output()
        .unwrap();
        let error = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{error}");
        assert!(error.contains(path.to_str().unwrap()) && error.contains("is a file"), "{error}");
        assert!(error.contains("--data-dir"), "{error}");
    }
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "not ours");
}
