//! Routes that were found before.
//!
//! Owns what one connection remembers of them. Guarantees that nothing is remembered beyond the view of the metadata that it was
//! found in. Never holds a route that depends on the headers of a message.

use std::collections::BTreeMap;
use std::sync::Arc;

use kelda_format::StreamName;
use kelda_meta::State;

use super::route::{self, Route};
use crate::amqp::wire::{Short, Table};

/// Most routes that are remembered; then they are found anew.
const MOST: usize = 1_024;

/// Queues with their streams.
pub type Queues = Arc<[(Short, StreamName)]>;

/// Routes of one connection.
#[derive(Default)]
pub struct Routes {
    applied: u64,
    known: BTreeMap<(Short, Short), Queues>,
}

impl Routes {
    /// The queues that a message to an exchange reaches.
    pub fn find(
        &mut self,
        view: &State,
        vhost: &[u8],
        exchange: &Short,
        keys: &[Short],
        headers: &Table,
    ) -> Queues {
        let [key] = keys else {
            return route::route(view, vhost, exchange, keys, headers).queues.into();
        };
        if self.applied != view.applied() || self.known.len() >= MOST {
            self.known.clear();
            self.applied = view.applied();
        }
        let place = (exchange.clone(), key.clone());
        if let Some(queues) = self.known.get(&place) {
            return Arc::clone(queues);
        }
        let Route { queues, by_headers } = route::route(view, vhost, exchange, keys, headers);
        let queues: Queues = queues.into();
        if !by_headers {
            self.known.insert(place, Arc::clone(&queues));
        }
        queues
    }
}
