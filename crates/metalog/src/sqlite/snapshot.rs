//! Snapshots in the database: owns their names and parts, guarantees that the pointer only moves to a complete
//! and newer one, never deletes the newest, the one before it, or one in quarantine (P20, P22).

use bytes::{Bytes, BytesMut};
use rusqlite::{Connection, TransactionBehavior, params};

use super::Session;
use super::error::{damaged, log_error};
use super::read::{Pointer, pointer};
use crate::store::{LogError, SnapshotPut};

/// How much of a snapshot one transaction writes.
const PART_BYTES: usize = 4 << 20;

/// `<index, 20 digits>-<nonce>`: sorts by index, and two snapshots at one index never share parts.
pub(super) fn name(index: u64, nonce: [u8; 16]) -> String {
    format!("{index:020}-{:032x}", u128::from_le_bytes(nonce))
}

pub(super) fn parts(state: &Bytes) -> impl Iterator<Item = Bytes> + Send + 'static {
    let state = state.clone();
    let starts = (0..state.len().max(1)).step_by(PART_BYTES);
    starts.map(move |start| state.slice(start..state.len().min(start + PART_BYTES)))
}

pub(super) fn store_part(
    session: &mut Session,
    name: &str,
    part: usize,
    data: &[u8],
) -> Result<(), LogError> {
    session.usable().map_err(LogError::Unavailable)?;
    let stored = session
        .connection
        .prepare_cached("INSERT INTO snapshot_part (name, part, data) VALUES (?1, ?2, ?3)")
        .and_then(|mut insert| insert.execute(params![name, part, data]));
    session.settle(stored.map(drop))
}

pub(super) fn finish(
    session: &mut Session,
    name: &str,
    index: u64,
    bytes: usize,
) -> Result<SnapshotPut, LogError> {
    session.usable().map_err(LogError::Unavailable)?;
    let transaction =
        session.connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(log_error)?;
    let current = pointer(&transaction)?;
    let put = if current.newest_index >= index {
        drop_parts(&transaction, current.newest.as_deref(), current.previous.as_deref())?;
        SnapshotPut::Superseded { by: current.newest_index }
    } else {
        check_complete(&transaction, name, index, bytes)?;
        move_pointer(&transaction, &current, name, index)?;
        drop_parts(&transaction, Some(name), current.newest.as_deref())?;
        SnapshotPut::Newest
    };
    let committed = transaction.commit();
    session.settle(committed)?;
    Ok(put)
}

fn check_complete(connection: &Connection, name: &str, index: u64, bytes: usize) -> Result<(), LogError> {
    let (stored, last): (usize, u64) = connection
        .query_row(
            "SELECT (SELECT coalesce(sum(length(data)), 0) FROM snapshot_part WHERE name = ?1),
                    (SELECT coalesce(max(idx), 0) FROM log)",
            [name],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .map_err(log_error)?;
    if stored != bytes {
        return Err(LogError::Unavailable(format!(
            "of {bytes} bytes of snapshot {name} {stored} are stored"
        )));
    }
    if last < index {
        return Err(damaged(format!("a snapshot at {index} lies past the last entry {last}")));
    }
    Ok(())
}

fn move_pointer(connection: &Connection, current: &Pointer, name: &str, index: u64) -> Result<(), LogError> {
    let bound = current.bound.max(current.newest_index + 1);
    connection
        .execute(
            "UPDATE pointer SET newest = ?1, newest_idx = ?2, previous = newest, bound = ?3 WHERE id = 1",
            params![name, index, bound],
        )
        .and_then(|_| connection.execute("DELETE FROM log WHERE idx < ?1", [bound]))
        .map(drop)
        .map_err(log_error)
}

fn drop_parts(connection: &Connection, newest: Option<&str>, previous: Option<&str>) -> Result<(), LogError> {
    // Also what a process that died left half stored. Parts being stored by another process go too; its last
    // step finds them missing and fails, and it tries again later.
    connection
        .execute(
            "DELETE FROM snapshot_part WHERE name IS NOT ?1 AND name IS NOT ?2
             AND name NOT IN (SELECT name FROM quarantine)",
            params![newest, previous],
        )
        .map(drop)
        .map_err(log_error)
}

pub(super) fn latest(session: &mut Session) -> Result<Option<(u64, Bytes)>, LogError> {
    let transaction = session.connection.transaction().map_err(log_error)?;
    let Pointer { newest, newest_index, .. } = pointer(&transaction)?;
    let Some(name) = newest else { return Ok(None) };
    let state = assemble(&transaction, &name).map_err(log_error)?;
    match state {
        Some(state) => Ok(Some((newest_index, state))),
        None => Err(damaged(format!("the newest snapshot {name} has no parts"))),
    }
}

fn assemble(connection: &Connection, name: &str) -> rusqlite::Result<Option<Bytes>> {
    let mut select =
        connection.prepare_cached("SELECT data FROM snapshot_part WHERE name = ?1 ORDER BY part")?;
    let mut rows = select.query([name])?;
    let mut state: Option<BytesMut> = None;
    while let Some(row) = rows.next()? {
        let data = row.get_ref(0)?.as_blob()?;
        state.get_or_insert_default().extend_from_slice(data);
    }
    Ok(state.map(BytesMut::freeze))
}

pub(super) fn quarantine(session: &mut Session, index: u64, reason: &str) -> Result<(), LogError> {
    session.usable().map_err(LogError::Unavailable)?;
    let stored = session.connection.execute(
        "INSERT OR IGNORE INTO quarantine (name, idx, reason)
         SELECT newest, newest_idx, ?2 FROM pointer WHERE id = 1 AND newest_idx = ?1 AND newest IS NOT NULL",
        params![index, reason],
    );
    session.settle(stored.map(drop))
}
