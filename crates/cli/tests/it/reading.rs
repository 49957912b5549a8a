//! Where a read starts and ends, and how records look.

use std::time::Duration;

use crate::node::Node;

fn filled() -> (tempfile::TempDir, Node) {
    let directory = tempfile::tempdir().unwrap();
    let node = Node::start(&directory.path().join("data"));
    node.run(&["create", "a", "--content-type", "text/plain", "--max-age", "7d"]);
    for text in [&b"0\n1\n2\n"[..], b"3\n4\n", b"5\n"] {
        assert!(node.feed(&["append", "a"], text).status.success());
        // Times are milliseconds, and the next batch is to have a later one.
        std::thread::sleep(Duration::from_millis(5));
    }
    (directory, node)
}

fn time_of(node: &Node, offset: &str) -> String {
    let text = node.stdout(&["read", "a", "--from", offset, "--count", "1", "--json"]);
    let record: serde_json::Value = serde_json::from_str(&text).unwrap();
    let ms = record["timestamp"].as_str().unwrap().parse().unwrap();
    jiff::Timestamp::from_millisecond(ms).unwrap().to_string()
}

#[test]
fn starts_and_ends() {
    let (_directory, node) = filled();
    let (three, five) = (time_of(&node, "3"), time_of(&node, "5"));
    for (args, read) in [
        (&[][..], "012345"),
        (&["--from", "first"], "012345"),
        (&["--from", "last"], "5"),
        (&["--from", "next"], ""),
        (&["--from", "4"], "45"),
        (&["--from", "00000000000000000004"], "45"),
        (&["--from", &three], "345"),
        (&["--from", "1h"], "012345"),
        (&["--from", "1ms"], ""),
        (&["--tail", "2"], "45"),
        (&["--tail", "100"], "012345"),
        (&["--count", "2"], "01"),
        (&["--tail", "3", "--count", "2"], "34"),
        (&["--until", "2"], "01"),
        (&["--until", &five], "01234"),
        (&["--from", &three, "--until", &five], "34"),
        (&["--until", "1ms"], "012345"),
        (&["--until", "1h"], ""),
        (&["--from", "3", "--until", "1"], ""),
    ] {
        let printed = node.stdout(&[&["read", "a"], args].concat());
        assert_eq!(printed.replace('\n', ""), read, "{args:?}");
    }
    assert_eq!(node.stdout(&["tail", "a", "-n", "2"]), "4\n5\n");
    assert_eq!(node.stdout(&["tail", "a", "--from", "4"]), "4\n5\n");
}

#[test]
fn formats() {
    let directory = tempfile::tempdir().unwrap();
    let node = Node::start(&directory.path().join("data"));
    node.run(&["create", "f", "--max-age", "7d"]);
    let records = "{\"body\":\"no end\",\"headers\":[{\"name\":\"k\",\"value\":\"v\"}]}\n{\"body\":\"end\\n\"}\n{\"body\":\"{\\\"b\\\":1,\\\"a\\\":[]}\"}\n";
    assert!(node.feed(&["append", "f", "--format", "json"], records.as_bytes()).status.success());
    assert_eq!(node.stdout(&["read", "f"]), "no end\nend\n{\"b\":1,\"a\":[]}\n");
    assert_eq!(node.stdout(&["read", "f", "--format", "raw"]), "no endend\n{\"b\":1,\"a\":[]}");
    assert_eq!(node.stdout(&["read", "f", "--json"]), node.stdout(&["read", "f", "--format", "json"]));
    let pretty = node.command(&["read", "f", "--format", "pretty"]).env("TZ", "UTC").output().unwrap();
    let pretty = String::from_utf8(pretty.stdout).unwrap();
    let lines: Vec<_> = pretty.lines().collect();
    assert!(lines[0].starts_with("0  20") && lines[0].ends_with("+00:00  k=v"), "{pretty}");
    assert_eq!(lines[1], "    no end");
    assert_eq!(lines[3..].iter().filter(|line| line.contains('"')).count(), 2, "{pretty}");
    assert!(pretty.contains("    {\n      \"b\": 1,\n      \"a\": []\n    }\n"), "{pretty}");
    assert!(!pretty.contains('\u{1b}'), "no colours but on a terminal");
}

#[test]
fn colours_are_for_terminals_and_no_color_is_respected() {
    let (_directory, node) = filled();
    let on_terminal = |no_color: &str| {
        let command = format!("{} read a --count 1 --format pretty", crate::node::KELDA);
        let mut script = std::process::Command::new("script");
        script.args(["-qec", &command, "/dev/null"]).stdin(std::process::Stdio::null());
        script.env("KELDA_ENDPOINT", node.endpoint()).env("NO_COLOR", no_color).env("TERM", "xterm");
        String::from_utf8(script.output().unwrap().stdout).unwrap()
    };
    assert!(on_terminal("").contains("\u{1b}[1m0\u{1b}[0m"));
    let plain = on_terminal("1");
    assert!(plain.contains("0  ") && !plain.contains('\u{1b}'), "{plain:?}");
}

#[test]
fn tail_starts_and_ends() {
    let (_directory, node) = filled();
    let five = time_of(&node, "5");
    for (args, read) in [
        (&[][..], "012345"),
        (&["-n", "0"], ""),
        (&["-n", "2", "--count", "1"], "4"),
        (&["--from", "first", "--until", "2"], "01"),
        (&["--from", "first", "--until", "2", "-f"], "01"),
        (&["--from", "2", "--until", &five, "-f"], "234"),
        (&["--from", "5", "--until", "3", "-f"], ""),
        (&["--from", "first", "-f", "--count", "5"], "01234"),
        (&["--from", "first", "--prefetch", "1"], "012345"),
        (&["--from", "last"], "5"),
        (&["--from", "next"], ""),
        (&["--from", "1h"], "012345"),
    ] {
        let printed = node.stdout(&[&["tail", "a"], args].concat());
        assert_eq!(printed.replace('\n', ""), read, "{args:?}");
    }
    node.run(&["trim", "a", "--before", "2"]);
    for (args, code) in [(["--from", "1"], 4), (["--from", "7"], 4), (["--prefetch", "0"], 2)] {
        let output = node.command(&[&["tail", "a"][..], &args[..]].concat()).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{args:?}: {}", crate::node::stderr(&output));
    }
}

#[test]
fn a_checkpoint_goes_on_behind_what_was_printed() {
    use std::io::BufRead as _;
    let (directory, node) = filled();
    let file = directory.path().join("a.position");
    let file = file.to_str().unwrap();
    let tail = |more: &'static [&'static str]| {
        [&["tail", "a", "--from", "first", "--checkpoint", file], more].concat()
    };
    assert_eq!(node.stdout(&tail(&["--count", "2"])), "0\n1\n");
    assert_eq!(node.stdout(&tail(&["--until", "3", "--prefetch", "1"])), "2\n");
    // Ctrl-C stores the position of what was printed.
    let mut child = node.command(&tail(&["-f"])).stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut seen = std::io::BufReader::new(child.stdout.take().unwrap()).lines();
    assert_eq!(seen.by_ref().take(3).map(|line| line.unwrap()).collect::<String>(), "345");
    let pid = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&child.wait().unwrap()), Some(2));
    assert!(node.feed(&["append", "a"], b"6\n").status.success());
    assert_eq!(node.stdout(&tail(&[])), "6\n");
    assert_eq!(node.stdout(&tail(&[])), "");
    // What is no position is no beginning.
    std::fs::write(file, "{").unwrap();
    let output = node.command(&tail(&[])).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", crate::node::stderr(&output));
    assert!(crate::node::stderr(&output).contains("a.position is damaged"));
    std::fs::remove_file(file).unwrap();
    assert_eq!(node.stdout(&tail(&["--count", "1"])), "0\n");
    node.run(&["delete", "a"]);
    node.run(&["create", "a", "--content-type", "text/plain", "--max-age", "7d"]);
    let output = node.command(&tail(&[])).output().unwrap();
    assert_eq!(output.status.code(), Some(4), "another stream: {}", crate::node::stderr(&output));
}
