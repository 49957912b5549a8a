//! Backups for people: owns the lines.

use std::fmt::Write as _;

use indicatif::HumanBytes;
use kelda_server::backup::Manifest;
use serde_json::Value;

use crate::clock::rfc3339;

/// A backup that was taken.
pub fn taken(taken: &Value) -> String {
    let number = |field: &str| taken[field].as_u64().unwrap_or(0);
    let text = |field: &str| taken[field].as_str().unwrap_or_default().to_owned();
    format!(
        "backup {} in {}\n{} streams with {} records; {} objects with {}, of which {} with {} were copied\n",
        text("backup"),
        text("to"),
        number("streams"),
        number("records"),
        number("objects"),
        HumanBytes(number("object_bytes")),
        number("copied_objects"),
        HumanBytes(number("copied_bytes"))
    )
}

/// The backups of a place, a line each.
pub fn list(cluster: &str, backups: &[Manifest]) -> String {
    let mut out = format!("cluster {cluster}, {} backups\n", backups.len());
    for backup in backups {
        let _ = write!(
            out,
            "{}  {}  {} streams  {} records  {}",
            backup.id,
            rfc3339(backup.at.0),
            backup.streams,
            backup.records,
            HumanBytes(backup.object_bytes)
        );
        if !backup.missing.is_empty() || !backup.damaged.is_empty() {
            let (missing, damaged) = (backup.missing.len(), backup.damaged.len());
            let _ = write!(out, "  {missing} objects missing, {damaged} damaged");
        }
        out.push('\n');
    }
    out
}
