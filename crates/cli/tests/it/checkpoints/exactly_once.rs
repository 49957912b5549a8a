//! The position in the same transaction as what is done with an entry: whatever dies when, each entry counts once.

use std::time::Duration;

use rusqlite::{Connection, ErrorCode};

use super::postgres::Database;
use super::process::Process;
use super::{FIRST_ORDERS, ORDERS, World, cents, until};

/// In the middle of a transaction.
const MOMENTS: [&str; 4] = [
    "BEFORE UPDATE ON revenue",
    "AFTER UPDATE ON revenue",
    "BEFORE UPDATE ON position",
    "AFTER UPDATE ON position",
];

/// What is counted in a file, and the last that is.
fn counted(database: &Connection) -> (i64, Option<u64>) {
    let cents = database.query_row("SELECT cents FROM revenue", [], |row| row.get(0));
    let last = database.query_row("SELECT last FROM position", [], |row| row.get(0));
    (cents.unwrap_or_default(), last.ok())
}

/// Whether a write is under way for longer than one takes.
async fn writes_for_long(database: &Connection) -> bool {
    for _ in 0..20 {
        match database.execute_batch("BEGIN IMMEDIATE; ROLLBACK") {
            Ok(()) => return false,
            Err(error) => assert_eq!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy)),
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    true
}

#[tokio::test]
async fn in_sqlite() {
    let world = World::beginning().await;
    let path = world.directory.path().join("revenue.sqlite");
    let start = || Process::start(&world, "sqlite revenue", path.to_str().unwrap(), "never");
    // The first run makes the tables, and is killed when the first orders are counted.
    let process = start();
    until("the first orders are counted", || {
        std::future::ready(
            path.exists() && Connection::open(&path).is_ok_and(|at| counted(&at).1 == Some(FIRST_ORDERS - 1)),
        )
    })
    .await;
    process.kill();
    let database = Connection::open(&path).unwrap();
    database.busy_timeout(Duration::from_secs(60)).unwrap();
    let (sum, last) = counted(&database);
    assert_eq!((sum, last), (cents(FIRST_ORDERS - 1), Some(FIRST_ORDERS - 1)));
    world.orders(FIRST_ORDERS..ORDERS).await;
    // From here on each run is killed in the middle of a transaction, which a trigger makes endless.
    database
        .execute_batch(
            "CREATE VIEW endless AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n",
        )
        .unwrap();
    for moment in MOMENTS {
        let trigger = format!("CREATE TRIGGER wait {moment} BEGIN SELECT count(*) FROM endless; END");
        database.execute_batch(&trigger).unwrap();
        let process = start();
        database.busy_timeout(Duration::ZERO).unwrap();
        until(moment, async || writes_for_long(&database).await).await;
        process.kill();
        database.busy_timeout(Duration::from_secs(60)).unwrap();
        let (sum, last) = counted(&database);
        assert_eq!(sum, cents(last.unwrap()), "{moment}");
        database.execute_batch("DROP TRIGGER wait").unwrap();
    }
    assert!(start().wait().success());
    assert_eq!(counted(&database), (cents(ORDERS - 1), Some(ORDERS - 1)));
}

#[tokio::test]
async fn in_postgres() {
    let Some(database) = Database::new("revenue").await else { return };
    let world = World::beginning().await;
    let start = || Process::start(&world, "postgres revenue", &database.address, "never");
    let process = start();
    until("the first orders are counted", async || database.counted().await.1 == Some(FIRST_ORDERS - 1))
        .await;
    process.kill();
    until("what it asked for is over", async || database.is_idle().await).await;
    let (sum, last) = database.counted().await;
    assert_eq!((sum, last), (cents(FIRST_ORDERS - 1), Some(FIRST_ORDERS - 1)));
    world.orders(FIRST_ORDERS..ORDERS).await;
    // From here on each run is killed in the middle of a transaction, which waits for a lock of the test.
    for moment in MOMENTS {
        database.wait_at(moment).await;
        let process = start();
        until(moment, async || database.waiting().await == 1).await;
        process.kill();
        database.go_on().await;
        until("the transaction is over", async || database.is_idle().await).await;
        let now = database.counted().await;
        assert_eq!(now, (cents(now.1.unwrap()), last), "{moment}: nothing of it is there");
    }
    // And one is killed when it has asked for the commit. The next starts before that is done.
    database.wait_at("AT COMMIT").await;
    let process = start();
    until("it commits", async || database.waiting().await == 1).await;
    process.kill();
    let next = start();
    until("the next waits for it", async || database.waiting().await == 2).await;
    database.go_on().await;
    // Whether it had read the position by then or not, it goes on behind what the dead one counted, or gives up.
    next.wait();
    assert!(start().wait().success());
    assert_eq!(database.counted().await, (cents(ORDERS - 1), Some(ORDERS - 1)));
}

#[tokio::test]
async fn another_life_of_the_stream_is_no_place_to_go_on() {
    let world = World::new().await;
    let path = world.directory.path().join("revenue.sqlite");
    let run = async || super::sqlite_revenue::run(&world.kelda, &path).await;
    run().await.unwrap();
    world.kelda.delete("orders").await.unwrap();
    world.orders(0..ORDERS).await;
    let error = run().await.unwrap_err().to_string();
    assert!(error.contains("orders"), "{error}");
    assert_eq!(counted(&Connection::open(&path).unwrap()), (cents(ORDERS - 1), Some(ORDERS - 1)));
}
