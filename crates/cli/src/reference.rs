//! The reference of all verbs as Markdown: owns the layout of the page's second half, guarantees that it says what
//! clap knows and nothing else.

use std::fmt::Write as _;

use clap::{Arg, ArgAction, Command, Id};

/// All verbs of a command that was built.
pub fn markdown(command: &Command) -> String {
    let mut out = String::from("## Options of every verb\n\n");
    table(&mut out, command.get_arguments().filter(|arg| arg.is_global_set()));
    let shared: Vec<_> = command.get_arguments().filter(|arg| arg.is_global_set()).map(Arg::get_id).collect();
    for verb in command.get_subcommands().filter(|verb| !verb.is_hide_set() && verb.get_name() != "help") {
        let _ = write!(out, "\n## kelda {}\n\n", verb.get_name());
        if let Some(about) = verb.get_about() {
            let _ = write!(out, "{about}.\n\n");
        }
        let usage = verb.clone().render_usage().to_string();
        let _ = write!(out, "```text\n{}\n```\n", usage.trim_start_matches("Usage: "));
        let own: Vec<_> = verb.get_arguments().filter(|arg| is_own(arg, &shared)).collect();
        if !own.is_empty() {
            out.push('\n');
            table(&mut out, own.into_iter());
        }
        nested(&mut out, verb, &shared);
    }
    out
}

/// Verbs of a verb.
fn nested(out: &mut String, verb: &Command, shared: &[&Id]) {
    let own = verb.get_arguments().filter(|arg| arg.is_global_set()).map(Arg::get_id);
    let shared: Vec<_> = shared.iter().copied().chain(own).collect();
    for inner in verb.get_subcommands().filter(|inner| !inner.is_hide_set() && inner.get_name() != "help") {
        let _ = write!(out, "\n### kelda {} {}\n\n", verb.get_name(), inner.get_name());
        if let Some(about) = inner.get_about() {
            let _ = write!(out, "{about}.\n\n");
        }
        let own: Vec<_> = inner.get_arguments().filter(|arg| is_own(arg, &shared)).collect();
        if !own.is_empty() {
            table(out, own.into_iter());
        }
    }
}

/// Whether an argument is listed here, and not where it is `shared` by all below.
fn is_own(arg: &Arg, shared: &[&Id]) -> bool {
    let added = matches!(
        arg.get_action(),
        ArgAction::Help | ArgAction::HelpShort | ArgAction::HelpLong | ArgAction::Version
    );
    !arg.is_hide_set() && !shared.contains(&arg.get_id()) && !added
}

fn table<'a>(out: &mut String, args: impl Iterator<Item = &'a Arg>) {
    out.push_str("| argument | meaning |\n| --- | --- |\n");
    for arg in args {
        let _ = writeln!(out, "| {} | {} |", spelling(arg), meaning(arg));
    }
}

fn spelling(arg: &Arg) -> String {
    let flags =
        [arg.get_short().map(|short| format!("-{short}")), arg.get_long().map(|long| format!("--{long}"))];
    let flags: Vec<_> = flags.into_iter().flatten().collect();
    if flags.is_empty() {
        let text = if arg.is_required_set() { value(arg) } else { format!("[{}]", value(arg)) };
        let many = matches!(arg.get_action(), ArgAction::Append);
        return code(&if many { format!("{text}...") } else { text });
    }
    let optional = arg.get_num_args().is_some_and(|range| range.min_values() == 0);
    let value = match (arg.get_action().takes_values(), optional) {
        (false, _) => String::new(),
        (true, false) => format!(" {}", value(arg)),
        (true, true) => format!("[={}]", value(arg)),
    };
    let flags: Vec<_> = flags.iter().map(|flag| code(&format!("{flag}{value}"))).collect();
    flags.join(", ")
}

fn value(arg: &Arg) -> String {
    let names = arg.get_value_names().unwrap_or_default();
    let text: Vec<_> = names.iter().map(|name| format!("<{name}>")).collect();
    text.join(" ")
}

fn meaning(arg: &Arg) -> String {
    let mut out = cell(&arg.get_help().map(ToString::to_string).unwrap_or_default());
    let values: Vec<_> = arg.get_possible_values();
    let shown = values.iter().filter(|value| !value.is_hide_set());
    let choices: Vec<_> = shown
        .map(|value| match value.get_help() {
            Some(help) => format!("{} ({})", code(value.get_name()), cell(&help.to_string())),
            None => code(value.get_name()),
        })
        .collect();
    if arg.get_action().takes_values() && !choices.is_empty() {
        let _ = write!(out, ". One of {}", choices.join("; "));
    }
    let defaults: Vec<_> = arg.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
    if arg.get_action().takes_values() && !arg.is_hide_default_value_set() && !defaults.is_empty() {
        let _ = write!(out, ". Default: {}", code(&defaults.join(" ")));
    }
    if let Some(variable) = arg.get_env() {
        let _ = write!(out, ". Variable: {}", code(&variable.to_string_lossy()));
    }
    out
}

fn code(text: &str) -> String {
    format!("`{}`", cell(text))
}

/// Text that a cell of a table can hold.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}
