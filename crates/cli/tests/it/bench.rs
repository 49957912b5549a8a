//! `kelda bench` against a real node: every workload in its smallest size, and what its JSON says.

use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;

use serde_json::Value;

use crate::node::{KELDA, Node, stderr};

struct Bench {
    directory: tempfile::TempDir,
    node: Node,
}

impl Bench {
    fn new() -> Bench {
        let directory = tempfile::tempdir().unwrap();
        let node = Node::start(&directory.path().join("data"));
        Bench { directory, node }
    }

    /// Runs a workload and gives its JSON.
    fn run(&self, args: &[&str]) -> Value {
        let output = self.node.run(&[&["bench"], args, &["--json"]].concat());
        serde_json::from_slice(&output.stdout).unwrap()
    }

    fn streams(&self) -> String {
        String::from_utf8(self.node.run(&["ls", "--names"]).stdout).unwrap()
    }
}

/// The measurement of a result with one.
fn only(report: &Value) -> &Value {
    let [measured] = &report["measurements"].as_array().unwrap()[..] else { panic!("{report}") };
    check(measured);
    measured
}

/// Checks what has to hold of every measurement.
fn check(measured: &Value) {
    for field in ["name", "seconds", "requests", "records", "bytes", "errors", "client_cpu"] {
        assert!(measured.get(field).is_some(), "{field}: {measured}");
    }
    assert!(measured["seconds"].as_f64().unwrap() > 0.0, "{measured}");
    for rate in ["requests_per_second", "records_per_second", "mib_per_second"] {
        assert!(measured[rate].as_f64().unwrap() >= 0.0, "{measured}");
    }
    for (of, latency) in measured["latency_ms"].as_object().unwrap() {
        let order =
            ["min", "p50", "p90", "p99", "p99.9", "max"].map(|field| latency[field].as_f64().unwrap());
        assert!(order.is_sorted() && order[0] > 0.0, "{of}: {latency}");
        assert!(latency["count"].as_u64().unwrap() > 0, "{of}: {latency}");
    }
}

fn latencies(measured: &Value, of: &str) -> u64 {
    measured["latency_ms"][of]["count"].as_u64().unwrap()
}

#[test]
fn appends_are_counted_in_every_form_and_their_streams_go() {
    let bench = Bench::new();
    let small = ["append", "--record-bytes", "100", "--warm-up", "10ms", "--in-flight", "3"];
    let forms: [(&[&str], u64, u64); 4] = [
        (&["--records", "50", "--streams", "2"], 50, 1),
        (&["--records", "40", "--batch", "8", "--form", "json"], 5, 8),
        (&["--bytes", "3200", "--batch", "8"], 4, 8),
        (&["--records", "9", "--batch", "8"], 2, 8),
    ];
    for (args, requests, batch) in forms {
        let report = bench.run(&[&small[..], args].concat());
        let measured = only(&report);
        assert_eq!(report["workload"], "append");
        let counts =
            ["requests", "records", "bytes", "errors"].map(|field| measured[field].as_u64().unwrap());
        assert_eq!(counts, [requests, requests * batch, requests * batch * 100, 0], "{args:?}");
        assert_eq!(latencies(measured, "ack"), requests);
        assert!(measured["client_cpu"]["seconds"].as_f64().unwrap() > 0.0, "{measured}");
    }
    assert_eq!(bench.streams(), "", "streams are deleted");
    let report = bench.run(&["append", "--duration", "50ms", "--rate", "100", "--warm-up", "0s", "--keep"]);
    let requests = only(&report)["requests"].as_u64().unwrap();
    assert_eq!(requests, 5, "every 10 ms one");
    let kept = bench.streams();
    let head = bench.node.run(&["head", "--json", kept.trim()]);
    let head: Value = serde_json::from_slice(&head.stdout).unwrap();
    assert_eq!(head["next_offset"], format!("{requests:020}"), "what was counted is there, and nothing else");
}

#[test]
fn reads_get_everything_in_every_form() {
    let bench = Bench::new();
    for form in ["raw", "binary", "json"] {
        let args = ["read", "--bytes", "3MiB", "--page", "1MiB", "--readers", "2", "--form", form];
        let report = bench.run(&args);
        let measured = only(&report);
        assert_eq!(measured["records"], 2 * 3072, "{form}");
        assert_eq!(measured["bytes"], 2 * (3 << 20), "{form}");
        assert!(measured["requests"].as_u64().unwrap() >= 6, "{form}: pages of 1 MiB");
    }
    assert_eq!(bench.streams(), "");
    bench.node.run(&["bench", "append", "--records", "30", "--batch", "10", "--warm-up", "0s", "--keep"]);
    let kept = bench.streams();
    let report = bench.run(&["read", "--stream", kept.trim(), "--form", "binary"]);
    assert_eq!(only(&report)["records"], 30);
    assert_eq!(bench.streams(), kept, "a stream that was there stays there");
}

#[test]
fn readers_apart_read_everything_once() {
    let bench = Bench::new();
    let args = ["read", "--bytes", "3MiB", "--page", "256KiB", "--readers", "5", "--apart"];
    let report = bench.run(&args);
    let measured = only(&report);
    assert_eq!((&measured["records"], &measured["bytes"]), (&3072.into(), &(3 << 20).into()));
    assert_eq!(latencies(measured, "reader"), 5);
}

#[test]
fn many_streams_are_made_and_deleted() {
    let bench = Bench::new();
    let args = ["streams", "--streams", "30", "--active", "7", "--in-flight", "4"];
    let report = bench.run(&args);
    let measured = report["measurements"].as_array().unwrap();
    measured.iter().for_each(check);
    let counts = |field: &str| measured.iter().map(|it| it[field].as_u64().unwrap()).collect::<Vec<_>>();
    assert_eq!((counts("requests"), counts("records")), (vec![30, 7, 30], vec![0, 7, 0]));
    assert_eq!(bench.streams(), "");
    bench.run(&[&args[..], &["--keep"]].concat());
    assert_eq!(bench.streams().lines().count(), 30);
}

#[test]
fn every_record_reaches_every_waiting_reader() {
    let bench = Bench::new();
    let short = ["--duration", "300ms", "--warm-up", "50ms", "--rate", "100", "--record-bytes", "64"];
    for via in ["sse", "long-poll", "library"] {
        for (workload, readers) in [(&["tail"][..], 1), (&["fanout", "--readers", "7"], 7)] {
            let report = bench.run(&[workload, &short, &["--via", via]].concat());
            let measured = only(&report);
            assert_eq!(measured["records"], 30, "{via}: every 10 ms one");
            assert_eq!(measured["deliveries"], 30 * readers, "{via}");
            assert_eq!(latencies(measured, "ack"), 30);
            assert_eq!(latencies(measured, "delivery"), 30 * readers, "{via}");
            assert!(measured["deliveries_per_second"].as_f64().unwrap() > 0.0);
        }
    }
    assert_eq!(bench.streams(), "");
}

#[test]
fn limits_need_no_server_and_leave_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let (data, json) = (directory.path().join("data"), directory.path().join("limits.json"));
    std::fs::create_dir(&data).unwrap();
    let args = ["bench", "limits", "--seconds", "50ms", "--max-bytes", "3MiB", "--data-dir"];
    let output =
        std::process::Command::new(KELDA).args(args).arg(&data).arg("--result").arg(&json).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_str(&std::fs::read_to_string(&json).unwrap()).unwrap();
    assert_eq!(report["endpoint"], Value::Null);
    let measured = report["measurements"].as_array().unwrap();
    assert_eq!(measured.len(), 8);
    measured.iter().for_each(check);
    for (index, bytes) in [4 << 10, 256 << 10, 1 << 20].into_iter().enumerate() {
        let writes = latencies(&measured[index], "write");
        assert_eq!(measured[index]["bytes"], writes * bytes);
        assert!(writes * bytes <= 3 << 20, "the cap holds");
    }
    let table = String::from_utf8(output.stdout).unwrap();
    assert!(table.contains("loopback TCP") && table.contains("no-op POST 1 KiB, 256 in flight"), "{table}");
    assert_eq!(std::fs::read_dir(&data).unwrap().count(), 0, "the file is removed");
}

#[test]
fn the_suite_compares_and_draws() {
    let bench = Bench::new();
    let chart = |name: &str| bench.directory.path().join(name);
    let data = bench.directory.path().join("data");
    let (data, html) = (data.to_str().unwrap().to_owned(), chart("suite.html"));
    let args =
        ["suite", "--quick", "--bytes", "2MiB", "--data-dir", &data, "--chart", html.to_str().unwrap()];
    let report = bench.run(&args);
    assert_eq!(report["ratios"].as_array().unwrap().len(), 9);
    assert_eq!(report["measurements"].as_array().unwrap().len(), 8 + 8);
    for ratio in report["ratios"].as_array().unwrap() {
        assert!(ratio["value"].as_f64().unwrap() > 0.0 && ratio["met"].is_boolean(), "{ratio}");
    }
    let page = std::fs::read_to_string(html).unwrap();
    assert!(page.contains("<table>") && page.contains("<svg") && page.contains("64 streams"), "{page}");
    let picture = chart("append.svg");
    let args = ["append", "--records", "3", "--warm-up", "0s", "--chart", picture.to_str().unwrap()];
    bench.run(&args);
    assert!(std::fs::read_to_string(picture).unwrap().starts_with("<svg"));
    assert_eq!(bench.streams(), "");
}

#[test]
fn the_client_library_is_compared_with_plain_requests() {
    let bench = Bench::new();
    let small = ["--bytes", "1MiB", "--memory-bytes", "4MiB", "--tail", "200ms"];
    let report = bench.run(&[&["client", "--rounds", "2"], &small[..]].concat());
    let measured = report["measurements"].as_array().unwrap();
    measured.iter().for_each(check);
    assert_eq!(measured.len(), 2 * (4 + 4 + 2) + 1);
    for round in measured[..20].chunks(10) {
        assert!(round[..8].iter().all(|it| it["records"] == 1024), "{report}");
        for tail in &round[8..] {
            assert_eq!((&tail["records"], latencies(tail, "delivery")), (&40.into(), 40), "{tail}");
        }
    }
    assert_eq!(measured[20]["records"], 4096);
    let ratios = report["ratios"].as_array().unwrap();
    assert_eq!(ratios.len(), 8);
    for ratio in &ratios[..7] {
        assert!(ratio["value"].as_f64().unwrap() > 0.0, "{ratio}");
        assert!(ratio["name"].as_str().unwrap().ends_with("in 2 rounds)"), "{ratio}");
    }
    let report = bench.run(&[&["client", "--only", "produce", "--rounds", "1"], &small[..]].concat());
    let count = |field: &str| report[field].as_array().unwrap().len();
    assert_eq!((count("measurements"), count("ratios")), (4, 3), "only what was asked for");
    assert_eq!(bench.streams(), "", "streams are deleted");
}

#[test]
fn a_broker_is_compared_with_another_one() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let bench = Bench { node: Node::with(&data, &["--amqp-listen=127.0.0.1:0"]), directory };
    let (url, process, data) = (bench.node.amqp(), std::process::id().to_string(), data.to_str().unwrap());
    let small = ["--rounds", "2", "--messages", "2500", "--tail", "200ms", "--connections", "3"];
    let alone = bench.run(&[&["amqp", "--url", url], &small[..]].concat());
    assert_eq!(
        (alone["measurements"].as_array().unwrap().len(), &alone["ratios"]),
        (6, &Value::Array(vec![]))
    );
    let both =
        ["amqp", "--url", url, "--peer", url, "--data-dir", data, "--pid", &process, "--peer-pid", &process];
    let report = bench.run(&[&both, &small[..]].concat());
    let measured = report["measurements"].as_array().unwrap();
    measured.iter().for_each(check);
    assert_eq!(measured.len(), 2 * (1 + 4 + 4));
    for side in [&measured[1..5], &measured[5..9], &measured[10..14], &measured[14..]] {
        assert_eq!((&side[0]["records"], &side[1]["records"]), (&2500.into(), &2500.into()), "{report}");
        assert_eq!(
            (latencies(&side[0], "confirm"), latencies(&side[2], "delivery")),
            (2500, 200),
            "{report}"
        );
        assert_eq!(side[3]["requests"], 3, "{report}");
    }
    let names = report["ratios"].as_array().unwrap().iter().map(|ratio| ratio["name"].as_str().unwrap());
    assert_eq!(names.filter(|name| name.ends_with("in 2 rounds)")).count(), 5, "{report}");
    assert_eq!(bench.streams(), "", "queues are deleted");
}

#[test]
fn what_cannot_be_measured_is_said() {
    let failed = |args: &[&str]| {
        let output = std::process::Command::new(KELDA).arg("bench").args(args).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, error) = failed(&["append", "--batch", "2", "--form", "raw"]);
    assert_eq!(code, Some(2));
    assert!(error.contains("--form raw has one record"), "{error}");
    let (code, error) = failed(&["--endpoint", "http://127.0.0.1:1", "append", "--records", "1"]);
    assert_eq!(code, Some(5), "{error}");
    let (code, error) = failed(&["append", "--records", "1", "--bytes", "1"]);
    assert_eq!(code, Some(2), "{error}");
    let (code, error) = failed(&["append", "--chart", "x.png"]);
    assert!(code == Some(2) && error.contains("does not end in .svg or .html"), "{error}");
    assert!(!Path::new("x.png").exists());
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "x").unwrap();
    for (wrong, says) in [(folder.path().join("none"), "no such directory"), (file, "no directory")] {
        let wrong = wrong.to_str().unwrap();
        let (code, error) = failed(&["limits", "--data-dir", wrong]);
        assert!(code == Some(2) && error.contains(wrong) && error.contains(says), "{error}");
    }
    assert!(!folder.path().join("none").exists());
    for args in [
        &["append", "--in-flight", "4097"][..],
        &["append", "--duration", "0s"],
        &["read", "--readers", "4097"],
        &["read", "--page", "17MiB"],
        &["fanout", "--readers", "4097"],
        &["tail", "--duration", "0s"],
        &["limits", "--data-dir", ".", "--seconds", "0s"],
    ] {
        let (code, error) = failed(args);
        assert!(code == Some(2) && error.contains(args[args.len() - 1]), "{args:?}: {error}");
    }
    let bench = Bench::new();
    let chart = bench.node.command(&["bench", "append", "--chart", "/nonexistent/x.svg"]).output().unwrap();
    assert_eq!(chart.status.code(), Some(1));
    assert!(stderr(&chart).contains("/nonexistent/x.svg"), "{}", stderr(&chart));
    let missing = bench.node.command(&["bench", "read", "--stream", "no/such"]).output().unwrap();
    assert_eq!(missing.status.code(), Some(3));
    assert!(stderr(&missing).contains("no stream \"no/such\""), "{}", stderr(&missing));
}

#[test]
fn an_interrupt_deletes_the_streams() {
    let bench = Bench::new();
    let mut running = bench.node.command(&["bench", "append", "--duration", "10m"]).spawn().unwrap();
    while bench.streams().is_empty() {
        assert_eq!(running.try_wait().unwrap(), None, "still measuring");
    }
    let pid = running.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    assert_eq!(running.wait().unwrap().signal(), Some(2), "it dies of the signal");
    assert_eq!(bench.streams(), "");
}

#[test]
fn requests_to_the_store_are_counted_where_an_admin_address_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let node = Node::with(&directory.path().join("data"), &["--admin-listen=127.0.0.1:0"]);
    let bench = Bench { directory, node };
    let admin = bench.node.admin();
    let args =
        ["append", "--batch", "512", "--bytes", "96MiB", "--warm-up", "0s", "--keep", "--admin", admin];
    let report = bench.run(&args);
    let adopted = report["store"]["requests"]["adopt"].as_u64().unwrap();
    let records = only(&report)["records"].as_u64().unwrap();
    let wanted = adopted as f64 * 1e6 / records as f64;
    assert!(adopted > 0 && (report["store"]["per_million_records"]["adopt"] == wanted), "{report}");
    let quiet = bench.run(&["append", "--records", "1", "--warm-up", "0s"]);
    assert!(quiet.get("store").is_none(), "{quiet}");
    let endpoint = bench.node.endpoint();
    let wrong =
        bench.node.command(&["bench", "append", "--records", "1", "--admin", &endpoint]).output().unwrap();
    assert!(!wrong.status.success() && stderr(&wrong).contains("metrics"), "{wrong:?}");
}
