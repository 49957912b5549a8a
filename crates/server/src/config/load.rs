//! Finding the value of every setting.
//!
//! Owns the precedence: flag, variable, file, default. Guarantees that each value remembers its origin and that an error
//! names it. Never touches the disk itself: the text of the file is handed in.

use std::collections::BTreeMap;
use std::fmt;

use clap::{Arg, ArgAction, ArgMatches, Command};

use super::node::{NodeSettings, Setting};

/// Where a value came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// `--<name>` on the command line.
    Flag(&'static str),
    /// A variable of the environment.
    Variable(String),
    /// The configuration file.
    File(String),
    /// Nobody said anything.
    Default,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Flag(name) => write!(f, "flag --{name}"),
            Source::Variable(name) => write!(f, "variable {name}"),
            Source::File(path) => write!(f, "file {path}"),
            Source::Default => f.write_str("default"),
        }
    }
}

/// A configuration that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// A value that does not read or is out of range.
    #[error("{name} ({source_of}): {reason}")]
    Value {
        /// The setting.
        name: &'static str,
        /// Where the value came from.
        source_of: Source,
        /// What is wrong and what would be right.
        reason: String,
    },
    /// The file is not TOML, or has a key that is no setting.
    #[error("{path}: {reason}")]
    File {
        /// The file.
        path: String,
        /// What is wrong.
        reason: String,
    },
}

/// Everything outside of the command line that settings come from.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// The environment.
    pub variables: BTreeMap<String, String>,
    /// Path and text of the configuration file, when there is one.
    pub file: Option<(String, String)>,
}

/// The settings and where each came from.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The settings.
    pub settings: NodeSettings,
    /// The origin of each, by name.
    pub sources: BTreeMap<&'static str, Source>,
}

/// Adds a flag for every setting to a command.
#[must_use]
pub fn command(mut command: Command) -> Command {
    for setting in NodeSettings::ALL {
        let is_switch = setting.placeholder == <bool as super::value::Value>::PLACEHOLDER;
        let default = if setting.default.is_empty() { "none" } else { setting.default };
        let mut arg = Arg::new(setting.name)
            .long(setting.name)
            .value_name(setting.placeholder)
            .action(ArgAction::Set)
            .hide(setting.hidden)
            .help(format!("{} [{}] [default: {default}]", setting.help, setting.variable()));
        if is_switch {
            arg = arg.num_args(0..=1).require_equals(true).default_missing_value("true");
        }
        command = command.arg(arg);
    }
    command
}

/// Finds the value of every setting.
///
/// # Errors
/// [`ConfigError`].
pub fn load(flags: &ArgMatches, from: &Sources) -> Result<Loaded, ConfigError> {
    let file = match &from.file {
        Some((path, text)) => read_file(path, text)?,
        None => BTreeMap::new(),
    };
    let mut sources = BTreeMap::new();
    let mut find = |setting: &Setting| {
        let variable = setting.variable();
        let (text, source) = if let Some(text) = flags.get_one::<String>(setting.name) {
            (text.clone(), Source::Flag(setting.name))
        } else if let Some(text) = from.variables.get(&variable) {
            (text.clone(), Source::Variable(variable))
        } else if let Some(text) = file.get(setting.name) {
            (text.clone(), Source::File(from.file.as_ref().map(|(path, _)| path.clone()).unwrap_or_default()))
        } else {
            (setting.default.to_owned(), Source::Default)
        };
        sources.insert(setting.name, source);
        text
    };
    let read = NodeSettings::from_texts(&mut find);
    let checked = read.and_then(|settings| settings.validate().map(|()| settings));
    match checked {
        Ok(settings) => Ok(Loaded { settings, sources }),
        Err((name, reason)) => {
            let source_of = sources.remove(name).unwrap_or(Source::Default);
            Err(ConfigError::Value { name, source_of, reason })
        }
    }
}

/// The settings of the file as texts.
fn read_file(path: &str, text: &str) -> Result<BTreeMap<&'static str, String>, ConfigError> {
    let wrong = |reason: String| ConfigError::File { path: path.to_owned(), reason };
    let table: toml::Table = text.parse().map_err(|error: toml::de::Error| wrong(error.to_string()))?;
    let mut found = BTreeMap::new();
    for (key, value) in table {
        let setting = NodeSettings::ALL.iter().find(|setting| setting.name == key).ok_or_else(|| {
            let known: Vec<_> = NodeSettings::ALL
                .iter()
                .filter(|setting| !setting.hidden)
                .map(|setting| setting.name)
                .collect();
            wrong(format!("`{key}` is not a setting; there are {}", known.join(", ")))
        })?;
        let text = match value {
            toml::Value::String(text) => text,
            toml::Value::Integer(number) => number.to_string(),
            toml::Value::Boolean(value) => value.to_string(),
            other => return Err(wrong(format!("`{key}` is a {}: write a string", other.type_str()))),
        };
        found.insert(setting.name, text);
    }
    Ok(found)
}
