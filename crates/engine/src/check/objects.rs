//! All objects of a store against the metadata: owns telling those that are read from those that wait for their end.
//! Guarantees that every object which the metadata reads is verified or reported missing. Never removes what it does not
//! know.

use std::collections::BTreeMap;
use std::sync::Arc;

use kelda_env::{Store, StoreError};
use kelda_format::keys::{MARKER_KEY, data_key, parse_data_key, parse_wal_key};
use kelda_format::object::ObjectKind;
use kelda_format::{ClusterId, ObjectId, StreamId};
use kelda_meta::State;

use super::finding::{Fault, Finding, Findings};
use super::logs::Tail;
use super::object::{Contents, Object};
use super::rebuild;
use super::slots::{SlotReport, slots};
use super::uses::Uses;
use crate::objects::{ObjectReader, ObjectReaderConfig};

/// Bytes that the indexes in memory take.
const CACHE_BYTES: u64 = 1 << 20;

/// What lies in a store.
#[derive(Clone, Debug, Default)]
pub struct Objects {
    /// The objects, by id.
    pub objects: Vec<ObjectReport>,
    /// The slots of write-ahead logs, by session and number; none without metadata.
    pub slots: Vec<SlotReport>,
    /// The streams with something in those logs that is not committed yet.
    pub tails: BTreeMap<StreamId, Tail>,
    /// Keys of what is no object of this cluster.
    pub strange: Vec<String>,
}

/// One object.
#[derive(Clone, Debug)]
pub struct ObjectReport {
    /// Its id.
    pub id: ObjectId,
    /// Its key.
    pub key: String,
    /// Its length.
    pub bytes: u64,
    /// Who needs it.
    pub used: ObjectUse,
    /// How it is laid out; none when it was not verified or its footer is damaged.
    pub kind: Option<ObjectKind>,
    /// Records of all streams, as its index says.
    pub records: u64,
    /// Streams in it.
    pub streams: u64,
    /// Extents of all streams.
    pub extents: u64,
    /// Whether its index or its footer is damaged, so that it is worth trying to build them anew.
    pub index_damaged: bool,
}

/// What the metadata says of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectUse {
    /// Streams are read from it.
    Referenced,
    /// Its id is reserved: it was written and never committed. The next start gives it up.
    Reserved,
    /// It waits for its destruction.
    ToDestroy,
    /// Nothing: no stream needs it, and nothing removes it.
    Orphan,
    /// The metadata is not known.
    Unknown,
}

/// Verifies the objects of `cluster` against `view`, or each by itself when the metadata cannot be read.
///
/// # Errors
/// The store cannot be listed.
pub async fn check_objects(
    store: &Arc<dyn Store>,
    cluster: ClusterId,
    view: Option<&State>,
    findings: &mut Findings,
) -> Result<Objects, StoreError> {
    let mut found = Objects::default();
    let mut listed: BTreeMap<ObjectId, u64> = BTreeMap::new();
    let all = store.list("").await?;
    if let Some(view) = view {
        (found.slots, found.tails) = slots(store, view, &all, findings).await;
    }
    for info in all {
        match parse_data_key(cluster, &info.key) {
            Some(id) => {
                listed.insert(id, info.len);
            }
            None if info.key == MARKER_KEY || parse_wal_key(cluster, &info.key).is_some() => {}
            None => found.strange.push(info.key),
        }
    }
    let uses = view.map(Uses::of);
    if let (Some(view), Some(uses)) = (view, &uses) {
        for row in view.objects().filter(|row| !listed.contains_key(&row.id)) {
            findings.push(Finding {
                fault: Fault::Missing,
                file: data_key(cluster, row.id),
                position: None,
                detail: "the object does not exist, and streams are read from it".to_owned(),
                affected: uses.whole(row.id),
            });
        }
    }
    let reader = ObjectReader::new(Arc::clone(store), ObjectReaderConfig::within(CACHE_BYTES));
    for (id, bytes) in listed {
        let key = data_key(cluster, id);
        let used = view.map_or(ObjectUse::Unknown, |view| used(view, id));
        let mut contents = Contents::default();
        match used {
            ObjectUse::Referenced | ObjectUse::Unknown => {
                let object = Object {
                    store,
                    reader: &reader,
                    cluster,
                    id,
                    key: &key,
                    len: bytes,
                    row: view.and_then(|view| view.object(id)),
                    uses: uses.as_ref(),
                    findings,
                };
                contents = object.verify().await;
            }
            ObjectUse::Orphan if view.is_some_and(|view| id.0 >= view.numbers().next_object) => {
                findings.push(Finding {
                    fault: Fault::Foreign,
                    file: key.clone(),
                    position: None,
                    detail: "the metadata never gave out its id: the metadata is older than the object"
                        .to_owned(),
                    affected: Vec::new(),
                });
            }
            ObjectUse::Orphan | ObjectUse::Reserved | ObjectUse::ToDestroy => {}
        }
        let Contents { kind, records, streams, extents, index_damaged } = contents;
        let report = ObjectReport { id, key, bytes, used, kind, records, streams, extents, index_damaged };
        found.objects.push(report);
    }
    Ok(found)
}

/// Builds index and footer of an object anew and writes it, when its data are intact and hold all that `view` reads from it:
/// whole or not at all, as every write of the store is.
///
/// # Errors
/// Why not; the object is as it was then.
pub async fn rebuild_index(store: &Arc<dyn Store>, view: &State, id: ObjectId) -> Result<(), String> {
    let row = view.object(id).ok_or_else(|| "no stream is read from it".to_owned())?;
    let key = data_key(view.cluster(), id);
    let bytes = store.get(&key).await.map_err(|error| error.to_string())?;
    let whole = rebuild::rebuilt(&bytes, view.cluster(), row, &Uses::of(view))?;
    store.put(&key, whole).await.map_err(|error| error.to_string())
}

fn used(view: &State, id: ObjectId) -> ObjectUse {
    if view.object(id).is_some() {
        ObjectUse::Referenced
    } else if view.is_reserved(id) {
        ObjectUse::Reserved
    } else if view.is_to_destroy(id) {
        ObjectUse::ToDestroy
    } else {
        ObjectUse::Orphan
    }
}
