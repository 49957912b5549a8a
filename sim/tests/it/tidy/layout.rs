//! Every source file says what it is; every crate has one test binary.

use super::{none, root, rust_sources};

#[test]
fn every_source_file_has_its_header() {
    let bare = rust_sources().into_iter().filter(|source| !source.text.starts_with("//! "));
    none(&bare.map(|source| source.path).collect::<Vec<_>>(), "a source file begins with a `//!` header");
}

#[test]
fn every_crate_has_one_test_binary() {
    let stray = rust_sources().into_iter().map(|source| source.path).filter(|path| {
        let parts: Vec<_> = path.split('/').collect();
        let tests = parts.iter().position(|part| *part == "tests");
        // `crates/<name>/src/.../tests` are unit tests, a part of the library.
        let beside = tests.is_some_and(|at| !parts[..at].contains(&"src"));
        beside && parts.get(tests.unwrap_or(0) + 1) != Some(&"it")
    });
    none(&stray.collect::<Vec<_>>(), "tests are in tests/it, linked once");
}

#[test]
fn the_lock_files_of_npm_name_no_host() {
    for folder in ["conformance/durable-streams", "conformance/amqp/clients/node"] {
        let lock = root().join(folder).join("package-lock.json");
        let text = std::fs::read_to_string(lock).unwrap();
        assert!(
            !text.contains("\"resolved\""),
            "{folder}: write it with omit-lockfile-registry-resolved=true"
        );
    }
}
