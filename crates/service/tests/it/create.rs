//! Creation: idempotent, compared by meaning, one operation with its content, one winner.

use futures::future::join_all;
use kelda_env::sim::FaultPlan;
use kelda_service::{
    Content, CreateError, CreateRequest, Created, Expiry, Fault, Retention, StreamConfig, StreamKind,
};

use crate::bench::{body, name, plain, post, put, records, run, run_seed};

#[test]
fn a_new_stream_is_empty_and_a_repeat_changes_nothing() {
    run(|bench| async move {
        let node = bench.start().await;
        let first = node.create(put("a", "text/plain")).await.unwrap();
        assert!(first.new && first.receipt.is_none());
        assert_eq!((first.info.start.0, first.info.next.0, first.info.sealed), (0, 0, false));
        assert_eq!(first.info.epoch, None, "never opened");
        let again = node.create(put("a", "TEXT/Plain; charset=utf-8")).await.unwrap();
        assert!(!again.new);
        assert_eq!((again.info.stream, again.info.content_type.as_str()), (first.info.stream, "text/plain"));
        let default = node.create(CreateRequest::new(name("b"))).await.unwrap();
        assert_eq!(default.info.content_type, "application/octet-stream");
    });
}

#[test]
fn a_conflict_names_what_differs_and_carries_what_is_there() {
    run(|bench| async move {
        let node = bench.start().await;
        let config = StreamConfig {
            content_type: Some("text/plain".to_owned()),
            expiry: Some(Expiry::Sliding { ttl_ms: 3_600_000 }),
            retention: Retention { max_age_ms: Some(1000), ..Retention::default() },
            ..StreamConfig::default()
        };
        let request = |config| CreateRequest { config, ..CreateRequest::new(name("a")) };
        let stream = node.create(request(config.clone())).await.unwrap().info.stream;
        assert!(!node.create(CreateRequest::new(name("a"))).await.unwrap().new, "no opinion matches");
        assert!(!node.create(request(config)).await.unwrap().new);
        let other = StreamConfig {
            kind: StreamKind::Queue,
            content_type: Some("application/json".to_owned()),
            expiry: Some(Expiry::Never),
            retention: Retention { max_age_ms: Some(2000), max_bytes: Some(5), segment_bytes: None },
            arguments: None,
        };
        let wanted = CreateRequest { seal: Some(true), ..request(other) };
        let found = node.create(wanted).await.unwrap_err();
        assert_eq!(found.code(), "config-conflict");
        let CreateError::Conflict { differences, info } = found else { panic!("{found:?}") };
        let fields: Vec<&str> = differences.iter().map(|difference| difference.field.as_str()).collect();
        assert_eq!(fields, ["kind", "content_type", "expiry", "max_age", "max_bytes", "sealed"]);
        assert_eq!((info.stream, info.content_type.as_str()), (stream, "text/plain"));
    });
}

#[test]
fn content_and_seal_are_part_of_the_creation() {
    run(|bench| async move {
        let node = bench.start().await;
        let request = CreateRequest { content: body("first"), ..put("a", "text/plain") };
        let created = node.create(request.clone()).await.unwrap();
        assert!(created.new);
        assert_eq!((created.info.next.0, created.receipt.unwrap().first.unwrap().0), (1, 0));
        let sealed =
            CreateRequest { content: records(&["x", "y"]), seal: Some(true), ..put("b", "text/plain") };
        let created = node.create(sealed.clone()).await.unwrap();
        assert!(created.info.sealed && created.receipt.unwrap().sealed);
        let empty = CreateRequest { seal: Some(true), ..put("c", "text/plain") };
        let created = node.create(empty).await.unwrap();
        assert_eq!((created.info.sealed, created.info.next.0), (true, 0));
        assert!(!node.create(sealed).await.unwrap().new, "sealed as asked for");
        let node = bench.restart_after_crash(node).await;
        assert!(!node.create(request).await.unwrap().new);
        assert_eq!(node.texts("a").await, ["first"]);
        assert_eq!(node.texts("b").await, ["x", "y"]);
        assert!(node.head("b").unwrap().sealed && node.head("c").unwrap().sealed);
    });
}

#[test]
fn the_body_of_a_request_that_did_not_create_is_not_appended() {
    run(|bench| async move {
        let node = bench.start().await;
        node.created("a").await;
        let request = CreateRequest { content: body("late"), ..put("a", "text/plain") };
        assert!(!node.create(request).await.unwrap().new);
        let request = CreateRequest { content: body("late"), ..put("a", "text/html") };
        assert!(node.create(request).await.is_err());
        assert_eq!(node.texts("a").await, Vec::<String>::new());
        node.append("a", plain("on time")).await.unwrap();
        assert_eq!(node.texts("a").await, ["on time"]);
    });
}

#[test]
fn a_seal_on_a_stream_that_is_not_sealed_conflicts() {
    run(|bench| async move {
        let node = bench.start().await;
        node.created("a").await;
        let found =
            node.create(CreateRequest { seal: Some(true), ..put("a", "text/plain") }).await.unwrap_err();
        assert!(
            matches!(&found, CreateError::Conflict { differences, .. } if differences[0].field == "sealed")
        );
        assert!(!node.head("a").unwrap().sealed);
        let no_opinion = CreateRequest { seal: None, ..put("a", "text/plain") };
        assert!(!node.create(no_opinion).await.unwrap().new);
    });
}

#[test]
fn of_creators_that_race_one_wins_and_its_content_alone_is_there() {
    run(|bench| async move {
        let node = bench.start().await;
        let creators = (0..20).map(|n| {
            let content = if n % 3 == 0 { Content::Empty } else { body(&format!("content {n}")) };
            node.create(CreateRequest { content, ..put("a", "text/plain") })
        });
        let outcomes: Vec<_> = join_all(creators).await.into_iter().map(Result::unwrap).collect();
        assert_eq!(outcomes.iter().filter(|created| created.new).count(), 1);
        assert!(outcomes.iter().all(|created| created.info.stream == outcomes[0].info.stream));
        let winner = outcomes.iter().position(|created| created.new).unwrap();
        let expected = if winner % 3 == 0 { vec![] } else { vec![format!("content {winner}")] };
        assert_eq!(node.texts("a").await, expected);
        assert_eq!(node.service.gauges().creations, 0);
    });
}

#[test]
fn of_creators_that_race_with_different_wishes_one_gets_its_own() {
    for seed in 0..20 {
        run_seed(seed, |bench| async move {
            let node = bench.start().await;
            bench.sim.set_faults(FaultPlan::slow());
            let types = ["text/plain", "text/html", "text/css"];
            let creators = (0..9).map(|n| {
                let content = if n < 2 { Content::Empty } else { body(&format!("content {n}")) };
                node.create(CreateRequest { content, ..put("a", types[n % 3]) })
            });
            let outcomes = join_all(creators).await;
            let new =
                |outcome: &Result<Created, CreateError>| outcome.as_ref().is_ok_and(|created| created.new);
            assert_eq!(outcomes.iter().filter(|outcome| new(outcome)).count(), 1);
            let winner = outcomes.iter().position(new).unwrap();
            for (n, outcome) in outcomes.iter().enumerate() {
                let same = n % 3 == winner % 3;
                let code = outcome.as_ref().err().map(Fault::code);
                assert_eq!(code, if same { None } else { Some("config-conflict") }, "seed {seed}");
            }
            let expected = if winner < 2 { vec![] } else { vec![format!("content {winner}")] };
            assert_eq!(node.texts("a").await, expected);
        });
    }
}

#[test]
fn large_content_is_cut_beside_the_executor() {
    run(|bench| async move {
        let node = bench.start().await;
        let large = format!("[\"{}\", 2]", "x".repeat(400_000));
        let request = CreateRequest { content: body(&large), ..put("a", "application/json") };
        assert_eq!(node.create(request).await.unwrap().info.next.0, 2);
        assert_eq!(node.append("a", post("application/json", &large)).await.unwrap().next.0, 4);
        let bad = node.append("a", post("application/json", &large[1..])).await.unwrap_err();
        assert_eq!(bad.code(), "invalid-json");
    });
}

#[test]
fn an_empty_json_array_creates_an_empty_stream() {
    run(|bench| async move {
        let node = bench.start().await;
        let created =
            node.create(CreateRequest { content: body("[]"), ..put("a", "application/json") }).await;
        assert_eq!(created.unwrap().info.next.0, 0);
        let created =
            node.create(CreateRequest { content: body("[1,[2]]"), ..put("b", "application/json") }).await;
        assert_eq!(created.unwrap().info.next.0, 2);
        assert_eq!(node.texts("b").await, ["1", "[2]"]);
    });
}

#[test]
fn what_cannot_be_created_leaves_nothing() {
    run(|bench| async move {
        let node = bench.start().await;
        let bad_json = CreateRequest { content: body("{"), ..put("a", "application/json") };
        assert_eq!(node.create(bad_json).await.unwrap_err().code(), "invalid-json");
        let bad_type = put("a", "text");
        assert_eq!(node.create(bad_type).await.unwrap_err().code(), "invalid-config");
        let mut bad_bound = put("a", "text/plain");
        bad_bound.config.retention.max_bytes = Some(0);
        assert_eq!(node.create(bad_bound).await.unwrap_err().code(), "invalid-config");
        let mut bad_ttl = put("a", "text/plain");
        bad_ttl.config.expiry = Some(Expiry::Sliding { ttl_ms: u64::MAX });
        assert_eq!(node.create(bad_ttl).await.unwrap_err().code(), "invalid-config");
        let many = vec!["1"; 10_001].join(",");
        let too_many = CreateRequest { content: body(&format!("[{many}]")), ..put("a", "application/json") };
        assert_eq!(node.create(too_many).await.unwrap_err().code(), "too-many-records");
        assert!(node.head("a").is_none());
        assert!(node.create(put("a", "text/plain")).await.unwrap().new);
    });
}
