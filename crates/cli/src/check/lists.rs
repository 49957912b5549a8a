//! The long lists of a report: owns their lines, guarantees one line a thing.

use std::fmt::Write as _;

use kelda_server::check::{ObjectUse, Report, SegmentState, SlotUse, StreamReport};

/// The lists that are asked for, each with an empty line around it.
pub fn all(report: &Report, streams: bool, everything: bool) -> String {
    let mut out = String::new();
    if streams && !report.streams.is_empty() {
        out.push_str("\nstreams\n");
        report.streams.iter().for_each(|row| stream(&mut out, row));
    }
    if everything {
        logs(&mut out, report);
        slots(&mut out, report);
        objects(&mut out, report);
        leftovers(&mut out, report);
    }
    if everything && !report.strange.is_empty() {
        out.push_str("\nother files\n");
        report.strange.iter().for_each(|file| {
            let _ = writeln!(out, "  {file}");
        });
    }
    out
}

fn stream(out: &mut String, row: &StreamReport) {
    let _ = write!(
        out,
        "  {} (id {}): offsets {} to {}, {} records in {} bytes",
        row.name,
        row.id,
        row.start,
        row.end,
        row.records(),
        row.bytes
    );
    let waiting = row.end.since(row.committed_end);
    if waiting > 0 {
        let _ = write!(out, ", {waiting} of them in the write-ahead log");
    }
    let epoch = row.epoch.map_or("never opened".to_owned(), |epoch| format!("epoch {epoch}"));
    let _ = write!(out, ", {epoch}, {} producers", row.producers);
    if row.sealed {
        out.push_str(", sealed");
    }
    if row.unlimited {
        out.push_str(", no limit");
    }
    out.push('\n');
}

fn logs(out: &mut String, report: &Report) {
    for log in &report.logs {
        let state = log.state.map_or("ended".to_owned(), |state| format!("{state:?}").to_lowercase());
        let _ = writeln!(out, "\nwrite-ahead log of session {} ({state})", log.session);
        for segment in &log.segments {
            let what = match segment.state {
                SegmentState::Committed => "committed, removed at the next start".to_owned(),
                SegmentState::Unused => "prepared, not used yet".to_owned(),
                SegmentState::NotRead => "not read".to_owned(),
                SegmentState::Entries { entries, groups, dropped, torn } => {
                    let torn = torn.map(|torn| {
                        format!(
                            ", torn at byte {} ({} bytes were not acknowledged)",
                            torn.position, torn.bytes
                        )
                    });
                    let torn = torn.unwrap_or_default();
                    format!("{entries} entries in {groups} groups, {dropped} of streams that are gone{torn}")
                }
            };
            let _ = writeln!(out, "  {}: {} bytes, {what}", segment.file, segment.bytes);
        }
    }
}

fn slots(out: &mut String, report: &Report) {
    if !report.slots.is_empty() {
        out.push_str("\nslots of write-ahead logs\n");
    }
    for slot in &report.slots {
        let what = slot_word(slot.used);
        let _ = writeln!(out, "  {}/{}: {} bytes, {what}", report.objects_in, slot.key, slot.bytes);
    }
}

fn leftovers(out: &mut String, report: &Report) {
    if !report.leftovers.is_empty() {
        out.push_str("\nleft over\n");
    }
    for left in &report.leftovers {
        let _ = writeln!(out, "  {}: left by {}", left.file, left.what);
    }
}

fn objects(out: &mut String, report: &Report) {
    if !report.objects.is_empty() {
        out.push_str("\nobjects\n");
    }
    for object in &report.objects {
        let used = use_word(object.used);
        let _ = write!(out, "  {}/{}: {} bytes, {used}", report.objects_in, object.key, object.bytes);
        if let Some(kind) = object.kind {
            let kind = format!("{kind:?}").to_lowercase();
            let (records, streams) = (object.records, object.streams);
            let _ = write!(
                out,
                ", {kind} of {records} records of {streams} streams in {} extents",
                object.extents
            );
        }
        out.push('\n');
    }
}

/// What an object is to the metadata, as in the JSON document.
pub fn use_word(used: ObjectUse) -> &'static str {
    match used {
        ObjectUse::Referenced => "referenced",
        ObjectUse::Reserved => "reserved",
        ObjectUse::ToDestroy => "to-destroy",
        ObjectUse::Orphan => "orphan",
        ObjectUse::Unknown => "unknown",
    }
}

/// What a slot is to the metadata, as in the JSON document.
pub fn slot_word(used: SlotUse) -> &'static str {
    match used {
        SlotUse::Waiting => "waiting",
        SlotUse::Seal => "seal",
        SlotUse::LeftOver => "left-over",
        SlotUse::Unknown => "unknown",
    }
}
