//! The profile file and which server is used: owns the file's shape and the precedence flag, variable, profile,
//! default. Guarantees that the outcome knows where it came from and that an error names the file and what there is.
//! Never reads a file itself: the text is handed in.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;

use crate::exit::Failure;

/// The address of a node with default settings.
pub const DEFAULT_ENDPOINT: &str = "http://127.0.0.1:4437";

/// The file with profiles.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profiles {
    /// The profile that is used when nothing is said.
    pub default_profile: Option<String>,
    /// All profiles, by name.
    #[serde(default)]
    pub profile: BTreeMap<String, Profile>,
}

/// One profile.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// The server's address.
    pub endpoint: String,
}

/// Profiles and where they were looked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProfileFile {
    /// The file, whether it is there or not; empty when nothing says where it would be.
    pub path: String,
    /// Whether it is there.
    pub exists: bool,
    /// What it says.
    pub profiles: Profiles,
}

/// Where a value came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The command line.
    Flag,
    /// The environment.
    Variable,
    /// The profile file.
    Profile,
    /// Nobody said anything.
    Default,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Source::Flag => "flag",
            Source::Variable => "variable",
            Source::Profile => "profile",
            Source::Default => "default",
        })
    }
}

/// What the command line and the environment say.
#[derive(Clone, Debug, Default)]
pub struct Said {
    /// `--endpoint` or `KELDA_ENDPOINT`.
    pub endpoint: Option<(String, Source)>,
    /// `--profile` or `KELDA_PROFILE`.
    pub profile: Option<(String, Source)>,
}

/// The server that is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InForce {
    pub endpoint: String,
    pub endpoint_from: Source,
    /// The profile, when the address is from one, and who named it: the file itself is [`Source::Default`].
    pub profile: Option<(String, Source)>,
}

impl ProfileFile {
    /// Reads the text of the file.
    pub fn parse(path: &str, text: &str) -> Result<ProfileFile, Failure> {
        let profiles: Profiles = toml::from_str(text).map_err(|error: toml::de::Error| {
            let line = error.span().map(|span| 1 + text[..span.start].matches('\n').count());
            let at = line.map(|line| format!(" line {line}")).unwrap_or_default();
            Failure::profile(format!("{path}{at}: {}", error.message().trim_end()))
        })?;
        let file = ProfileFile { path: path.to_owned(), exists: true, profiles };
        if let Some(name) = &file.profiles.default_profile {
            file.get(name).map_err(|failure| failure.with("default_profile names it", &[]))?;
        }
        Ok(file)
    }

    fn get(&self, name: &str) -> Result<&Profile, Failure> {
        self.profiles.profile.get(name).ok_or_else(|| {
            let path = &self.path;
            let there: Vec<_> = self.profiles.profile.keys().map(String::as_str).collect();
            if path.is_empty() {
                return Failure::profile(format!(
                    "no profile {name:?}: HOME is not set, and no other variable names a file"
                ));
            }
            Failure::profile(match (self.exists, there.is_empty()) {
                (false, _) => format!("no profile {name:?}: the profile file {path} does not exist"),
                (true, true) => format!("no profile {name:?} in {path}: it has none"),
                (true, false) => format!("no profile {name:?} in {path}: it has {}", there.join(", ")),
            })
        })
    }
}

/// Decides which server is used. The file is asked for only when it matters.
///
/// What was typed wins over the environment as a whole: `--profile` over `KELDA_ENDPOINT`.
pub fn resolve(said: &Said, file: impl FnOnce() -> Result<ProfileFile, Failure>) -> Result<InForce, Failure> {
    let typed = |said: &&(String, Source)| said.1 == Source::Flag;
    let endpoint = said.endpoint.as_ref();
    let by_profile = said.profile.as_ref();
    let direct = endpoint.filter(|said| typed(said) || !by_profile.is_some_and(|profile| typed(&profile)));
    if let Some((endpoint, source)) = direct {
        return Ok(InForce { endpoint: endpoint.clone(), endpoint_from: *source, profile: None });
    }
    let file = file()?;
    let named = file.profiles.default_profile.clone().map(|name| (name, Source::Default));
    match by_profile.cloned().or(named) {
        Some((name, source)) => {
            let endpoint = file.get(&name)?.endpoint.clone();
            Ok(InForce { endpoint, endpoint_from: Source::Profile, profile: Some((name, source)) })
        }
        None => {
            let endpoint = DEFAULT_ENDPOINT.to_owned();
            Ok(InForce { endpoint, endpoint_from: Source::Default, profile: None })
        }
    }
}

#[cfg(test)]
mod tests;
