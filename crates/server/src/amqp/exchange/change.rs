//! Changes of exchanges and bindings.
//!
//! Owns the way from a method to a command. Guarantees that a change is based on what was looked at. Never routes.

use kelda_format::amqp::{
    BindingKey, BindingRow, Destination, ExchangeKind, ExchangeRow, ROW_VERSION, exchange_key,
};
use kelda_format::command::{DeleteKey, PutKey};
use kelda_format::rows::KeySpace;
use kelda_format::wire::Wire;
use kelda_format::{Command, Headers, Value};
use kelda_meta::{Meta, ProposeError};

use super::matching;
use super::route::{self, ALTERNATE, arguments, find};
use super::sweep::sweep;
use crate::amqp::queue::arguments::type_name;
use crate::amqp::reply::{self, Refusal};
use crate::amqp::term;
use crate::amqp::wire::{Short, Table};

/// How often a change is based on a newer state after another one came between.
const ATTEMPTS: u32 = 8;

/// A declaration of an exchange.
pub struct Wanted {
    /// Its name.
    pub name: Short,
    /// Its type, as it was written.
    pub kind: Short,
    /// Whether it is durable.
    pub durable: bool,
    /// Whether it goes with its last binding.
    pub auto_delete: bool,
    /// Whether only exchanges publish to it.
    pub internal: bool,
    /// Its arguments.
    pub arguments: Table,
}

/// A binding by names.
pub struct Binding {
    /// The exchange that it leads from.
    pub source: Short,
    /// Where it leads to.
    pub destination: Short,
    /// Whether that is an exchange.
    pub to_exchange: bool,
    /// Its routing key.
    pub routing_key: Short,
    /// Its arguments.
    pub arguments: Table,
}

fn described(name: &Short, vhost: &Short) -> String {
    format!("exchange '{}' in vhost '{}'", name.text(), vhost.text())
}

fn unknown(name: &Short, vhost: &Short) -> Refusal {
    reply::not_found(format!("no {}", described(name, vhost)))
}

/// Nothing can be done to the default exchange.
pub fn forbidden() -> Refusal {
    reply::access_refused("operation not permitted on the default exchange")
}

async fn propose(meta: &dyn Meta, command: Command) -> Result<bool, Refusal> {
    match meta.propose(command).await {
        Ok(_) => Ok(true),
        Err(ProposeError::Rejected(_) | ProposeError::Unknown(_)) => Ok(false),
        Err(error) => Err(reply::internal_error(error.to_string())),
    }
}

fn overtaken() -> Refusal {
    reply::internal_error(format!("the change was overtaken {ATTEMPTS} times"))
}

/// Makes an exchange, or finds the one that is there equal.
pub async fn declare(meta: &dyn Meta, vhost: &Short, wanted: &Wanted) -> Result<(), Refusal> {
    let kind = match wanted.kind.bytes().as_ref() {
        b"direct" => ExchangeKind::Direct,
        b"fanout" => ExchangeKind::Fanout,
        b"topic" => ExchangeKind::Topic,
        b"headers" => ExchangeKind::Headers,
        b"" => return Err(reply::command_invalid("invalid exchange type ''")),
        _ => return Err(reply::command_invalid(format!("unknown exchange type '{}'", wanted.kind.text()))),
    };
    if wanted.name.is_empty() {
        return Err(forbidden());
    }
    let encoded = Headers::new(&wanted.arguments.0)
        .map_err(|error| reply::precondition_failed(format!("arguments cannot be stored: {error}")))?;
    let row = ExchangeRow {
        version: ROW_VERSION,
        kind,
        durable: wanted.durable,
        auto_delete: wanted.auto_delete,
        internal: wanted.internal,
        arguments: encoded.encoded().clone(),
    };
    for _ in 0..ATTEMPTS {
        if let Some(existing) = find(&meta.view(), vhost.bytes(), wanted.name.bytes()) {
            return same(&row, &existing.row, &described(&wanted.name, vhost));
        }
        if wanted.name.bytes().starts_with(b"amq.") {
            let name = wanted.name.text();
            let text = format!("exchange name '{name}' contains reserved prefix 'amq.*'");
            return Err(reply::access_refused(text));
        }
        if let Some(other) = wanted.arguments.value(ALTERNATE)
            && !matches!(other, Value::Text(_) | Value::LongString(_))
        {
            let (kind, exchange) = (type_name(other), described(&wanted.name, vhost));
            let text = format!("invalid type '{kind}' for arg '{ALTERNATE}' in {exchange}");
            return Err(reply::precondition_failed(text));
        }
        let mut value = Vec::new();
        row.put(&mut value);
        let key = exchange_key(vhost.bytes(), wanted.name.bytes());
        let put = PutKey { space: KeySpace::Exchange, key, value: value.into(), expected_version: None };
        if propose(meta, put.into()).await? {
            return Ok(());
        }
    }
    Err(overtaken())
}

fn same(wanted: &ExchangeRow, has: &ExchangeRow, exchange: &str) -> Result<(), Refusal> {
    let kind = |row: &ExchangeRow| match row.kind {
        ExchangeKind::Direct => "direct",
        ExchangeKind::Fanout => "fanout",
        ExchangeKind::Topic => "topic",
        ExchangeKind::Headers => "headers",
    };
    for (name, received, current) in [
        ("type", kind(wanted).to_owned(), kind(has).to_owned()),
        ("durable", wanted.durable.to_string(), has.durable.to_string()),
        ("auto_delete", wanted.auto_delete.to_string(), has.auto_delete.to_string()),
        ("internal", wanted.internal.to_string(), has.internal.to_string()),
    ] {
        if received != current {
            return Err(reply::precondition_failed(format!(
                "inequivalent arg '{name}' for {exchange}: received '{received}' but current is '{current}'"
            )));
        }
    }
    let (wanted, has) = (arguments(&wanted.arguments), arguments(&has.arguments));
    let (wants, has) = (wanted.value(ALTERNATE), has.value(ALTERNATE));
    if wants == has {
        return Ok(());
    }
    let text = has.map(term::plain);
    let has = text.as_deref().map(|text| (text, "longstr"));
    Err(reply::precondition_failed(term::inequivalent(ALTERNATE, exchange, has, wants)))
}

/// Deletes an exchange and what it is bound to.
pub async fn delete(meta: &dyn Meta, vhost: &Short, name: &Short, if_unused: bool) -> Result<(), Refusal> {
    if name.is_empty() {
        return Err(forbidden());
    }
    if name.bytes().starts_with(b"amq.") {
        let exchange = described(name, vhost);
        return Err(reply::access_refused(format!("deletion of system {exchange} not allowed")));
    }
    for _ in 0..ATTEMPTS {
        let view = meta.view();
        let Some(existing) = find(&view, vhost.bytes(), name.bytes()) else { return Ok(()) };
        if if_unused && route::live(&view, vhost.bytes(), name.bytes(), existing.id).next().is_some() {
            return Err(reply::precondition_failed(format!("{} in use", described(name, vhost))));
        }
        let key = exchange_key(vhost.bytes(), name.bytes());
        let delete = DeleteKey { space: KeySpace::Exchange, key, expected_version: existing.id };
        if !propose(meta, delete.into()).await? {
            continue;
        }
        // Its bindings are dead already; their rows only take room.
        sweep(meta, vhost.bytes(), &[]).await;
        return Ok(());
    }
    Err(overtaken())
}

/// Makes a binding, or finds it there.
pub async fn bind(meta: &dyn Meta, vhost: &Short, binding: &Binding) -> Result<(), Refusal> {
    for _ in 0..ATTEMPTS {
        let (key, row) = resolve(meta, vhost, binding)?;
        let mut value = Vec::new();
        row.put(&mut value);
        let (key, value): (bytes::Bytes, bytes::Bytes) = (key.encode(), value.into());
        let existing = meta.view().key(KeySpace::Binding, &key).map(|row| (row.version, row.value == value));
        if let Some((_, true)) = existing {
            return Ok(());
        }
        let expected_version = existing.map(|(version, _)| version);
        let put = PutKey { space: KeySpace::Binding, key, value, expected_version };
        if propose(meta, put.into()).await? {
            return Ok(());
        }
    }
    Err(overtaken())
}

/// Removes a binding; one that is not there is removed already.
pub async fn unbind(meta: &dyn Meta, vhost: &Short, binding: &Binding) -> Result<(), Refusal> {
    if binding.source.is_empty() || binding.to_exchange && binding.destination.is_empty() {
        return Err(forbidden());
    }
    let Ok((key, _)) = resolve(meta, vhost, binding) else { return Ok(()) };
    let key = key.encode();
    for _ in 0..ATTEMPTS {
        let Some(version) = meta.view().key(KeySpace::Binding, &key).map(|row| row.version) else {
            return Ok(());
        };
        let delete = DeleteKey { space: KeySpace::Binding, key: key.clone(), expected_version: version };
        if propose(meta, delete.into()).await? {
            sweep(meta, vhost.bytes(), std::slice::from_ref(binding.source.bytes())).await;
            return Ok(());
        }
    }
    Err(overtaken())
}

/// The key and the row of a binding between things that are there.
fn resolve(meta: &dyn Meta, vhost: &Short, binding: &Binding) -> Result<(BindingKey, BindingRow), Refusal> {
    if binding.source.is_empty() || binding.to_exchange && binding.destination.is_empty() {
        return Err(forbidden());
    }
    let view = meta.view();
    let source =
        find(&view, vhost.bytes(), binding.source.bytes()).ok_or_else(|| unknown(&binding.source, vhost))?;
    let destination = if binding.to_exchange {
        let found = find(&view, vhost.bytes(), binding.destination.bytes());
        Destination::Exchange(found.ok_or_else(|| unknown(&binding.destination, vhost))?.id)
    } else {
        let found = route::queue(&view, vhost.bytes(), binding.destination.bytes());
        let queue = crate::amqp::queue::described(&binding.destination, vhost);
        Destination::Queue(found.ok_or_else(|| reply::not_found(format!("no {queue}")))?.1)
    };
    if source.row.kind == ExchangeKind::Headers {
        matching::how(&binding.arguments)?;
    }
    let arguments = Headers::new(&binding.arguments.0)
        .map_err(|error| reply::precondition_failed(format!("arguments cannot be stored: {error}")))?;
    let key = BindingKey {
        vhost: vhost.bytes().clone(),
        source: binding.source.bytes().clone(),
        routing_key: binding.routing_key.bytes().clone(),
        to_exchange: binding.to_exchange,
        destination: binding.destination.bytes().clone(),
        arguments,
    };
    Ok((key, BindingRow { version: ROW_VERSION, source: source.id, destination }))
}
