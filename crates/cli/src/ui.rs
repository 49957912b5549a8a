//! What is said beside the data: owns standard error but for the errors, guarantees that `--quiet` silences it and
//! that `--json` makes every line of it JSON, never prints on standard output.

use std::fmt::Display;
use std::io::{IsTerminal as _, Write as _};

use serde_json::json;

use crate::args::Global;

/// How to talk.
#[derive(Clone, Copy, Debug)]
pub struct Ui {
    /// Data, errors and warnings as JSON.
    pub json: bool,
    /// Only errors.
    pub quiet: bool,
}

impl Ui {
    pub fn new(global: &Global) -> Ui {
        Ui { json: global.json, quiet: global.quiet }
    }

    /// Says what was done; with JSON the data says it.
    pub fn done(self, text: impl Display) {
        if !self.json && !self.quiet {
            // With standard error closed nobody is left to tell, here and below.
            let _ = writeln!(std::io::stderr(), "{text}");
        }
    }

    /// Warns about a stream.
    pub fn warn(self, code: &str, stream: &str, text: impl Display) {
        if self.quiet {
            return;
        }
        let mut err = std::io::stderr().lock();
        let _ = if self.json {
            writeln!(err, "{}", json!({"warning": code, "stream": stream, "detail": text.to_string()}))
        } else {
            writeln!(err, "kelda: warning: {text}")
        };
    }

    /// Warns that a stream grows for ever.
    pub fn warn_unlimited(self, stream: &str) {
        let how = format!("kelda set {} --max-age 7d, or --max-bytes 10GiB", quoted(stream));
        self.warn(
            "unlimited",
            stream,
            format_args!("{stream} has no limit and grows until the disk is full; set one: {how}"),
        );
    }

    /// Whether progress is to be shown: to somebody who looks, beside data that goes elsewhere.
    pub fn shows_progress(self) -> bool {
        shows_progress(self, std::io::stderr().is_terminal())
    }
}

/// A name as a shell takes it: in quotes when it has to be.
pub fn quoted(name: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-:@%+,=".contains(&byte);
    if !name.is_empty() && name.bytes().all(plain) {
        return name.to_owned();
    }
    format!("'{}'", name.replace('\'', "'\\''"))
}

fn shows_progress(ui: Ui, terminal: bool) -> bool {
    terminal && !ui.quiet && !ui.json
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_quoted_when_a_shell_would_misread_it() {
        assert_eq!(quoted("logs/api-2.x_y"), "logs/api-2.x_y");
        assert_eq!(quoted("a b"), "'a b'");
        assert_eq!(quoted("it's $HOME"), "'it'\\''s $HOME'");
    }

    #[test]
    fn progress_is_for_people_who_look() {
        let ui = |json, quiet| Ui { json, quiet };
        assert!(shows_progress(ui(false, false), true));
        for (ui, terminal) in [(ui(false, false), false), (ui(true, false), true), (ui(false, true), true)] {
            assert!(!shows_progress(ui, terminal), "{ui:?} {terminal}");
        }
    }
}
