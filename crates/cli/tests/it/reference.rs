//! The page of the command line, the man pages and the completions say what the binary says.

use std::path::Path;

use crate::node::kelda;

/// What stands between the part of the page that people write and the part that the binary prints.
const MARK: &str =
    "<!-- From here on: `kelda man --markdown`. KELDA_BLESS=1 cargo test -p kelda reference -->\n";

fn printed(args: &[&str]) -> String {
    let output = kelda(args).output().unwrap();
    assert!(output.status.success(), "{args:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn verbs() -> Vec<String> {
    let reference = printed(&["man", "--markdown"]);
    let headings = reference.lines().filter_map(|line| line.strip_prefix("## kelda "));
    headings.map(str::to_owned).collect()
}

#[test]
fn the_page_is_what_the_binary_prints() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/cli.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (written, reference) = page.split_once(MARK).expect("the page has the mark");
    let now = format!("\n{}", printed(&["man", "--markdown"]));
    if std::env::var_os("KELDA_BLESS").is_some() {
        std::fs::write(&path, format!("{written}{MARK}{now}")).unwrap();
        return;
    }
    assert!(reference == now, "docs/cli.md is not what the binary prints; KELDA_BLESS=1 rewrites it");
    // What people wrote names every exit code and every verb too.
    for verb in verbs() {
        assert!(
            written.contains(&format!("`kelda {verb}")) || written.contains(&format!("kelda {verb} ")),
            "{verb}"
        );
    }
    for code in ["| 0 |", "| 1 |", "| 2 |", "| 3 |", "| 4 |", "| 5 |", "| 130 |"] {
        assert!(written.contains(code), "{code}");
    }
}

#[test]
fn help_of_every_verb_names_its_arguments() {
    let reference = printed(&["man", "--markdown"]);
    for verb in verbs() {
        let help = printed(&[&verb, "--help"]);
        let section =
            reference.split(&format!("\n## kelda {verb}\n")).nth(1).unwrap().split("\n## ").next().unwrap();
        let section = section.split("\n### ").next().unwrap();
        let flags = section.split('`').filter(|span| span.starts_with("--"));
        for flag in flags.filter_map(|span| span.split([' ', '[']).next()) {
            assert!(help.contains(flag), "{verb}: {flag}");
        }
    }
}

#[test]
fn man_pages_of_all_verbs_are_written() {
    let folder = tempfile::tempdir().unwrap();
    printed(&["man", "--dir", folder.path().to_str().unwrap()]);
    let page = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    assert!(page("kelda.1").contains("Exit codes"), "exit codes are in the manual");
    for verb in verbs() {
        assert!(page(&format!("kelda-{verb}.1")).starts_with(".ie"), "{verb} is a page");
    }
    let pages = std::fs::read_dir(folder.path()).unwrap().map(|page| page.unwrap().file_name());
    let help: Vec<_> = pages.filter(|page| page.to_str().unwrap().contains("help")).collect();
    assert!(help.is_empty(), "{help:?}");
    assert!(page("kelda-bench-append.1").contains("in\\-flight"), "verbs of verbs are pages too");
    assert!(printed(&["man"]).contains(".TH kelda 1"));
    assert!(printed(&["man", "append"]).contains("\\-\\-whole"));
}

#[test]
fn completions_of_every_shell_know_the_verbs() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = printed(&["completions", shell]);
        for word in ["append", "trim", "max-age", "profile"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
    // The one shell that is everywhere takes it.
    let script = printed(&["completions", "bash"])
        + "\nCOMP_WORDS=(kelda tri); COMP_CWORD=1; _kelda kelda tri kelda; echo \"${COMPREPLY[*]}\"\n";
    let output = std::process::Command::new("bash").args(["-c", &script]).output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap().trim(), "trim");
}
