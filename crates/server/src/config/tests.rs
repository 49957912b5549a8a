//! Precedence, origins, refusals, and that the printed configuration is one.
#![allow(clippy::unwrap_used)]

use std::time::Duration;

use super::*;

fn with(flags: &[&str], variables: &[(&str, &str)], file: Option<&str>) -> Result<Loaded, ConfigError> {
    let command = command(clap::Command::new("serve").no_binary_name(true));
    let flags = command.try_get_matches_from(flags).unwrap();
    let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    load(&flags, &Sources { variables, file: file.map(|text| ("kelda.toml".to_owned(), text.to_owned())) })
}

fn error(flags: &[&str], variables: &[(&str, &str)], file: Option<&str>) -> String {
    with(flags, variables, file).unwrap_err().to_string()
}

#[test]
fn defaults_are_those_that_scripts_rely_on() {
    let loaded = with(&[], &[], None).unwrap();
    let settings = &loaded.settings;
    assert_eq!(settings.data_dir.to_str(), Some("./kelda-data"));
    assert_eq!(settings.listen, Listen::At("127.0.0.1:4437".parse().unwrap()));
    assert_eq!(settings.admin_listen, Listen::At("127.0.0.1:9437".parse().unwrap()));
    assert_eq!(settings.long_poll_timeout, Duration::from_secs(25));
    assert_eq!(settings.sse_max_duration, Duration::from_secs(55));
    assert_eq!(settings.lease_ttl, Duration::from_secs(10));
    assert_eq!(settings.wal_linger, Linger::Auto);
    assert_eq!((settings.wal, settings.wal_in_store()), (WalKind::Auto, false), "with a local store");
    assert_eq!(settings.upload_interval, Duration::from_secs(600));
    assert!(!settings.allow_anonymous && !settings.ready_json);
    assert!(loaded.sources.values().all(|source| *source == Source::Default));
    for name in [
        "data-dir",
        "listen",
        "amqp-listen",
        "amqp-consumer-timeout",
        "admin-listen",
        "store",
        "meta",
        "wal",
        "node-id",
        "advertise",
        "slots",
        "long-poll-timeout",
        "sse-max-duration",
        "lease-ttl",
        "wal-linger",
    ] {
        assert!(NodeSettings::ALL.iter().any(|setting| setting.name == name), "{name}");
    }
}

#[test]
fn flags_win_over_variables_over_the_file() {
    let file = "listen = \"127.0.0.1:1\"\nslots = 7\nnode-id = 3\nallow-anonymous = true\nsse-max-duration = \"5s\"\n";
    let variables = [("KELDA_LISTEN", "127.0.0.1:2"), ("KELDA_NODE_ID", "4"), ("KELDA_URL", "elsewhere")];
    let loaded = with(&["--listen", "127.0.0.1:3", "--ready-json"], &variables, Some(file)).unwrap();
    assert_eq!(loaded.settings.listen, Listen::At("127.0.0.1:3".parse().unwrap()));
    assert_eq!((loaded.settings.node_id, loaded.settings.slots), (4, 7));
    assert!(loaded.settings.allow_anonymous && loaded.settings.ready_json);
    let source = |name| loaded.sources[name].to_string();
    assert_eq!(source("listen"), "flag --listen");
    assert_eq!(source("ready-json"), "flag --ready-json");
    assert_eq!(source("node-id"), "variable KELDA_NODE_ID");
    assert_eq!(source("slots"), "file kelda.toml");
    assert_eq!(source("wal"), "default");
}

#[test]
fn a_switch_can_be_turned_off_again() {
    let loaded = with(&["--allow-anonymous=false"], &[("KELDA_ALLOW_ANONYMOUS", "true")], None).unwrap();
    assert!(!loaded.settings.allow_anonymous);
}

#[test]
fn wrong_values_name_setting_origin_value_and_what_is_right() {
    for (flags, variables, file, parts) in [
        (
            &["--listen", "here"][..],
            &[][..],
            None,
            &["listen", "flag --listen", "`here`", "127.0.0.1:4437"][..],
        ),
        (&[], &[("KELDA_SLOTS", "many")], None, &["slots", "variable KELDA_SLOTS", "`many`", "whole number"]),
        (&[], &[], Some("slots = 0"), &["slots", "file kelda.toml", "`0`", "at least 1"]),
        (&[], &[], Some("lisen = \"x\""), &["kelda.toml", "`lisen` is not a setting", "listen"]),
        (&[], &[], Some("slots = 1.5"), &["kelda.toml", "`slots`", "float"]),
        (&[], &[], Some("slots = = 1"), &["kelda.toml"]),
        (&["--long-poll-timeout", "25"], &[], None, &["long-poll-timeout", "`25`", "unit"]),
        (&["--long-poll-timeout", "0s"], &[], None, &["long-poll-timeout", "out of range"]),
        (&["--sse-max-duration", "2h"], &[], None, &["sse-max-duration", "`2h`", "at most 1h"]),
        (&["--request-memory", "1MB"], &[], None, &["request-memory", "`1MB`", "MiB"]),
        (&["--request-memory", "1MiB"], &[], None, &["request-memory", "too small"]),
        (&["--store", "s3"], &[], None, &["store", "`s3`", "local"]),
        (&["--meta", "postgres"], &[], None, &["meta", "`postgres`", "sqlite"]),
        (&["--amqp-listen", "5672"], &[], None, &["amqp-listen", "`5672`"]),
        (&["--amqp-consumer-timeout", "31d"], &[], None, &["amqp-consumer-timeout", "`31d`", "at most 30d"]),
        (&["--data-dir", ""], &[], None, &["data-dir", "empty"]),
        (&["--ready-json=yes"], &[], None, &["ready-json", "`yes`"]),
    ] {
        let error = error(flags, variables, file);
        for part in parts {
            assert!(error.contains(part), "{part} is not in: {error}");
        }
    }
}

#[test]
fn what_is_printed_loads_to_the_same() {
    let flags = [
        "--listen",
        "[::1]:0",
        "--admin-listen",
        "off",
        "--request-memory",
        "1GiB",
        "--wal-linger",
        "1500ms",
    ];
    let loaded = with(&flags, &[("KELDA_DATA_DIR", "C:\\a \"b\"")], None).unwrap();
    let text = print(&loaded);
    assert!(text.contains("listen = \"[::1]:0\"") && text.contains("# flag --listen"), "{text}");
    assert!(text.contains("# variable KELDA_DATA_DIR") && text.contains("# default"), "{text}");
    let again = with(&[], &[], Some(&text)).unwrap();
    assert_eq!(again.settings, loaded.settings);
}

#[test]
fn only_loopback_is_not_exposed() {
    let listen = |text: &str| with(&["--listen", text], &[], None).unwrap().settings.listen;
    for (text, exposed) in [
        ("127.0.0.1:1", false),
        ("127.9.9.9:1", false),
        ("[::1]:1", false),
        ("localhost:1", false),
        ("off", false),
        ("0.0.0.0:1", true),
        ("[::]:1", true),
        ("10.0.0.1:1", true),
    ] {
        assert_eq!(listen(text).is_exposed(), exposed, "{text}");
    }
}

#[test]
fn the_store_is_a_url() {
    let store =
        |text: &str| with(&["--store", text], &[], None).map(|loaded| loaded.settings.store.to_string());
    let s3 = "s3://bucket/prefix?endpoint=https://s3.example:9000&region=eu-central-1";
    for text in ["local", "file:///srv/objects", s3, "gs://bucket/p", "az://container"] {
        assert_eq!(store(text).unwrap(), text);
    }
    let error = store("s3://bucket?regoin=x").unwrap_err().to_string();
    assert!(
        error.starts_with("store (flag --store): `regoin`") && error.contains("s3 takes region"),
        "{error}"
    );
    let error = with(&["--store-concurrency", "0"], &[], None).unwrap_err().to_string();
    assert!(error.contains("at least 1"), "{error}");
    let error = with(&["--store-timeout", "0s"], &[], None).unwrap_err().to_string();
    assert!(error.contains("out of range"), "{error}");
}

#[test]
fn delays_are_hidden_until_they_are_set() {
    use kelda_env::StoreOp;
    let quiet = with(&[], &[], None).unwrap();
    assert!(quiet.settings.store_delay.is_none() && !print(&quiet).contains("store-delay"));
    let mut help = Vec::new();
    crate::config::command(clap::Command::new("serve")).write_long_help(&mut help).unwrap();
    assert!(!String::from_utf8(help).unwrap().contains("store-delay"));
    let loaded = with(&["--store-delay", "put=30ms,get=1s"], &[], None).unwrap();
    assert_eq!(loaded.settings.store_delay.get(StoreOp::Put), Duration::from_millis(30));
    assert_eq!(loaded.settings.store_delay.get(StoreOp::Head), Duration::ZERO);
    let text = print(&loaded);
    assert!(text.contains("store-delay = \"put=30ms,get=1s\""), "{text}");
    assert_eq!(with(&[], &[], Some(&text)).unwrap().settings, loaded.settings);
    for (wrong, said) in [("post=1s", "`post=1s` is no delay"), ("put", "write put=30ms"), ("put=x", "x")] {
        let error = with(&["--store-delay", wrong], &[], None).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
}
