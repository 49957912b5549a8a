//! What a recorder is told.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

use std::collections::BTreeMap;

use metrics_util::debugging::{DebugValue, DebuggingRecorder};

use super::*;
use crate::Kelda;

/// What a recorder has after `work`, by name and stream.
pub(crate) fn recorded(work: impl Future<Output = ()>) -> BTreeMap<String, f64> {
    let recorder = DebuggingRecorder::new();
    let snapshotter = recorder.snapshotter();
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().start_paused(true).build().unwrap();
    metrics::with_local_recorder(&recorder, || runtime.block_on(work));
    let mut values = BTreeMap::new();
    for (key, _, _, value) in snapshotter.snapshot().into_vec() {
        let name = key.key().name();
        let labels: Vec<_> = key.key().labels().map(|label| (label.key(), label.value())).collect();
        assert_eq!(labels, [("stream", "events"), ("client", "test")], "{name}");
        let value = match value {
            DebugValue::Counter(value) => value as f64,
            DebugValue::Gauge(value) => value.into_inner(),
            DebugValue::Histogram(values) => values.into_iter().map(|value| value.into_inner()).sum(),
        };
        values.insert(name.trim_start_matches("kelda_client_").to_owned(), value);
    }
    values
}

#[test]
fn every_metric_is_in_the_guide() {
    let guide = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guide/client.md");
    let guide = std::fs::read_to_string(guide).unwrap();
    for (name, kind, ..) in ALL {
        let row = format!("| `{name}` | {} |", format!("{kind:?}").to_lowercase());
        assert!(guide.contains(&row), "{row}");
    }
}

#[test]
fn what_two_have_adds_up_and_goes_with_them() {
    let values = recorded(async {
        let labels = Labels::new("events", "test");
        let (one, two) = (ReaderMeters::new(&labels), ReaderMeters::new(&labels));
        one.progress(Some(3), 5);
        two.progress(Some(4), 7);
        one.progress(None, 2);
        drop(two);
    });
    assert_eq!((values["reader_unfinished_records"], values["reader_running_readers"]), (0.0, 0.0));
    let values = recorded(async {
        let meters = ReaderMeters::new(&Labels::new("events", "test"));
        meters.progress(Some(3), 5);
        meters.progress(None, 2);
        std::mem::forget(meters);
    });
    assert_eq!((values["reader_unfinished_records"], values["reader_running_readers"]), (2.0, 1.0));
    assert_eq!(values["reader_position_offset"], 3.0);
}

#[test]
fn labels_are_bounded() {
    let kelda = Kelda::builder("http://h").client_name("billing").build().unwrap();
    let said = |stream: &str| {
        kelda.labels(stream).0.iter().map(|label| label.value().to_owned()).collect::<Vec<_>>()
    };
    for number in 0..MAX_LABELLED {
        assert_eq!(said(&number.to_string()), [&number.to_string(), "billing"]);
    }
    assert_eq!(said("one more"), [OTHER, "billing"]);
    assert_eq!(said("7"), ["7", "billing"]);
}
