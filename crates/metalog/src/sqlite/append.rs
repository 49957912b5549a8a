//! One append in one transaction: owns the checks, guarantees that bound, slot and insert are seen together
//! (P23) and that a commit of unknown outcome ends the connection, never tries again by itself.

use rusqlite::{Connection, ErrorCode, OptionalExtension, Transaction, TransactionBehavior, params};

use super::Session;
use super::error::certainly_not_committed;
use super::read::{Pointer, pointer};
use crate::store::{AppendError, FIRST_INDEX};

pub(super) fn append(session: &mut Session, index: u64, entry: &[u8]) -> Result<(), AppendError> {
    session.usable().map_err(AppendError::Broken)?;
    let Some(transaction) = insert(&mut session.connection, index, entry)? else { return Ok(()) };
    match transaction.commit() {
        Ok(()) => Ok(()),
        Err(error) if certainly_not_committed(&error) => Err(failed(&error)),
        Err(error) => Err(AppendError::Broken(session.break_with(&error))),
    }
}

/// The transaction to commit; none when these very bytes are there already.
fn insert<'c>(
    connection: &'c mut Connection,
    index: u64,
    entry: &[u8],
) -> Result<Option<Transaction<'c>>, AppendError> {
    let transaction = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(|error| failed(&error))?;
    let Pointer { bound, newest_index, .. } =
        pointer(&transaction).map_err(|error| AppendError::Failed(error.to_string()))?;
    if index < bound {
        return Err(AppendError::Truncated { index, bound });
    }
    let there: Option<Vec<u8>> = transaction
        .prepare_cached("SELECT entry FROM log WHERE idx = ?1")
        .and_then(|mut select| select.query_row([index], |row| row.get(0)).optional())
        .map_err(|error| failed(&error))?;
    match there {
        Some(there) if there == entry => return Ok(None),
        Some(_) => return Err(AppendError::Taken { index }),
        None => {}
    }
    let last: u64 = transaction
        .prepare_cached("SELECT coalesce(max(idx), 0) FROM log")
        .and_then(|mut select| select.query_row([], |row| row.get(0)))
        .map_err(|error| failed(&error))?;
    let next = last.max(newest_index) + 1;
    if index != next || index < FIRST_INDEX {
        return Err(AppendError::Hole { index, next });
    }
    transaction
        .prepare_cached("INSERT INTO log (idx, entry) VALUES (?1, ?2)")
        .and_then(|mut insert| insert.execute(params![index, entry]))
        .map_err(|error| failed(&error))?;
    Ok(Some(transaction))
}

fn failed(error: &rusqlite::Error) -> AppendError {
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => AppendError::Full(error.to_string()),
        _ => AppendError::Failed(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_full_medium_is_told_from_other_failures() {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch("CREATE TABLE t (x); PRAGMA max_page_count = 2;").unwrap();
        let full = connection.execute("INSERT INTO t VALUES (zeroblob(100000))", []).unwrap_err();
        assert!(matches!(failed(&full), AppendError::Full(_)), "{full:?}");
        let other = connection.execute("INSERT INTO nothing VALUES (1)", []).unwrap_err();
        assert!(matches!(failed(&other), AppendError::Failed(_)), "{other:?}");
    }
}
