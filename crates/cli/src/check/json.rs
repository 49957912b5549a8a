//! The report as one JSON document: owns its fields, which `docs/check.md` describes. Guarantees that offsets are text, as
//! everywhere in Kelda's JSON.

use kelda_server::check::{Finding, LogReport, Report, SegmentReport, SegmentState, StreamReport};
use serde_json::{Value, json};

use super::lists::{slot_word, use_word};
use super::text::word;

/// The whole document.
pub fn report(report: &Report) -> Value {
    let result = match report.is_clean() {
        true => "clean",
        false if report.is_only_newer() => "newer",
        false => "damaged",
    };
    let names = report.names();
    let finding = |finding: &Finding| {
        let records = finding.affected.iter().map(|records| {
            json!({
                "stream": names.get(&records.stream),
                "stream_id": records.stream.to_string(),
                "from": records.from.to_string(),
                "to": records.to.map(|to| to.to_string()),
            })
        });
        json!({
            "kind": word(finding),
            "file": finding.file,
            "position": finding.position,
            "detail": finding.detail,
            "records": records.collect::<Vec<_>>(),
        })
    };
    json!({
        "result": result,
        "data_dir": report.data_dir,
        "store": report.store,
        "cluster": report.cluster.map(|cluster| cluster.to_string()),
        "feature_level": report.feature_level,
        "nodes": report.nodes.iter().map(|(node, features)| {
            json!({"node": node.to_string(), "min_level": features.min, "max_level": features.max})
        }).collect::<Vec<_>>(),
        "metadata": report.metadata.as_ref().map(|metadata| json!({
            "read": report.metadata_read,
            "layout": metadata.layout,
            "first_entry": metadata.first,
            "last_entry": metadata.last,
            "entry_bytes": metadata.entry_bytes,
            "snapshot": metadata.snapshot.map(|(entry, bytes)| json!({"entry": entry, "bytes": bytes})),
        })),
        "totals": totals(report),
        "streams": report.streams.iter().map(stream).collect::<Vec<_>>(),
        "logs": report.logs.iter().map(log).collect::<Vec<_>>(),
        "objects": report.objects.iter().map(|object| json!({
            "id": object.id.to_string(),
            "file": format!("{}/{}", report.objects_in, object.key),
            "bytes": object.bytes,
            "use": use_word(object.used),
            "kind": object.kind.map(|kind| format!("{kind:?}").to_lowercase()),
            "records": object.records,
            "streams": object.streams,
            "extents": object.extents,
        })).collect::<Vec<_>>(),
        "slots": report.slots.iter().map(|slot| json!({
            "session": slot.session.to_string(),
            "slot": slot.slot,
            "file": format!("{}/{}", report.objects_in, slot.key),
            "bytes": slot.bytes,
            "use": slot_word(slot.used),
        })).collect::<Vec<_>>(),
        "leftovers": report.leftovers.iter().map(|left| {
            json!({"file": left.file, "of": left.what})
        }).collect::<Vec<_>>(),
        "other_files": report.strange,
        "findings_total": report.findings_total,
        "findings": report.findings.iter().map(finding).collect::<Vec<_>>(),
    })
}

fn totals(report: &Report) -> Value {
    let sums = report.totals();
    json!({
        "streams": sums.streams,
        "unlimited_streams": sums.unlimited_streams,
        "records": sums.records,
        "stream_bytes": sums.stream_bytes,
        "objects": sums.objects,
        "object_bytes": sums.object_bytes,
        "unused_objects": sums.unused_objects,
        "unused_object_bytes": sums.unused_object_bytes,
        "orphans": sums.orphans,
        "segments": sums.segments,
        "segment_bytes": sums.segment_bytes,
        "log_entries": sums.log_entries,
        "logs_to_recover": sums.logs_to_recover,
        "torn_bytes": sums.torn_bytes,
        "slots": sums.slots,
        "slot_bytes": sums.slot_bytes,
        "leftovers": sums.leftovers,
    })
}

fn stream(stream: &StreamReport) -> Value {
    json!({
        "name": stream.name,
        "stream_id": stream.id.to_string(),
        "kind": format!("{:?}", stream.kind).to_lowercase(),
        "epoch": stream.epoch,
        "owner": stream.owner.map(|owner| owner.to_string()),
        "start_offset": stream.start.to_string(),
        "committed_end": stream.committed_end.to_string(),
        "next_offset": stream.end.to_string(),
        "records": stream.records(),
        "bytes": stream.bytes,
        "producers": stream.producers,
        "sealed": stream.sealed,
        "unlimited": stream.unlimited,
        "last_timestamp_ms": stream.last_timestamp.0,
    })
}

fn log(log: &LogReport) -> Value {
    json!({
        "session": log.session.to_string(),
        "state": log.state.map(|state| format!("{state:?}").to_lowercase()),
        "wal_start": log.wal_start,
        "segments": log.segments.iter().map(segment).collect::<Vec<_>>(),
    })
}

fn segment(segment: &SegmentReport) -> Value {
    let mut value = json!({"file": segment.file, "bytes": segment.bytes});
    value["state"] = match segment.state {
        SegmentState::Committed => "committed".into(),
        SegmentState::Unused => "unused".into(),
        SegmentState::NotRead => "not-read".into(),
        SegmentState::Entries { entries, groups, dropped, torn } => {
            value["entries"] = entries.into();
            value["groups"] = groups.into();
            value["dropped_entries"] = dropped.into();
            value["torn"] =
                torn.map_or(Value::Null, |torn| json!({"position": torn.position, "bytes": torn.bytes}));
            "entries".into()
        }
    };
    value
}
