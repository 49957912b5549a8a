//! Showing the configuration.
//!
//! Owns the output of `--print-config`. Guarantees that it is a file that [`super::load()`] reads and that gives the same
//! settings, with the origin of each value in a comment.

use std::fmt::Write as _;

use super::load::{Loaded, Source};

/// The settings as a configuration file.
#[must_use]
pub fn print(loaded: &Loaded) -> String {
    let lines: Vec<(String, &Source)> = loaded
        .settings
        .texts()
        .filter(|(setting, _)| {
            let by_default = loaded.sources.get(setting.name).is_none_or(|source| *source == Source::Default);
            !(setting.hidden && by_default)
        })
        .map(|(setting, text)| {
            let bare = text.parse::<bool>().is_ok() || text.parse::<i64>().is_ok();
            let value = if bare { text } else { toml::Value::String(text).to_string() };
            (
                format!("{} = {value}", setting.name),
                loaded.sources.get(setting.name).unwrap_or(&Source::Default),
            )
        })
        .collect();
    let width = lines.iter().map(|(line, _)| line.chars().count()).max().unwrap_or_default();
    let mut out = String::new();
    for (line, source) in lines {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{line:width$}  # {source}");
    }
    out
}
