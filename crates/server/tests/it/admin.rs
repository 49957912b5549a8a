//! Health and readiness.

use crate::support::{Options, TestNode};

#[tokio::test]
async fn a_node_that_serves_is_ready() {
    let node = TestNode::start().await;
    let health = node.admin("/health").await;
    assert_eq!((health.status, health.json()["status"].as_str()), (200, Some("ok")));
    let ready = node.admin("/ready").await;
    assert_eq!(ready.status, 200);
    assert_eq!(ready.json()["status"], "ready");
    assert_eq!(ready.json()["metadata"]["status"], "ready");
    let none = node.admin("/metrics/none").await;
    assert_eq!(none.refused(), (404, "not-found".to_owned()));
}

#[tokio::test]
async fn the_ready_line_has_the_real_addresses() {
    let node = TestNode::with(Options::flags(&["--ready-json"])).await;
    let line = node.node.as_ref().unwrap().ready_line();
    assert!(!line.contains('\n'));
    let json: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert_eq!(json["listen"], node.address().to_string());
    assert_ne!(node.address().port(), 0);
    assert_eq!((&json["ready"], &json["amqp_listen"]), (&true.into(), &"off".into()));
    assert!(json["admin_listen"].as_str().unwrap().starts_with("127.0.0.1:"));
    assert_eq!(json["cluster"].as_str().unwrap().len(), 32);
    let node = TestNode::with(Options::flags(&["--admin-listen=off"])).await;
    let line = node.node.as_ref().unwrap().ready_line();
    assert!(line.contains(&node.url("")) && line.contains("admin off"), "{line}");
}
