//! Reads of the log table: owns the pointer row's meaning, guarantees that entries and bound come from one
//! snapshot of the database, never returns a row below the bound.

use bytes::Bytes;
use rusqlite::{Connection, params};

use super::Session;
use super::error::{damaged, log_error};
use crate::store::LogError;

/// The pointer row; see the module of [`crate::store`].
#[derive(Debug)]
pub(super) struct Pointer {
    pub(super) newest: Option<String>,
    pub(super) newest_index: u64,
    pub(super) previous: Option<String>,
    pub(super) bound: u64,
}

pub(super) fn pointer(connection: &Connection) -> Result<Pointer, LogError> {
    let mut select = connection
        .prepare_cached("SELECT newest, newest_idx, previous, bound FROM pointer WHERE id = 1")
        .map_err(log_error)?;
    let row = select.query_row([], |row| {
        Ok(Pointer {
            newest: row.get(0)?,
            newest_index: row.get(1)?,
            previous: row.get(2)?,
            bound: row.get(3)?,
        })
    });
    match row {
        Err(rusqlite::Error::QueryReturnedNoRows) => Err(damaged("the pointer row is missing")),
        other => other.map_err(log_error),
    }
}

pub(super) fn read(session: &mut Session, from: u64, limit: usize) -> Result<Vec<(u64, Bytes)>, LogError> {
    let transaction = session.connection.transaction().map_err(log_error)?;
    let Pointer { bound, newest_index, .. } = pointer(&transaction)?;
    if from < bound {
        return Err(LogError::Truncated { index: from, bound });
    }
    let entries = rows(&transaction, from, limit).map_err(log_error)?;
    let dense = entries.iter().zip(from..).all(|((index, _), wanted)| *index == wanted);
    if !dense || (limit > 0 && entries.is_empty() && newest_index >= from) {
        return Err(damaged(format!("entries from {from} on are missing, though the bound is {bound}")));
    }
    Ok(entries)
}

fn rows(connection: &Connection, from: u64, limit: usize) -> rusqlite::Result<Vec<(u64, Bytes)>> {
    let mut select =
        connection.prepare_cached("SELECT idx, entry FROM log WHERE idx >= ?1 ORDER BY idx LIMIT ?2")?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows = select.query_map(params![from, limit], |row| {
        Ok((row.get::<_, u64>(0)?, Bytes::from(row.get::<_, Vec<u8>>(1)?)))
    })?;
    rows.collect()
}

/// The first faults that `PRAGMA integrity_check` names.
pub(super) fn faults(connection: &Connection) -> Result<Vec<String>, LogError> {
    let mut check = connection.prepare("PRAGMA integrity_check(20)").map_err(log_error)?;
    let rows = check.query_map([], |row| row.get::<_, String>(0)).map_err(log_error)?;
    let mut faults = Vec::new();
    for fault in rows {
        faults.push(fault.map_err(log_error)?);
    }
    faults.retain(|fault| fault != "ok");
    Ok(faults)
}
