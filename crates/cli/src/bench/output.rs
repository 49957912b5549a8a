//! What is given out: owns the table and the files of a result. Guarantees that standard output holds either the table or,
//! when asked for, nothing but JSON. Never writes a file that was not named.

use std::fmt::Write as _;
use std::path::Path;

use super::args::BenchArgs;
use super::chart;
use super::report::{Measurement, Report};
use crate::exit::Failure;
use crate::output;

/// Prints the result, as JSON or as a table, and writes the files that were asked for.
pub fn give_out(report: &Report, as_json: bool, args: &BenchArgs) -> Result<(), Failure> {
    let failed = |error| Failure::local(format!("the result cannot be written as JSON: {error}"));
    let json = serde_json::to_string_pretty(report).map_err(failed)? + "\n";
    if as_json {
        eprint!("{}", table(report));
        output::whole(&json)?;
    } else {
        output::whole(&format!("{}\n", table(report).trim_end()))?;
    }
    if let Some(path) = &args.result {
        write(path, &json)?;
    }
    match args.chart.as_deref() {
        Some(path) if path.extension().is_some_and(|ending| ending == "html") => {
            write(path, &chart::html(report))
        }
        Some(path) => write(path, &chart::svg(report)),
        None => Ok(()),
    }
}

/// Makes sure, before anything is measured, that the files which were asked for can be written. What they hold stays.
pub fn prepare(args: &BenchArgs) -> Result<(), Failure> {
    [&args.result, &args.chart].into_iter().flatten().try_for_each(|path| open(path))
}

#[expect(clippy::disallowed_types, reason = "the command line writes the files that its user names")]
fn open(path: &Path) -> Result<(), Failure> {
    let opened = std::fs::OpenOptions::new().create(true).append(true).open(path);
    opened.map(drop).map_err(|error| Failure::local(format!("{}: {error}", path.display())))
}

#[expect(clippy::disallowed_methods, reason = "the command line writes the files that its user names")]
fn write(path: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(path, text).map_err(|error| Failure::local(format!("{}: {error}", path.display())))
}

/// The result as text.
pub fn table(report: &Report) -> String {
    let mut out = String::new();
    for (title, rows) in tables(report) {
        if rows.len() > 1 {
            // Writing to a string cannot fail.
            let _ = writeln!(out, "{title}\n{}", aligned(&rows));
        }
    }
    out
}

/// The result as tables, each with its title and, as its first row, its heads.
pub fn tables(report: &Report) -> Vec<(&'static str, Vec<Vec<String>>)> {
    let heads = |heads: &[&str]| heads.iter().map(|head| (*head).to_owned()).collect::<Vec<_>>();
    let mut counts = vec![heads(&[
        "",
        "seconds",
        "requests/s",
        "records/s",
        "MiB/s",
        "deliveries/s",
        "errors",
        "client CPU s",
        "CPUs",
    ])];
    counts.extend(report.measurements.iter().map(count_row));
    let mut latencies = vec![heads(&["", "of", "count", "p50", "p90", "p99", "p99.9", "max"])];
    for measured in &report.measurements {
        for (of, latency) in &measured.latency_ms {
            let mut row = vec![measured.name.clone(), (*of).to_owned(), latency.count.to_string()];
            row.extend(latency.shown().map(|(_, ms)| number(ms)));
            latencies.push(row);
        }
    }
    let mut ratios = vec![heads(&["", "value", "target", ""])];
    ratios.extend(report.ratios.iter().map(|ratio| {
        let verdict = if ratio.met { "met" } else { "missed" };
        vec![ratio.name.clone(), number(ratio.value), ratio.goal(), verdict.to_owned()]
    }));
    let mut store = vec![heads(&["", "requests", "per million records"])];
    for (kind, count) in report.store.iter().flat_map(|used| &used.requests) {
        let used = report.store.as_ref().and_then(|used| used.per_million_records.get(kind));
        store.push(vec![kind.clone(), count.to_string(), used.map_or("-".to_owned(), |used| number(*used))]);
    }
    vec![
        ("Throughput", counts),
        ("Latency in ms", latencies),
        ("Ratios", ratios),
        ("Requests to the object store", store),
    ]
}

fn count_row(measured: &Measurement) -> Vec<String> {
    let cpu = |of: fn(&super::report::Cpu) -> f64| {
        measured.client_cpu.as_ref().map_or("-".to_owned(), |cpu| number(of(cpu)))
    };
    vec![
        measured.name.clone(),
        number(measured.seconds),
        number(measured.requests_per_second),
        number(measured.records_per_second),
        number(measured.mib_per_second),
        measured.deliveries_per_second.map_or("-".to_owned(), number),
        measured.errors.to_string(),
        cpu(|cpu| cpu.seconds),
        cpu(|cpu| cpu.share),
    ]
}

/// A number with three or more significant digits.
pub fn number(value: f64) -> String {
    let places = if value >= 100.0 || value == 0.0 {
        0
    } else if value >= 10.0 {
        1
    } else if value >= 1.0 {
        2
    } else {
        3
    };
    format!("{value:.places$}")
}

/// Columns as wide as their widest cell: the first to the left, the others to the right.
fn aligned(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut out = String::new();
    for row in rows {
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate() {
            let width = widths[column];
            // Writing to a string cannot fail.
            let _ =
                if column == 0 { write!(line, "  {cell:<width$}") } else { write!(line, "  {cell:>width$}") };
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits() {
        let shown = [(0.0, "0"), (0.0123, "0.012"), (1.239, "1.24"), (12.34, "12.3"), (56_789.4, "56789")];
        for (value, text) in shown {
            assert_eq!(number(value), text);
        }
    }

    #[test]
    fn columns_line_up() {
        let rows = [["a", "bbbb"], ["ccc", "d"]].map(|row| row.map(str::to_owned).to_vec());
        assert_eq!(aligned(&rows), "  a    bbbb\n  ccc     d\n");
    }
}
