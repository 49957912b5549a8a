//! Positions that are stored after an entry was handled: what a crash between the two hands over again, and no more.

use super::postgres::Database;
use super::process::Process;
use super::{ORDERS, World};

/// Runs that die at each point, and one that does not: what they handled, together.
fn handled(world: &World, what: &str, store: &str) -> Vec<u64> {
    let deaths = [
        "before it is handled:0",
        "after it is handled:0",
        "before the store:0",
        "after the store:0",
        "before it is handled:7",
        "after it is handled:11",
        "before the store:17",
        "after the store:23",
        "before the store:29",
        "after the store:29",
    ];
    for death in deaths {
        assert!(!Process::start(world, what, store, death).wait().success(), "{death}: it is dead");
    }
    assert!(Process::start(world, what, store, "never").wait().success());
    let log = std::fs::read_to_string(world.directory.path().join("log")).unwrap();
    log.lines().map(|line| line.parse().unwrap()).collect()
}

/// An entry is there once more for each death after it was handled and before that was stored.
fn expected() -> Vec<u64> {
    let times = |offset| match offset {
        0 => 3,
        11 | 17 | 29 => 2,
        _ => 1,
    };
    (0..ORDERS).flat_map(|offset| std::iter::repeat_n(offset, times(offset))).collect()
}

#[tokio::test]
async fn in_a_file() {
    let world = World::new().await;
    let store = world.directory.path().join("positions");
    assert_eq!(handled(&world, "file", store.to_str().unwrap()), expected());
}

#[tokio::test]
async fn in_sqlite() {
    let world = World::new().await;
    let store = world.directory.path().join("positions.sqlite");
    assert_eq!(handled(&world, "sqlite", store.to_str().unwrap()), expected());
}

#[tokio::test]
async fn in_postgres() {
    let Some(database) = Database::new("plain").await else { return };
    let world = World::new().await;
    assert_eq!(handled(&world, "postgres", &database.address), expected());
}

#[tokio::test]
async fn a_projection_of_files_has_each_whatever_kills_it() {
    let world = World::new().await;
    let store = world.directory.path().join("orders");
    std::fs::create_dir(&store).unwrap();
    let file = |id: u64| store.join(format!("order-{id}.json"));
    for killed_at in [0, 5, 20] {
        let process = Process::start(&world, "projection", store.to_str().unwrap(), "never");
        super::until("so many are written", || std::future::ready(file(killed_at).exists())).await;
        process.kill();
    }
    assert!(Process::start(&world, "projection", store.to_str().unwrap(), "never").wait().success());
    for id in 0..ORDERS {
        let order: serde_json::Value = serde_json::from_slice(&std::fs::read(file(id)).unwrap()).unwrap();
        assert_eq!(order["id"], id);
    }
    let position = std::fs::read_to_string(store.join("position.json")).unwrap();
    assert!(position.contains(r#""offset":29"#), "{position}");
}
