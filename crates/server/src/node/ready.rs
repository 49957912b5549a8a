//! The line that says that a node is ready.
//!
//! Owns both spellings. Guarantees real addresses: where port 0 was asked for, the port that was picked.

use std::net::SocketAddr;

use serde_json::json;

use super::Node;

pub(super) fn text(node: &Node) -> String {
    let at =
        |address: Option<SocketAddr>| address.map_or("off".to_owned(), |address| format!("http://{address}"));
    format!(
        "kelda is ready: http {}, amqp {}, admin {}, data in {}",
        at(node.listen),
        node.amqp_listen.map_or("off".to_owned(), |address| format!("amqp://{address}")),
        at(node.admin_listen),
        node.settings.data_dir.display()
    )
}

pub(super) fn json(node: &Node) -> String {
    let at = |address: Option<SocketAddr>| address.map_or("off".to_owned(), |address| address.to_string());
    json!({
        "ready": true,
        "version": env!("CARGO_PKG_VERSION"),
        "listen": at(node.listen),
        "amqp_listen": at(node.amqp_listen),
        "admin_listen": at(node.admin_listen),
        "node_id": node.settings.node_id.to_string(),
        "cluster": node.cluster.to_string(),
        "data_dir": node.settings.data_dir.display().to_string(),
    })
    .to_string()
}
