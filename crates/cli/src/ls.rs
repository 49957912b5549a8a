//! `ls`: owns the pages and the columns, guarantees that every stream is listed once, in the order of names, and that
//! the name is the last column, whatever is in it. Never holds more than a page.

use kelda_client::Kelda;
use serde_json::Value;

use crate::args::LsArgs;
use crate::exit::Failure;
use crate::ui::Ui;
use crate::{clock, output, stream};

pub async fn list(kelda: &Kelda, ui: Ui, args: LsArgs) -> Result<(), Failure> {
    let columns = !ui.json && !args.names;
    let (mut after, mut first) = (None::<String>, true);
    loop {
        let page = kelda.list(&args.prefix, after.as_deref()).await?;
        let now_ms = clock::now_ms();
        let mut out = String::new();
        if columns && first && !page.streams.is_empty() {
            out.push_str(&heading(args.long));
        }
        first = false;
        for mut stream in page.streams {
            stream::mark(&mut stream);
            out.push_str(&match (ui.json, args.names) {
                (true, _) => stream.to_string(),
                (_, true) => name(&stream).to_owned(),
                _ => row(&stream, now_ms, args.long),
            });
            out.push('\n');
        }
        output::whole(&out)?;
        match page.next {
            Some(next) => after = Some(next),
            None => return Ok(()),
        }
    }
}

fn heading(long: bool) -> String {
    let mut out = columns("RECORDS", "BYTES", "OLDEST", "NEWEST", "LIMITS");
    if long {
        out.push_str(&long_columns("START", "NEXT", "CREATED", "TYPE"));
    }
    out + "NAME\n"
}

fn row(stream: &Value, now_ms: u64, long: bool) -> String {
    let (start, next) = (number(&stream["start_offset"]), number(&stream["next_offset"]));
    let since = |field: &str| stream.get(field).map_or("-".to_owned(), |time| age(now_ms, number(time)));
    let records = next.saturating_sub(start);
    // The newest record is named even when it was trimmed.
    let newest = if records == 0 { "-".to_owned() } else { since("newest") };
    let bytes = size(number(&stream["bytes"]));
    let mut out = columns(&records.to_string(), &bytes, &since("oldest"), &newest, &limits(stream));
    if long {
        let created = clock::rfc3339(number(&stream["created"]) / 1000 * 1000);
        let content_type = stream["content_type"].as_str().unwrap_or("-");
        out.push_str(&long_columns(&start.to_string(), &next.to_string(), &created, content_type));
    }
    out + name(stream)
}

fn columns(records: &str, bytes: &str, oldest: &str, newest: &str, limits: &str) -> String {
    format!("{records:>10}  {bytes:>9}  {oldest:>6}  {newest:>6}  {limits:<14}  ")
}

fn long_columns(start: &str, next: &str, created: &str, content_type: &str) -> String {
    format!("{start:>10}  {next:>10}  {created:<20}  {content_type:<24}  ")
}

/// What bounds a stream, in a word or two.
pub fn limits(stream: &Value) -> String {
    let mut limits = Vec::new();
    limits.extend((stream["sealed"] == Value::Bool(true)).then(|| "sealed".to_owned()));
    limits.extend(stream["max_age"].as_str().map(str::to_owned));
    limits.extend(stream["max_bytes"].as_u64().map(size));
    limits.extend(stream["ttl_seconds"].as_u64().map(|seconds| format!("ttl={seconds}s")));
    limits.extend(stream.get("expires_at").map(|time| format!("until={}", clock::rfc3339(number(time)))));
    if limits.is_empty() { "unlimited".to_owned() } else { limits.join(",") }
}

fn name(stream: &Value) -> &str {
    stream["name"].as_str().unwrap_or_default()
}

/// A number, or a string of digits.
fn number(value: &Value) -> u64 {
    value.as_u64().or_else(|| value.as_str()?.parse().ok()).unwrap_or(0)
}

/// Bytes in at most seven characters.
fn size(bytes: u64) -> String {
    let units = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)];
    match units.into_iter().find(|(_, shift)| bytes >> shift > 0) {
        None => format!("{bytes} B"),
        Some((unit, shift)) => {
            let tenths = (u128::from(bytes) * 10) >> shift;
            let (whole, tenth) = (tenths / 10, tenths % 10);
            if whole < 10 && tenth > 0 {
                format!("{whole}.{tenth} {unit}")
            } else {
                format!("{whole} {unit}")
            }
        }
    }
}

/// How long ago, in the largest unit that is at least one.
fn age(now_ms: u64, then_ms: u64) -> String {
    let seconds = now_ms.saturating_sub(then_ms) / 1000;
    let units = [("d", 86_400), ("h", 3_600), ("m", 60)];
    let unit = units.into_iter().find(|(_, length)| seconds >= *length);
    unit.map_or_else(|| format!("{seconds}s"), |(unit, length)| format!("{}{unit}", seconds / length))
}

#[cfg(test)]
mod tests;
