//! The report for people: owns its words. Guarantees that the summary comes first and what is wrong last.

use std::fmt::Write as _;

use kelda_server::check::{Fault, Finding, Report};

/// What is there, in a few lines.
pub fn summary(report: &Report) -> String {
    let sums = report.totals();
    let mut out = String::new();
    let mut line = |name: &str, text: String| {
        let _ = writeln!(out, "{name:<16}{text}");
    };
    line("data directory", report.data_dir.clone());
    if let Some(store) = report.store.as_ref().filter(|_| report.objects_in != "objects") {
        line("object store", store.clone());
    }
    line("cluster", report.cluster.map_or("unknown".to_owned(), |cluster| cluster.to_string()));
    if let Some(level) = report.feature_level {
        line("feature level", level.to_string());
    }
    for (node, features) in &report.nodes {
        line(
            "node",
            format!("{node}, its software knows feature levels {} to {}", features.min, features.max),
        );
    }
    match &report.metadata {
        None => line("metadata", "none".to_owned()),
        Some(metadata) => {
            let snapshot = metadata.snapshot.map_or("no snapshot".to_owned(), |(index, bytes)| {
                format!("snapshot of {bytes} bytes after entry {index}")
            });
            let entries = match metadata.last {
                0 => "no entries".to_owned(),
                last => format!("entries {} to {last} in {} bytes", metadata.first, metadata.entry_bytes),
            };
            line("metadata", format!("layout {}, {entries}, {snapshot}", metadata.layout));
        }
    }
    if report.metadata_read {
        line(
            "streams",
            format!(
                "{}, {} of them without a limit; {} records in {} bytes",
                sums.streams, sums.unlimited_streams, sums.records, sums.stream_bytes
            ),
        );
        let torn = match sums.torn_bytes {
            0 => String::new(),
            bytes => format!("; a torn end of {bytes} bytes that were not acknowledged, which is no damage"),
        };
        line(
            "write-ahead log",
            format!(
                "{} to recover at the next start; {} segments in {} bytes, {} entries{torn}",
                sums.logs_to_recover, sums.segments, sums.segment_bytes, sums.log_entries
            ),
        );
    } else {
        line("streams", "not known without the metadata".to_owned());
        line("write-ahead log", "not checked: that needs the metadata".to_owned());
    }
    if sums.slots > 0 {
        line("log in the store", format!("{} slots in {} bytes to replay", sums.slots, sums.slot_bytes));
    }
    let unused = match sums.unused_objects {
        0 => String::new(),
        count => format!(
            "; {count} in {} bytes are not read by any stream, {} of them orphans",
            sums.unused_object_bytes, sums.orphans
        ),
    };
    line("objects", format!("{} in {} bytes{unused}", sums.objects, sums.object_bytes));
    if sums.leftovers > 0 {
        line("left over", format!("{} files, which nothing needs any more", sums.leftovers));
    }
    if !report.strange.is_empty() {
        line("other files", format!("{}, which no part of Kelda writes", report.strange.len()));
    }
    out
}

/// Whether anything is wrong, and what.
pub fn verdict(report: &Report) -> String {
    if report.is_clean() {
        return "clean: nothing is damaged or missing".to_owned();
    }
    let names = report.names();
    let mut out = String::new();
    for finding in &report.findings {
        let at = finding.position.map(|at| format!(" at byte {at}")).unwrap_or_default();
        let _ = writeln!(out, "{}: {}{at}", word(finding), finding.file);
        let _ = writeln!(out, "    {}", finding.detail);
        for records in &finding.affected {
            let name = names.get(&records.stream).copied().unwrap_or("?");
            let offsets = match records.to {
                None => format!("from offset {} on", records.from),
                Some(to) => format!("offsets {} to {}", records.from, to.0.saturating_sub(1)),
            };
            let _ = writeln!(out, "    stream {name} (id {}): {offsets}", records.stream);
        }
    }
    let left = report.findings_total.saturating_sub(report.findings.len() as u64);
    if left > 0 {
        let _ = writeln!(out, "and {left} more");
    }
    out
}

/// What kind of fault it is, as in the JSON document.
pub fn word(finding: &Finding) -> &'static str {
    match finding.fault {
        Fault::Damaged => "damaged",
        Fault::Missing => "missing",
        Fault::Newer => "newer",
        Fault::Foreign => "foreign",
        Fault::Unreadable => "unreadable",
    }
}
