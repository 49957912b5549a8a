//! `kelda profile`, and finding the server for every other verb: owns where the profile file is, guarantees that a
//! file which is named and missing is an error, never writes it.

use std::path::PathBuf;

use clap::ArgMatches;
use clap::parser::ValueSource;
use kelda_client::endpoint::shown;
use serde_json::json;

use crate::config::{self, InForce, ProfileFile, Said, Source};
use crate::exit::Failure;
use crate::output;
use crate::ui::Ui;

/// Names the profile file. `KELDA_CONFIG` is the file of `kelda serve`, which has other keys.
const FILE_VARIABLE: &str = "KELDA_CLI_CONFIG";

/// What the command line and the environment say.
pub fn said(matches: &ArgMatches) -> Said {
    let get = |id: &str| {
        let text = matches.get_one::<String>(id).filter(|text| !text.is_empty())?;
        let source = match matches.value_source(id) {
            Some(ValueSource::EnvVariable) => Source::Variable,
            _ => Source::Flag,
        };
        Some((text.clone(), source))
    };
    Said { endpoint: get("endpoint"), profile: get("profile") }
}

/// The server that is used.
pub fn in_force(said: &Said) -> Result<InForce, Failure> {
    config::resolve(said, file)
}

/// Shows the server that is used, why, and all profiles.
pub fn show(ui: Ui, said: &Said) -> Result<(), Failure> {
    let file = file()?;
    let used = config::resolve(said, || Ok(file.clone()))?;
    let name = used.profile.as_ref().map(|(name, _)| name.as_str());
    if ui.json {
        let profiles = file.profiles.profile.iter().map(|(name, profile)| {
            json!({"name": name, "endpoint": shown(&profile.endpoint), "default": Some(name) == file.profiles.default_profile.as_ref()})
        });
        return output::line(&json!({
            "endpoint": shown(&used.endpoint),
            "endpoint_from": used.endpoint_from.to_string(),
            "profile": name,
            "profile_from": used.profile.as_ref().map(|(_, source)| named_by(*source)),
            "file": (!file.path.is_empty()).then_some(&file.path),
            "file_exists": file.exists,
            "profiles": profiles.collect::<Vec<_>>(),
        }));
    }
    let mut out = format!("endpoint  {}  ({})\n", shown(&used.endpoint), because(&used));
    let exists = match (file.exists, file.path.is_empty()) {
        (true, _) => "",
        (false, false) => "  (not there)",
        (false, true) => "none  (HOME is not set)",
    };
    out.push_str(&format!("file      {}{exists}\n", file.path));
    for (each, profile) in &file.profiles.profile {
        let mark = if Some(each.as_str()) == name { '*' } else { ' ' };
        out.push_str(&format!("{mark} profile {each}  {}\n", shown(&profile.endpoint)));
    }
    output::whole(&out)
}

fn because(used: &InForce) -> String {
    match (used.endpoint_from, &used.profile) {
        (_, Some((name, source))) => format!("profile {name}, named by {}", named_by(*source)),
        (Source::Flag, None) => "flag --endpoint".to_owned(),
        (Source::Variable, None) => "variable KELDA_ENDPOINT".to_owned(),
        (_, None) => "default".to_owned(),
    }
}

fn named_by(source: Source) -> &'static str {
    match source {
        Source::Flag => "flag --profile",
        Source::Variable => "variable KELDA_PROFILE",
        Source::Profile | Source::Default => "default_profile",
    }
}

fn file() -> Result<ProfileFile, Failure> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let named = variable(FILE_VARIABLE);
    let folder = || variable("XDG_CONFIG_HOME").or_else(|| Some(variable("HOME")?.join(".config")));
    let usual = || folder().map(|folder| folder.join("kelda").join("config.toml"));
    let Some(path) = named.clone().or_else(usual) else { return Ok(ProfileFile::default()) };
    let shown = path.display().to_string();
    match read(&path) {
        Ok(text) => ProfileFile::parse(&shown, &text),
        Err(error) if named.is_none() && error.kind() == std::io::ErrorKind::NotFound => {
            Ok(ProfileFile { path: shown, ..ProfileFile::default() })
        }
        Err(error) => Err(Failure::profile(format!("the profile file {shown} cannot be read: {error}"))),
    }
}

#[expect(clippy::disallowed_methods, reason = "the file is the user's")]
fn read(path: &std::path::Path) -> std::io::Result<String> {
    std::fs::read_to_string(path)
}
