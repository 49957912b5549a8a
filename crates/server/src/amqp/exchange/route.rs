//! From a message to its queues.
//!
//! Owns the walk over exchanges and bindings of one view of the metadata. Guarantees that each queue is reached once, that a
//! circle of exchanges ends, and that a binding of something that was deleted leads nowhere. Pure.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use kelda_format::amqp::{
    BindingKey, BindingRow, Destination, ExchangeKind, ExchangeRow, exchange_key, source_prefix,
};
use kelda_format::rows::{EntryState, KeySpace};
use kelda_format::wire::{Reader, Wire};
use kelda_format::{Headers, StreamId, StreamName, Value};
use kelda_meta::State;

use super::matching;
use crate::amqp::name;
use crate::amqp::wire::{Short, Table};

/// The argument that names who gets what an exchange routes nowhere.
pub const ALTERNATE: &str = "alternate-exchange";

/// The exchange that RabbitMQ traces to; here nothing comes from it.
const TRACE: &[u8] = b"amq.rabbitmq.trace";

/// An exchange that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// Its id: the version of its row, 0 for a predeclared one.
    pub id: u64,
    /// What it was declared as.
    pub row: ExchangeRow,
}

/// An exchange by its name.
pub fn find(view: &State, vhost: &[u8], name: &[u8]) -> Option<Exchange> {
    let predeclared = match name {
        b"amq.direct" => Some(ExchangeKind::Direct),
        b"amq.fanout" => Some(ExchangeKind::Fanout),
        b"amq.topic" | TRACE => Some(ExchangeKind::Topic),
        b"amq.headers" | b"amq.match" => Some(ExchangeKind::Headers),
        _ => None,
    };
    if let Some(kind) = predeclared {
        let row = ExchangeRow {
            version: kelda_format::amqp::ROW_VERSION,
            kind,
            durable: true,
            auto_delete: false,
            internal: name == TRACE,
            arguments: Bytes::new(),
        };
        return Some(Exchange { id: 0, row });
    }
    let stored = view.key(KeySpace::Exchange, &exchange_key(vhost, name))?;
    let row = ExchangeRow::get(&mut Reader::of_shared(&stored.value, "exchange")).ok()?;
    Some(Exchange { id: stored.version, row })
}

/// The arguments of a row as a table.
pub fn arguments(encoded: &Bytes) -> Table {
    Headers::decode(encoded.clone()).map(|headers| Table(headers.iter().collect())).unwrap_or_default()
}

/// Bindings from an exchange, those of an earlier one of its name included.
pub fn bindings<'v>(
    view: &'v State,
    vhost: &[u8],
    source: &[u8],
) -> impl Iterator<Item = (BindingKey, BindingRow, u64)> + use<'v> {
    let prefix = source_prefix(vhost, source);
    view.keys_with(KeySpace::Binding, prefix).filter_map(|stored| {
        let key = BindingKey::decode(&stored.key).ok()?;
        let row = BindingRow::get(&mut Reader::of_shared(&stored.value, "binding")).ok()?;
        Some((key, row, stored.version))
    })
}

/// The stream of a queue that is in use.
pub fn queue(view: &State, vhost: &[u8], queue: &[u8]) -> Option<(StreamName, StreamId)> {
    let name = name::stream(vhost, queue)?;
    let entry = view.entry(&name).filter(|entry| entry.state == EntryState::Live)?;
    Some((name, entry.stream))
}

/// Whether what a binding leads to is there.
pub fn leads_somewhere(view: &State, vhost: &[u8], key: &BindingKey, row: &BindingRow) -> bool {
    match row.destination {
        Destination::Exchange(id) => find(view, vhost, &key.destination).is_some_and(|to| to.id == id),
        Destination::Queue(stream) => {
            queue(view, vhost, &key.destination).is_some_and(|(_, there)| there == stream)
        }
    }
}

/// Bindings from an exchange with this id that lead somewhere.
pub fn live<'v>(
    view: &'v State,
    vhost: &'v [u8],
    source: &[u8],
    id: u64,
) -> impl Iterator<Item = (BindingKey, BindingRow)> + use<'v> {
    bindings(view, vhost, source)
        .filter(move |(key, row, _)| row.source == id && leads_somewhere(view, vhost, key, row))
        .map(|(key, row, _)| (key, row))
}

/// Where a message goes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Route {
    /// The queues, with their streams.
    pub queues: Vec<(Short, StreamName)>,
    /// Whether the headers of the message had a say.
    pub by_headers: bool,
}

/// The queues that a message to an exchange reaches.
pub fn route(view: &State, vhost: &[u8], exchange: &Short, keys: &[Short], headers: &Table) -> Route {
    let mut by_headers = false;
    let mut found = BTreeMap::new();
    let mut seen = BTreeSet::new();
    let mut open = vec![exchange.bytes().clone()];
    while let Some(name) = open.pop() {
        if !seen.insert(name.clone()) {
            continue;
        }
        let Some(exchange) = find(view, vhost, &name) else { continue };
        by_headers |= exchange.row.kind == ExchangeKind::Headers;
        let mut matched = false;
        for (key, row, _) in bindings(view, vhost, &name) {
            if row.source != exchange.id
                || !fits(exchange.row.kind, &key, keys, headers)
                || !leads_somewhere(view, vhost, &key, &row)
            {
                continue;
            }
            matched = true;
            if let Destination::Exchange(_) = row.destination {
                open.push(key.destination);
            } else if let Some(name) = name::stream(vhost, &key.destination)
                && let Some(queue) = Short::of(key.destination)
            {
                found.insert(queue, name);
            }
        }
        if !matched && let Some(Value::Text(other)) = arguments(&exchange.row.arguments).value(ALTERNATE) {
            open.push(Bytes::copy_from_slice(other.as_bytes()));
        }
    }
    Route { queues: found.into_iter().collect(), by_headers }
}

fn fits(kind: ExchangeKind, binding: &BindingKey, keys: &[Short], headers: &Table) -> bool {
    match kind {
        ExchangeKind::Fanout => true,
        ExchangeKind::Direct => keys.iter().any(|key| *key.bytes() == binding.routing_key),
        ExchangeKind::Topic => keys.iter().any(|key| matching::topic(&binding.routing_key, key.bytes())),
        ExchangeKind::Headers => {
            let arguments = Table(binding.arguments.iter().collect());
            matching::how(&arguments).is_ok_and(|how| matching::headers(how, &arguments, headers))
        }
    }
}
