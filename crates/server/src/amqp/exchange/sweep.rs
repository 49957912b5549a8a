//! What goes when something else went.
//!
//! Owns the rows of bindings whose queue or exchange is no more, and exchanges declared to go with their last binding. Guarantees
//! that nothing which is in use is removed: each removal is of the version that was looked at. Never has to succeed: what is left
//! leads nowhere, and goes the next time.

use std::collections::BTreeSet;

use bytes::Bytes;
use kelda_format::amqp::{BindingKey, BindingRow, exchange_key, vhost_prefix};
use kelda_format::command::DeleteKey;
use kelda_format::rows::KeySpace;
use kelda_format::wire::{Reader, Wire};
use kelda_meta::{Meta, ProposeError, State};

use super::route::{self, find};

/// What one look at a virtual host found to remove.
#[derive(Default)]
struct Found {
    bindings: Vec<(Bytes, u64)>,
    /// Exchanges that lose a binding by it.
    sources: BTreeSet<Bytes>,
}

/// Removes dead bindings of a virtual host, and the exchanges that go with them; `sources` lost a binding before.
pub async fn sweep(meta: &dyn Meta, vhost: &[u8], sources: &[Bytes]) {
    let mut sources: BTreeSet<Bytes> = sources.iter().cloned().collect();
    loop {
        let found = look(&meta.view(), vhost);
        sources.extend(found.sources);
        for (key, version) in found.bindings {
            if delete(meta, KeySpace::Binding, key, version).await.is_err() {
                return;
            }
        }
        let mut gone = false;
        for source in std::mem::take(&mut sources) {
            let view = meta.view();
            let Some(exchange) = find(&view, vhost, &source) else { continue };
            if !exchange.row.auto_delete || route::live(&view, vhost, &source, exchange.id).next().is_some() {
                continue;
            }
            match delete(meta, KeySpace::Exchange, exchange_key(vhost, &source), exchange.id).await {
                Ok(deleted) => gone |= deleted,
                Err(_) => return,
            }
        }
        // An exchange that went was perhaps what others were bound to.
        if !gone {
            return;
        }
    }
}

/// Removes one version of a key; whether it was there.
async fn delete(meta: &dyn Meta, space: KeySpace, key: Bytes, expected_version: u64) -> Result<bool, ()> {
    match meta.propose(DeleteKey { space, key, expected_version }.into()).await {
        Ok(_) => Ok(true),
        Err(ProposeError::Rejected(_)) => Ok(false),
        Err(error) => {
            tracing::debug!(%error, "what leads nowhere stays for now");
            Err(())
        }
    }
}

fn look(view: &State, vhost: &[u8]) -> Found {
    let mut found = Found::default();
    for stored in view.keys_with(KeySpace::Binding, vhost_prefix(vhost)) {
        let Ok(key) = BindingKey::decode(&stored.key) else { continue };
        let Ok(row) = BindingRow::get(&mut Reader::of_shared(&stored.value, "binding")) else { continue };
        let leads_from_it = find(view, vhost, &key.source).is_some_and(|source| source.id == row.source);
        if leads_from_it && route::leads_somewhere(view, vhost, &key, &row) {
            continue;
        }
        found.bindings.push((stored.key.clone(), stored.version));
        if leads_from_it {
            found.sources.insert(key.source);
        }
    }
    found
}
