//! Which node a request goes to: owns the addresses of one cluster and what was said about who owns which stream,
//! guarantees that no request goes to an address that was not given by the caller, whatever a reply says. Never connects.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

use crate::endpoint;
use crate::error::Error;

/// Streams whose owner is remembered; beyond, all are forgotten, which costs each a hop.
const MAX_OWNERS: usize = 10_000;

/// The nodes that were given; the endpoint is number 0.
pub(super) struct Nodes {
    endpoints: Vec<String>,
    /// The node for streams whose owner is not known.
    usual: AtomicUsize,
    /// Node by path of a stream.
    owners: Mutex<BTreeMap<String, usize>>,
}

impl Nodes {
    pub(super) fn new(endpoint: &str, further: &[String]) -> Result<Nodes, Error> {
        let mut endpoints = vec![endpoint.to_owned()];
        let scheme = scheme(endpoint);
        for address in further {
            let further = endpoint::check(&format!("{scheme}{address}"))?.to_owned();
            if !endpoints.contains(&further) {
                endpoints.push(further);
            }
        }
        Ok(Nodes { endpoints, usual: AtomicUsize::new(0), owners: Mutex::default() })
    }

    /// The endpoint that was given first.
    pub(super) fn first(&self) -> &str {
        &self.endpoints[0]
    }

    /// Whether they are reached by TLS: all of them are, or none.
    pub(super) fn are_secure(&self) -> bool {
        scheme(self.first()) == "https://"
    }

    /// Where a request about this stream goes.
    pub(super) fn of(&self, stream: &str) -> usize {
        let owner = if self.endpoints.len() > 1 { self.owners.lock().get(stream).copied() } else { None };
        owner.unwrap_or_else(|| self.usual.load(Ordering::Relaxed))
    }

    pub(super) fn endpoint(&self, node: usize) -> &str {
        &self.endpoints[node]
    }

    /// A reply says who owns a stream: the node, if it is one. An address that was not given is not believed.
    pub(super) fn owns(&self, stream: &str, address: &str) -> Option<usize> {
        let known = |endpoint: &String| endpoint.strip_prefix(scheme(endpoint)) == Some(address);
        let node = self.endpoints.iter().position(known)?;
        let mut owners = self.owners.lock();
        if owners.len() >= MAX_OWNERS && !owners.contains_key(stream) {
            owners.clear();
        }
        owners.insert(stream.to_owned(), node);
        Some(node)
    }

    /// No answer came from this node: an owner is asked for anew, and the usual node becomes the next one.
    pub(super) fn failed(&self, node: usize, stream: &str) {
        self.owners.lock().retain(|path, owner| *owner != node && path != stream);
        let next = (node + 1) % self.endpoints.len();
        // Someone else may have moved on already.
        let _ = self.usual.compare_exchange(node, next, Ordering::Relaxed, Ordering::Relaxed);
    }
}

/// What stands before the address.
fn scheme(endpoint: &str) -> &'static str {
    if endpoint.starts_with("https://") { "https://" } else { "http://" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nodes() -> Nodes {
        let further = ["b:2".to_owned(), "c:3".to_owned(), "a:1".to_owned()];
        Nodes::new("http://a:1", &further).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn only_given_addresses_are_followed() {
        let nodes = nodes();
        assert_eq!(nodes.endpoints, ["http://a:1", "http://b:2", "http://c:3"]);
        nodes.owns("/s", "evil:1");
        assert_eq!(nodes.of("/s"), 0);
        nodes.owns("/s", "c:3");
        assert_eq!((nodes.of("/s"), nodes.of("/t")), (2, 0));
        assert!(Nodes::new("http://a:1", &["user@b".to_owned()]).is_err());
    }

    #[test]
    fn all_nodes_have_the_scheme_of_the_endpoint() {
        let nodes = Nodes::new("https://a:1", &["b:2".to_owned()]).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(nodes.endpoints, ["https://a:1", "https://b:2"]);
        nodes.owns("/s", "b:2");
        assert_eq!((nodes.of("/s"), nodes.are_secure()), (1, true));
        assert!(Nodes::new("https://a:1", &["http://b:2".to_owned()]).is_err());
    }

    #[test]
    fn a_node_that_fails_is_left() {
        let nodes = nodes();
        nodes.owns("/s", "c:3");
        nodes.failed(2, "/s");
        assert_eq!(nodes.of("/s"), 0, "the owner is asked for anew");
        nodes.failed(0, "/s");
        nodes.failed(0, "/t");
        assert_eq!(nodes.of("/s"), 1, "two that noticed move on once");
        nodes.failed(1, "/s");
        nodes.failed(2, "/s");
        assert_eq!(nodes.of("/s"), 0, "round and round");
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let nodes = nodes();
        for number in 0..=MAX_OWNERS {
            nodes.owns(&format!("/{number}"), "b:2");
        }
        assert_eq!(nodes.owners.lock().len(), 1);
    }
}
