//! The write-ahead logs that lie in the object store: owns what is said of each slot. Guarantees that what the next start
//! reads is verified, and that a seal is never called left over (P6). Never deletes.

use std::collections::BTreeMap;
use std::sync::Arc;

use kelda_env::{ObjectInfo, Store};
use kelda_format::SessionId;
use kelda_format::keys::parse_wal_key;
use kelda_format::rows::{SessionState, WalKind};
use kelda_format::wal::{Seal, Slot};
use kelda_meta::{SessionStatus, State};

use super::finding::{Affected, Fault, Finding, Findings};

/// Bytes by which a seal is known.
const PROBE_BYTES: u64 = 8;

/// What a slot is to the metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlotUse {
    /// The next start replays it.
    Waiting,
    /// It ends the log of its session for good, and stays for ever.
    Seal,
    /// Its entries are committed, or its session has ended.
    LeftOver,
    /// The metadata knows no such session.
    Unknown,
}

/// A slot.
#[derive(Clone, Debug)]
pub struct SlotReport {
    /// Whose log it is of.
    pub session: SessionId,
    /// Its number.
    pub slot: u64,
    /// Its key.
    pub key: String,
    /// Its length.
    pub bytes: u64,
    /// What it is to the metadata.
    pub used: SlotUse,
}

/// Judges the slots among `listed`, the objects of the store, against `view`.
pub(super) async fn slots(
    store: &Arc<dyn Store>,
    view: &State,
    listed: &[ObjectInfo],
    findings: &mut Findings,
) -> Vec<SlotReport> {
    let mut found = Vec::new();
    // The first slot of each session that is missing, or does not read: nothing behind it is known to count.
    let mut next: BTreeMap<SessionId, u64> = BTreeMap::new();
    for info in listed {
        let Some((session, slot)) = parse_wal_key(view.cluster(), &info.key) else { continue };
        let mut check = Check { store, view, session, slot, info, findings };
        let used = check.used(&mut next).await;
        found.push(SlotReport { session, slot, key: info.key.clone(), bytes: info.len, used });
    }
    found
}

struct Check<'a> {
    store: &'a Arc<dyn Store>,
    view: &'a State,
    session: SessionId,
    slot: u64,
    info: &'a ObjectInfo,
    findings: &'a mut Findings,
}

impl Check<'_> {
    async fn used(&mut self, next: &mut BTreeMap<SessionId, u64>) -> SlotUse {
        let start = match self.view.session_status(self.session) {
            SessionStatus::Unknown => {
                let detail = "the metadata knows no such session: it is older than this log".to_owned();
                self.found(Fault::Foreign, detail, Vec::new());
                return SlotUse::Unknown;
            }
            SessionStatus::Forgotten => return self.ended().await,
            SessionStatus::Known(_) => match self.view.session(self.session) {
                Some(row) if row.wal == WalKind::Object && is_unended(row.state) => row.wal_start,
                _ => return self.ended().await,
            },
        };
        if self.slot < start {
            return self.ended().await;
        }
        let expected = next.entry(self.session).or_insert(start);
        if self.slot > *expected {
            // A slot beyond the first empty one was never acknowledged (P6).
            return SlotUse::Waiting;
        }
        *expected = self.slot + 1;
        self.verify().await
    }

    /// A slot that nothing needs any more, unless it is a seal.
    async fn ended(&mut self) -> SlotUse {
        match self.store.get_range(&self.info.key, 0..self.info.len.min(PROBE_BYTES)).await {
            Ok(bytes) if !Seal::is_one(&bytes) => SlotUse::LeftOver,
            Ok(_) => SlotUse::Seal,
            Err(error) => {
                self.found(Fault::Unreadable, error.to_string(), Vec::new());
                SlotUse::Seal
            }
        }
    }

    /// A slot that the next start reads.
    async fn verify(&mut self) -> SlotUse {
        let bytes = match self.store.get(&self.info.key).await {
            Ok(bytes) => bytes,
            Err(error) => {
                let affected = self.affected();
                self.found(Fault::Unreadable, error.to_string(), affected);
                return SlotUse::Waiting;
            }
        };
        let (sealed, result) = if Seal::is_one(&bytes) {
            (true, Seal::decode(&bytes).map(|seal| (seal.cluster, seal.session, seal.slot)))
        } else {
            let place =
                |slot: Slot| (slot.header.context.cluster, slot.header.context.session, slot.header.slot);
            (false, Slot::decode(&bytes).map(place))
        };
        match result {
            Ok(place) if place == (self.view.cluster(), self.session, self.slot) => {}
            Ok((_, session, slot)) => {
                let affected = self.affected();
                self.found(Fault::Foreign, format!("it is slot {slot} of session {session}"), affected);
            }
            Err(error) => {
                let fault = if error.newer.is_some() { Fault::Newer } else { Fault::Damaged };
                let affected = self.affected();
                self.found(fault, error.to_string(), affected);
            }
        }
        if sealed { SlotUse::Seal } else { SlotUse::Waiting }
    }

    /// What the streams of the session had past what is committed is not known.
    fn affected(&self) -> Vec<Affected> {
        let held = self.view.held_by(self.session).filter_map(|id| Some((id, self.view.stream(id)?.end)));
        held.map(|(stream, from)| Affected { stream, from, to: None }).collect()
    }

    fn found(&mut self, fault: Fault, detail: String, affected: Vec<Affected>) {
        let file = self.info.key.clone();
        self.findings.push(Finding { fault, file, position: None, detail, affected });
    }
}

fn is_unended(state: SessionState) -> bool {
    matches!(state, SessionState::Live | SessionState::Fenced)
}
