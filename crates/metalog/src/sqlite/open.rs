//! Opening the database: owns its layout and its durability settings, guarantees that what it returns is a
//! metadata log of a known layout that syncs every commit, never repairs anything.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension, TransactionBehavior};

use super::BUSY_TIMEOUT;
use super::error::{damaged, log_error};
use crate::store::{FIRST_INDEX, LogError};

/// The layout below; raised when a table changes.
pub(super) const LAYOUT: u32 = 1;

/// "Klda" in the file's header, so that `file` and we can tell what the database is.
pub(super) const APPLICATION_ID: u32 = 0x4b6c_6461;

/// `synchronous=FULL`: the WAL is synced on each commit.
const SYNCHRONOUS_FULL: i64 = 2;

const TABLES: &str = "
    CREATE TABLE log (idx INTEGER PRIMARY KEY, entry BLOB NOT NULL) STRICT;
    CREATE TABLE snapshot_part (
        name TEXT NOT NULL, part INTEGER NOT NULL, data BLOB NOT NULL, PRIMARY KEY (name, part)
    ) STRICT;
    CREATE TABLE quarantine (name TEXT PRIMARY KEY, idx INTEGER NOT NULL, reason TEXT NOT NULL) STRICT;
    CREATE TABLE pointer (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        newest TEXT, newest_idx INTEGER NOT NULL, previous TEXT, bound INTEGER NOT NULL
    ) STRICT;
";

pub(super) fn open(path: &Path) -> Result<Connection, LogError> {
    let named = |detail: String| format!("{}: {detail}", path.display());
    prepare(path).map_err(|error| match error {
        LogError::Unavailable(detail) => LogError::Unavailable(named(detail)),
        LogError::Damaged(detail) => LogError::Damaged(named(detail)),
        other => other,
    })
}

fn prepare(path: &Path) -> Result<Connection, LogError> {
    let mut connection = Connection::open(path).map_err(log_error)?;
    connection.busy_timeout(BUSY_TIMEOUT).map_err(log_error)?;
    // The layout is looked at before anything is written: a foreign file stays as it is.
    let empty = check_identity(&connection)?;
    durable(&connection)?;
    if empty {
        create(&mut connection)?;
        check_identity(&connection)?;
    }
    Ok(connection)
}

/// Whether the database is empty; an error if it is something else than a metadata log of a known layout.
fn check_identity(connection: &Connection) -> Result<bool, LogError> {
    let application: u32 = pragma(connection, "application_id")?;
    let layout: u32 = pragma(connection, "user_version")?;
    if application == APPLICATION_ID {
        return match layout {
            LAYOUT => Ok(false),
            newer if newer > LAYOUT => Err(LogError::Newer { found: newer, known: LAYOUT }),
            other => Err(damaged(format!("layout version {other} never existed, {LAYOUT} is the first"))),
        };
    }
    let table: Option<String> = connection
        .query_row("SELECT name FROM sqlite_schema LIMIT 1", [], |row| row.get(0))
        .optional()
        .map_err(log_error)?;
    match table {
        None if application == 0 => Ok(true),
        _ => Err(damaged(format!("the database is not a metadata log (application id {application:#x})"))),
    }
}

fn durable(connection: &Connection) -> Result<(), LogError> {
    let mode: String =
        connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0)).map_err(log_error)?;
    connection.execute_batch("PRAGMA synchronous = FULL; PRAGMA cell_size_check = ON;").map_err(log_error)?;
    let synchronous: i64 = pragma(connection, "synchronous")?;
    if !mode.eq_ignore_ascii_case("wal") || synchronous != SYNCHRONOUS_FULL {
        return Err(damaged(format!(
            "commits would not be durable: journal_mode is {mode} and has to be wal, \
             synchronous is {synchronous} and has to be {SYNCHRONOUS_FULL}"
        )));
    }
    Ok(())
}

fn create(connection: &mut Connection) -> Result<(), LogError> {
    let transaction =
        connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(log_error)?;
    if check_identity(&transaction)? {
        let pointer = format!("INSERT INTO pointer VALUES (1, NULL, 0, NULL, {FIRST_INDEX});");
        let identity = format!("PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {LAYOUT};");
        transaction.execute_batch(&format!("{TABLES}{pointer}{identity}")).map_err(log_error)?;
    }
    transaction.commit().map_err(log_error)
}

fn pragma<T: rusqlite::types::FromSql>(connection: &Connection, name: &str) -> Result<T, LogError> {
    connection.query_row(&format!("PRAGMA {name}"), [], |row| row.get(0)).map_err(log_error)
}
