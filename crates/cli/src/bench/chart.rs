//! Pictures of a result: owns an SVG of bars and an HTML page with it and the tables. Guarantees that text of any kind stays
//! text. Never loads anything: a chart is one file.

use std::fmt::Write as _;

use super::output::{number, tables};
use super::report::Report;

/// Units of the picture's width.
const WIDTH: f64 = 960.0;
/// Where bars begin.
const LEFT: f64 = 400.0;
/// Where the longest bar ends; its value stands behind it.
const RIGHT: f64 = 860.0;
const ROW: f64 = 18.0;
const GAP: f64 = 14.0;

/// A group of bars with one scale.
struct Bars {
    title: &'static str,
    bars: Vec<(String, f64)>,
    /// Whether each step of the scale is ten times the one before.
    logarithmic: bool,
}

impl Bars {
    /// The length of a bar, from 0 to 1.
    fn length(&self, value: f64) -> f64 {
        let values = || self.bars.iter().map(|(_, value)| *value).filter(|value| *value > 0.0);
        let most = values().fold(0.0, f64::max);
        if value <= 0.0 || most <= 0.0 {
            return 0.0;
        }
        if !self.logarithmic {
            return value / most;
        }
        // The scale begins at the power of ten below the least, so that the least has a length too.
        let least = values().fold(most, f64::min).log10().floor() - 0.1;
        (value.log10() - least) / (most.log10() - least)
    }
}

fn groups(report: &Report) -> Vec<Bars> {
    let of = |title, logarithmic, bars: Vec<(String, f64)>| Bars { title, bars, logarithmic };
    let values = |value: fn(&super::report::Measurement) -> f64| {
        let all = report.measurements.iter().map(|measured| (measured.name.clone(), value(measured)));
        all.filter(|(_, value)| *value > 0.0).collect::<Vec<_>>()
    };
    let latencies = report.measurements.iter().flat_map(|measured| {
        measured.latency_ms.iter().flat_map(move |(of, latency)| {
            let shown = latency.shown().into_iter();
            shown.map(move |(title, ms)| (format!("{}: {of} {title}", measured.name), ms))
        })
    });
    let groups = vec![
        of("MiB/s", false, values(|it| it.mib_per_second)),
        of("records/s", true, values(|it| it.records_per_second)),
        of("deliveries/s", false, values(|it| it.deliveries_per_second.unwrap_or(0.0))),
        of("latency in ms (logarithmic)", true, latencies.collect()),
    ];
    groups.into_iter().filter(|group| !group.bars.is_empty()).collect()
}

/// The result as a picture.
pub fn svg(report: &Report) -> String {
    let mut body = String::new();
    let mut y = GAP;
    let title = format!("kelda bench {}, {}", report.workload, report.time);
    y += text(&mut body, 8.0, y, "start", "b", &title);
    for group in groups(report) {
        y += GAP;
        y += text(&mut body, 8.0, y, "start", "b", group.title);
        for (name, value) in &group.bars {
            let end = LEFT + group.length(*value) * (RIGHT - LEFT);
            let (top, width, height) = (y + 2.0, end - LEFT, ROW - 4.0);
            // Writing to a string cannot fail.
            let _ = writeln!(body, r#"<rect x="{LEFT}" y="{top:.1}" width="{width:.1}" height="{height}"/>"#);
            text(&mut body, LEFT - 8.0, y, "end", "t", name);
            y += text(&mut body, end + 6.0, y, "start", "t", &number(*value));
        }
    }
    let height = y + GAP;
    format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0}" width="{WIDTH}" height="{height:.0}">
<style>text {{ font: 12px sans-serif; fill: #222 }} .b {{ font-weight: bold }} rect {{ fill: #2a7ab0 }} .g {{ fill: #fff }}</style>
<rect class="g" width="{WIDTH}" height="{height:.0}"/>
{body}</svg>
"#
    )
}

/// Adds a line of text in the row at `y`, and gives the height of the row.
fn text(out: &mut String, x: f64, y: f64, anchor: &str, class: &str, line: &str) -> f64 {
    let (base, line) = (y + 13.0, escape(line));
    // Writing to a string cannot fail.
    let _ = writeln!(
        out,
        r#"<text class="{class}" x="{x:.1}" y="{base:.1}" text-anchor="{anchor}">{line}</text>"#
    );
    ROW
}

/// The result as a page.
pub fn html(report: &Report) -> String {
    let title = escape(&format!("kelda bench {}", report.workload));
    let about = format!("kelda {}, {}", report.version, report.time);
    let about = match &report.endpoint {
        Some(endpoint) => format!("{about}, {endpoint}"),
        None => about,
    };
    let mut body = String::new();
    for (title, rows) in tables(report).into_iter().filter(|(_, rows)| rows.len() > 1) {
        body.push_str(&format!("<h2>{title}</h2>\n<table>\n"));
        for (index, row) in rows.iter().enumerate() {
            let tag = if index == 0 { "th" } else { "td" };
            let cells: String = row.iter().map(|cell| format!("<{tag}>{}</{tag}>", escape(cell))).collect();
            body.push_str(&format!("<tr>{cells}</tr>\n"));
        }
        body.push_str("</table>\n");
    }
    let parameters = escape(&report.parameters.to_string());
    format!(
        r#"<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<style>body {{ font: 14px sans-serif; margin: 2em; color: #222 }} td, th {{ padding: 2px 10px; text-align: right }}
td:first-child, th:first-child {{ text-align: left }} tr:nth-child(even) {{ background: #f2f5f8 }}</style></head>
<body><h1>{title}</h1><p>{}</p><p><code>{parameters}</code></p>
{body}<h2>Chart</h2>
{}</body></html>
"#,
        escape(&about),
        svg(report)
    )
}

/// Text that may stand in SVG and HTML, in quotes too.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;
    use crate::bench::report::{Counts, Measurement};
    use crate::bench::world::World;

    #[tokio::test]
    async fn text_stays_text() {
        let counts = Counts { requests: 1, records: 1, bytes: 1 << 20, errors: 0 };
        let odd = Measurement::new("</text><script>&\"'", Duration::from_secs(1), counts);
        let endpoint = Some("http://x/<b>");
        let report = Report::new(&World::new(), "append", endpoint, json!({"a": "<i>"})).with(odd);
        for text in [svg(&report), html(&report)] {
            assert!(text.contains("&lt;/text&gt;&lt;script&gt;&amp;&quot;&#39;"), "{text}");
            assert!(!text.contains("<script>") && !text.contains("<b>") && !text.contains("<i>"), "{text}");
            assert!(text.contains("<rect x="), "{text}");
        }
    }

    #[test]
    fn bars_are_as_long_as_their_values_say() {
        let bars = |logarithmic| Bars {
            title: "",
            bars: vec![("a".to_owned(), 1.0), ("b".to_owned(), 100.0)],
            logarithmic,
        };
        assert_eq!((bars(false).length(100.0), bars(false).length(1.0)), (1.0, 0.01));
        assert_eq!(bars(true).length(100.0), 1.0);
        let (least, middle) = (bars(true).length(1.0), bars(true).length(10.0));
        assert!(least > 0.0 && least < 0.1 && middle > 0.4 && middle < 0.6, "{least} {middle}");
        assert_eq!(bars(true).length(0.0), 0.0);
    }
}
