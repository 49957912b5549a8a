//! Declaring streams, and what is said when one is there already.

use std::time::Duration;

use kelda_client::{Diagnostic, Error, StreamArguments, StreamLimits, Topology, days, hours};

use super::World;

#[tokio::test]
async fn a_declaration_may_be_repeated_and_a_contradiction_shows_both() {
    let World { kelda, node: _node, .. } = &World::new();
    let limits = StreamLimits::new().max_age(days(7)).max_bytes(10_000_000_000).segment_bytes(500_000_000);
    let first = kelda.declare_stream("events", limits.clone()).await.unwrap();
    assert_eq!(first.headers["kelda-max-age"], "7d");
    let again = kelda.declare_stream("events", limits.clone()).await.unwrap();
    assert_eq!(first.stream_id, again.stream_id);
    // What is not said is not compared, and what means the same is the same.
    kelda.declare_stream("events", StreamLimits::new()).await.unwrap();
    kelda.declare_stream("events", StreamLimits::new().max_age_raw("168h")).await.unwrap();

    let other = limits.max_age(hours(1)).max_bytes(5);
    let error = kelda.declare_stream("events", other).await.unwrap_err();
    let Error::Mismatch(mismatch) = &error else { panic!("{error}") };
    let differences: Vec<_> = mismatch
        .differences
        .iter()
        .map(|one| (one.field.as_str(), one.existing.as_deref(), one.requested.as_deref()))
        .collect();
    let expected = [("max_age", Some("7d"), Some("1h")), ("max_bytes", Some("10000000000"), Some("5"))];
    assert_eq!(differences, expected);
    assert!(error.to_string().contains("max_age is 7d, asked for was 1h"), "{error}");
}

#[tokio::test]
async fn no_limit_works_and_is_said_once() {
    let World { kelda, node: _node, .. } = &World::new();
    let mut diagnostics = kelda.diagnostics();
    for _ in 0..3 {
        let head = kelda.declare_stream("forever", StreamLimits::new()).await.unwrap();
        assert!(!head.headers.keys().any(|name| name.starts_with("kelda-max") || name.contains("segment")));
    }
    kelda.declare_stream("bounded", StreamLimits::new().max_age(days(1))).await.unwrap();
    assert_eq!(diagnostics.try_next(), Some(Diagnostic::Unlimited { stream: "forever".to_owned() }));
    assert_eq!(diagnostics.try_next(), None);
}

#[tokio::test]
async fn what_cannot_be_said_exactly_is_refused_before_anything_is_sent() {
    let World { kelda, node: _node, .. } = &World::new();
    let odd = StreamLimits::new().max_age(Duration::from_millis(1_500));
    let topology = Topology::new().stream("good", StreamLimits::new()).stream("odd", odd);
    let error = kelda.declare(&topology).await.unwrap_err();
    assert!(matches!(error, Error::Invalid { what: "max_age", .. }), "{error}");
    assert!(kelda.list("", None).await.unwrap().streams.is_empty());
}

#[tokio::test]
async fn a_topology_declares_several() {
    let World { kelda, node: _node, .. } = &World::new();
    let topology = Topology::new()
        .stream(
            "orders",
            StreamLimits::new().max_age(days(30)).ttl(hours(2)).content_type("application/json"),
        )
        .stream_with("audit", [(StreamArguments::MAX_AGE, "3600s"), (StreamArguments::SEGMENT_BYTES, "1000")])
        .unwrap();
    for _ in 0..2 {
        let heads = kelda.declare(&topology).await.unwrap();
        assert_eq!(heads.iter().map(|head| head.name.as_str()).collect::<Vec<_>>(), ["orders", "audit"]);
        assert_eq!(heads[0].headers["stream-ttl"], "7200");
        assert_eq!(
            (heads[0].content_type.as_str(), heads[1].headers["kelda-max-age"].as_str()),
            ("application/json", "1h")
        );
    }
}
