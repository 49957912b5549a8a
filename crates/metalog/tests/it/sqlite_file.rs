//! What is special to the SQLite backend: durability settings, and files that it must not touch.

use bytes::Bytes;
use kelda_metalog::{LogError, LogStore};
use rusqlite::Connection;

use crate::backends::Sqlite;

#[tokio::test]
async fn the_file_is_in_wal_mode_and_says_what_it_is() {
    let backend = Sqlite::new();
    let log = backend.open().await.unwrap();
    log.append(1, Bytes::from_static(b"entry")).await.unwrap();
    let other = Connection::open(backend.path()).unwrap();
    let pragma = |name: &str| -> String {
        let query = format!("SELECT CAST({name} AS TEXT) FROM pragma_{name}");
        other.query_row(&query, [], |row| row.get(0)).unwrap()
    };
    assert_eq!(pragma("journal_mode"), "wal");
    assert_eq!(pragma("user_version"), "1");
    assert_eq!(pragma("application_id"), 0x4b6c_6461.to_string());
}

#[tokio::test]
async fn a_newer_layout_is_refused_and_left_alone() {
    let backend = Sqlite::new();
    drop(backend.open().await.unwrap());
    Connection::open(backend.path()).unwrap().execute_batch("PRAGMA user_version = 2").unwrap();
    assert_eq!(backend.open().await.err(), Some(LogError::Newer { found: 2, known: 1 }));
}

#[tokio::test]
async fn a_foreign_database_is_refused_and_left_alone() {
    let backend = Sqlite::new();
    Connection::open(backend.path()).unwrap().execute_batch("CREATE TABLE mine (x)").unwrap();
    assert!(matches!(backend.open().await, Err(LogError::Damaged(_))));
    let tables: u32 = Connection::open(backend.path())
        .unwrap()
        .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
        .unwrap();
    assert_eq!(tables, 1);
}

#[tokio::test]
async fn a_file_of_garbage_is_refused_and_left_alone() {
    let backend = Sqlite::new();
    let garbage = vec![7; 8192];
    std::fs::write(backend.path(), &garbage).unwrap();
    let error = backend.open().await.unwrap_err();
    assert!(matches!(&error, LogError::Damaged(detail) if detail.contains("meta.db")), "{error}");
    assert_eq!(std::fs::read(backend.path()).unwrap(), garbage);
}

#[tokio::test]
async fn a_missing_folder_is_an_error_that_names_the_file() {
    let backend = Sqlite::new();
    let env = kelda_env::Env::real(backend.path().parent().unwrap()).unwrap();
    let path = backend.path().with_file_name("absent").join("meta.db");
    let error = kelda_metalog::SqliteLog::open(&env, &path).await.err().unwrap();
    assert!(error.to_string().contains("absent"), "{error}");
}

#[tokio::test]
async fn a_lost_entry_is_damage_and_not_the_end() {
    let backend = Sqlite::new();
    let log = backend.open().await.unwrap();
    for index in 1..=6 {
        log.append(index, Bytes::from(format!("entry {index}"))).await.unwrap();
    }
    log.put_snapshot(6, Bytes::from_static(b"state")).await.unwrap();
    Connection::open(backend.path()).unwrap().execute("DELETE FROM log WHERE idx >= 4", []).unwrap();
    assert!(matches!(log.read(4, 10).await, Err(LogError::Damaged(_))));
    let other = Connection::open(backend.path()).unwrap();
    other.execute("INSERT INTO log VALUES (6, x'00')", []).unwrap();
    assert!(matches!(log.read(3, 10).await, Err(LogError::Damaged(_))));
}
