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
    assert_eq!(json["ready"], true);
    assert!(json["amqp_listen"].as_str().unwrap().starts_with("127.0.0.1:"));
    assert!(json["admin_listen"].as_str().unwrap().starts_with("127.0.0.1:"));
    assert_eq!(json["cluster"].as_str().unwrap().len(), 32);
    let node = TestNode::with(Options::flags(&["--admin-listen=off"])).await;
    let line = node.node.as_ref().unwrap().ready_line();
    assert!(line.contains(&node.url("")) && line.contains("admin off"), "{line}");
}

/// The value of a metric with these labels.
fn metric(text: &str, name: &str) -> f64 {
    let line = text.lines().find(|line| line.strip_prefix(name).is_some_and(|rest| rest.starts_with(' ')));
    line.unwrap_or_else(|| panic!("no {name} in {text}")).rsplit(' ').next().unwrap().parse().unwrap()
}

#[tokio::test]
async fn metrics_count_the_requests_to_the_store() {
    let node = TestNode::with(Options { segment_bytes: Some(64 << 10), ..Options::default() }).await;
    let before = node.admin("/metrics").await;
    let kind = before.header("content-type").unwrap();
    assert!(before.status == 200 && kind.starts_with("application/openmetrics-text"), "{kind}");
    let text = before.text();
    assert_eq!(metric(text, "kelda_ready"), 1.0);
    assert_eq!(metric(text, "kelda_streams"), 0.0);
    assert_eq!(metric(text, "kelda_store_requests_total{kind=\"get\",outcome=\"throttled\"}"), 0.0);
    let adopted = "kelda_store_requests_total{kind=\"adopt\",outcome=\"ok\"}";
    assert_eq!(metric(text, adopted), 0.0);
    node.create("/s", "text/plain").await;
    let body = "x".repeat(8 << 10);
    for _ in 0..40 {
        assert_eq!(node.append("/s", &body).await.status, 204);
    }
    for _ in 0..100 {
        if metric(node.admin("/metrics").await.text(), adopted) > 0.0 {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    let after = node.admin("/metrics").await;
    assert!(metric(after.text(), adopted) > 0.0, "{}", after.text());
    assert_eq!(metric(after.text(), "kelda_streams"), 1.0);
    assert!(after.text().ends_with("# EOF\n"));
}
