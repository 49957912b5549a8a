//! Which server is used: flag, then variable, then profile, then default, and what is wrong with a profile file.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};

use crate::node::{Node, kelda, stderr};

const FILE: &str = "default_profile = \"here\"\n[profile.here]\nendpoint = \"http://h:1\"\n[profile.there]\nendpoint = \"http://t:2\"\n";

/// A command whose profile file holds this text.
fn with(folder: &Path, text: &str, args: &[&str]) -> Command {
    std::fs::create_dir_all(folder.join("kelda")).unwrap();
    std::fs::write(folder.join("kelda/config.toml"), text).unwrap();
    let mut command = kelda(args);
    command.env("XDG_CONFIG_HOME", folder);
    command
}

fn said(output: &Output) -> Value {
    assert!(output.status.success(), "{}", stderr(output));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn what_is_in_force_and_where_it_came_from() {
    let folder = tempfile::tempdir().unwrap();
    let show = |args: &[&str], variables: &[(&str, &str)]| {
        let args = [&["profile", "--json"], args].concat();
        said(&with(folder.path(), FILE, &args).envs(variables.iter().copied()).output().unwrap())
    };
    let endpoint = ("KELDA_ENDPOINT", "http://e:3");
    for (args, variables, used, from, profile) in [
        (&["--endpoint", "http://f:4"][..], &[endpoint][..], "http://f:4", "flag", Value::Null),
        (&["--profile", "there"], &[endpoint], "http://t:2", "profile", json!("there")),
        (&[], &[endpoint, ("KELDA_PROFILE", "there")], "http://e:3", "variable", Value::Null),
        (&[], &[("KELDA_PROFILE", "there")], "http://t:2", "profile", json!("there")),
        (&[], &[("KELDA_PROFILE", "")], "http://h:1", "profile", json!("here")),
        (&[], &[], "http://h:1", "profile", json!("here")),
    ] {
        let said = show(args, variables);
        assert_eq!(
            (&said["endpoint"], &said["endpoint_from"]),
            (&json!(used), &json!(from)),
            "{args:?} {variables:?}"
        );
        assert_eq!(said["profile"], profile, "{args:?} {variables:?}");
    }
    let said = show(&[], &[]);
    assert_eq!(said["profile_from"], "default_profile");
    assert_eq!(said["profiles"][1], json!({"name": "there", "endpoint": "http://t:2", "default": false}));
    let text = with(folder.path(), FILE, &["profile"]).output().unwrap();
    let text = String::from_utf8(text.stdout).unwrap();
    assert!(text.contains("http://h:1  (profile here, named by default_profile)"), "{text}");
    assert!(text.contains("* profile here") && text.contains("  profile there"), "{text}");
}

#[test]
fn without_a_file_the_default_is_used() {
    let output = kelda(&["profile", "--json"]).output().unwrap();
    let said = said(&output);
    assert_eq!(
        (&said["endpoint"], &said["endpoint_from"]),
        (&json!("http://127.0.0.1:4437"), &json!("default"))
    );
    assert_eq!(
        (&said["file"], &said["file_exists"]),
        (&json!("/nonexistent/kelda/config.toml"), &json!(false))
    );
}

#[test]
fn without_a_home_there_is_no_file() {
    let run = |args: &[&str]| kelda(args).env_remove("XDG_CONFIG_HOME").env_remove("HOME").output().unwrap();
    assert_eq!(said(&run(&["profile", "--json"]))["file"], Value::Null);
    let text = String::from_utf8(run(&["profile"]).stdout).unwrap();
    assert!(text.contains("file      none  (HOME is not set)"), "{text}");
    let wanted = run(&["ls", "--profile", "a"]);
    assert!(stderr(&wanted).contains("HOME is not set"), "{}", stderr(&wanted));
}

#[test]
fn a_password_is_not_shown() {
    let folder = tempfile::tempdir().unwrap();
    let text = "default_profile = \"a\"\n[profile.a]\nendpoint = \"http://u:hush@h:1\"\n";
    for args in [&["profile"][..], &["profile", "--json"], &["ls"]] {
        let output = with(folder.path(), text, args).output().unwrap();
        let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), stderr(&output));
        assert!(said.contains("@h:1") && !said.contains("hush"), "{args:?}: {said}");
    }
}

#[test]
fn the_file_is_looked_for_in_this_order() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.toml");
    std::fs::write(&file, "[profile.mine]\nendpoint = \"http://m:5\"\n").unwrap();
    let output =
        with(folder.path(), FILE, &["profile", "--json"]).env("KELDA_CLI_CONFIG", &file).output().unwrap();
    assert_eq!(said(&output)["file"], file.to_str().unwrap(), "the variable that names it");
    let output =
        with(folder.path(), FILE, &["profile", "--json"]).env("HOME", "/nonexistent").output().unwrap();
    assert_eq!(said(&output)["file"], folder.path().join("kelda/config.toml").to_str().unwrap());
    let output =
        kelda(&["profile", "--json"]).env_remove("XDG_CONFIG_HOME").env("HOME", "/some").output().unwrap();
    assert_eq!(said(&output)["file"], "/some/.config/kelda/config.toml");
    let missing = kelda(&["ls"]).env("KELDA_CLI_CONFIG", "/nonexistent/c.toml").output().unwrap();
    assert_eq!(missing.status.code(), Some(2), "one that is named has to be there");
    assert!(stderr(&missing).contains("/nonexistent/c.toml"), "{}", stderr(&missing));
}

#[test]
fn what_is_wrong_names_the_file_and_what_there_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kelda/config.toml");
    for (text, args, says) in [
        ("[profile.a]\nendpoint = \"http://a:1\"\ntoken = 1\n", &["ls"][..], "line 3: unknown field `token`"),
        ("listen = \"127.0.0.1:1\"\n", &["ls"], "line 1: unknown field `listen`"),
        ("default_profile = \n", &["ls"], "line 1: "),
        (FILE, &["ls", "--profile", "nowhere"], "no profile \"nowhere\" in"),
        (FILE, &["ls", "--profile", "nowhere"], "it has here, there"),
    ] {
        let output = with(folder.path(), text, args).output().unwrap();
        let error = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{text:?}: {error}");
        assert!(error.contains(says) && error.contains(path.to_str().unwrap()), "{text:?}: {error}");
    }
}

#[test]
fn a_profile_reaches_its_server() {
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(&folder.path().join("data"));
    let text = format!("[profile.test]\nendpoint = \"{}\"\n", node.endpoint());
    let output = with(folder.path(), &text, &["create", "a", "--profile", "test"]).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(node.stdout(&["ls", "--names"]), "a\n");
}
