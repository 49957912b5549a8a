//! Words that have no place in the tree.

use super::{Source, none, sources};

/// Work left undone; it belongs into an issue.
const UNDONE: [&str; 4] =
    [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("unimple", "mented!("), concat!("to", "do!(")];

/// Paths of a machine that something was built or tried on.
const MACHINE: [&str; 6] = [
    concat!("/wo", "rk/"),
    concat!("/fa", "rm/"),
    concat!("/ro", "ot/"),
    concat!("/ho", "me/"),
    concat!(".li", "brary/"),
    concat!("/tmp/", "kelda/"),
];

/// Hosts of package registries: which one serves is for the machine to say.
const HOSTS: [&str; 3] =
    [concat!("https://regi", "stry."), concat!("regi", "stry.npmjs"), concat!("index.cra", "tes.io")];

#[test]
fn nothing_is_left_undone() {
    none(&found(&UNDONE), "what is not done is an issue, not a comment");
}

#[test]
fn no_path_of_a_machine() {
    none(&found(&MACHINE), "no path of a machine in the tree");
}

#[test]
fn no_host_of_a_registry() {
    none(&found(&HOSTS), "no host of a package registry in the tree");
}

fn found(words: &[&str]) -> Vec<String> {
    sources().iter().flat_map(|source| in_source(source, words)).collect()
}

fn in_source(source: &Source, words: &[&str]) -> Vec<String> {
    let lines = source.text.lines().enumerate();
    lines
        .filter(|(_, line)| words.iter().any(|word| contains_word(line, word)))
        .map(|(number, line)| format!("{}:{}: {}", source.path, number + 1, line.trim()))
        .collect()
}

/// Whether the word is there and does not begin inside another one, nor inside a path.
fn contains_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let letters_first = word.starts_with(|c: char| c.is_alphabetic());
        let path_first = word.starts_with('/');
        !before.is_some_and(|c| (letters_first || path_first) && (c.is_alphanumeric() || "_.-*>".contains(c)))
    })
}
