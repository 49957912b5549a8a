//! The write-ahead logs that lie in the object store: owns what is said of each slot, and how far each stream reaches with what
//! they hold. Guarantees that what the next start reads is judged as recovery would (`recovery::plan`), and that a seal is
//! never called left over (P6). Never deletes; a log is not read past what recovery would refuse.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use kelda_env::{ObjectInfo, Store};
use kelda_format::keys::{parse_wal_key, wal_key};
use kelda_format::rows::{SessionState, WalKind};
use kelda_format::wal::{Seal, Slot};
use kelda_format::{DecodeError, SessionId, StreamId};
use kelda_meta::{SessionStatus, State};

use super::finding::{Affected, Fault, Finding, Findings};
use super::logs::{Tail, add_to};
use crate::recovery::plan::{self, Ends};
use crate::upload::plan::SegmentSummary;
use crate::wal::local::segment::entry_bytes;

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

/// The log of one session, as far as it was read.
struct Read {
    /// The slot that has to come next.
    next: u64,
    ends: Ends,
    /// Whether nothing more of it counts: it ends there, or recovery refuses it.
    over: bool,
}

/// Judges the slots among `listed`, the objects of the store in the order of their keys, against `view`.
pub(super) async fn slots(
    store: &Arc<dyn Store>,
    view: &State,
    listed: &[ObjectInfo],
    findings: &mut Findings,
) -> (Vec<SlotReport>, BTreeMap<StreamId, Tail>) {
    let (mut found, mut tails) = (Vec::new(), BTreeMap::new());
    let mut logs: BTreeMap<SessionId, Read> = BTreeMap::new();
    for info in listed {
        let Some((session, slot)) = parse_wal_key(view.cluster(), &info.key) else { continue };
        let mut check = Check { store, view, session, slot, info, findings, tails: &mut tails };
        let used = check.used(&mut logs).await;
        found.push(SlotReport { session, slot, key: info.key.clone(), bytes: info.len, used });
    }
    (found, tails)
}

struct Check<'a> {
    store: &'a Arc<dyn Store>,
    view: &'a State,
    session: SessionId,
    slot: u64,
    info: &'a ObjectInfo,
    findings: &'a mut Findings,
    tails: &'a mut BTreeMap<StreamId, Tail>,
}

impl Check<'_> {
    async fn used(&mut self, logs: &mut BTreeMap<SessionId, Read>) -> SlotUse {
        let start = match self.view.session_status(self.session) {
            SessionStatus::Unknown => {
                let detail = "the metadata knows no such session: it is older than this log".to_owned();
                self.found(Fault::Foreign, self.info.key.clone(), None, detail, Vec::new());
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
        let log =
            logs.entry(self.session).or_insert_with(|| Read { next: start, ends: Ends::new(), over: false });
        if log.over {
            return SlotUse::Waiting;
        }
        self.verify(log).await
    }

    /// A slot that nothing needs any more, unless it is a seal.
    async fn ended(&mut self) -> SlotUse {
        match self.store.get_range(&self.info.key, 0..self.info.len.min(PROBE_BYTES)).await {
            Ok(bytes) if !Seal::is_one(&bytes) => SlotUse::LeftOver,
            Ok(_) => SlotUse::Seal,
            Err(error) => {
                let key = self.info.key.clone();
                self.found(Fault::Unreadable, key, None, error.to_string(), Vec::new());
                SlotUse::Seal
            }
        }
    }

    /// A slot that the next start reads.
    async fn verify(&mut self, log: &mut Read) -> SlotUse {
        let bytes = match self.store.get(&self.info.key).await {
            Ok(bytes) => bytes,
            Err(error) => {
                self.refused(log, Fault::Unreadable, None, error.to_string());
                return SlotUse::Waiting;
            }
        };
        if Seal::is_one(&bytes) {
            log.over = true;
            let place = Seal::decode(&bytes).map(|seal| (seal.cluster, seal.session, seal.slot));
            self.is_in_place(log, place);
            return SlotUse::Seal;
        }
        self.replay(log, &bytes);
        SlotUse::Waiting
    }

    fn replay(&mut self, log: &mut Read, bytes: &Bytes) {
        let slot = match Slot::decode(bytes) {
            Ok(slot) => slot,
            // One behind the first that is missing was never acknowledged, and is not read.
            Err(_) if self.slot > log.next => return,
            Err(error) => return self.undecodable(log, &error),
        };
        let header = slot.header;
        if !self.is_in_place(log, Ok((header.context.cluster, header.context.session, header.slot))) {
            return;
        }
        if self.slot > log.next {
            if header.acknowledged > log.next {
                let key = wal_key(self.view.cluster(), self.session, log.next);
                let detail =
                    format!("the slot is missing, and slot {} says that it was acknowledged", self.slot);
                log.over = true;
                let affected = self.affected(log);
                self.found(Fault::Missing, key, None, detail, affected);
            }
            return;
        }
        let mut summary = SegmentSummary::default();
        for entry in &slot.entries {
            match plan::keep(self.view, &mut log.ends, self.session, entry.position, &entry.sections) {
                Ok(kept) if kept.is_empty() => {}
                Ok(kept) => summary.add_unplaced(&kept, entry_bytes(&kept)),
                Err(missing) => {
                    let detail = missing.refusal(&self.info.key).to_string();
                    return self.refused(log, Fault::Damaged, Some(missing.position), detail);
                }
            }
        }
        add_to(self.tails, &summary);
        log.next += 1;
    }

    /// Whether what a slot says of itself is where it lies.
    fn is_in_place(
        &mut self,
        log: &mut Read,
        said: Result<(kelda_format::ClusterId, SessionId, u64), DecodeError>,
    ) -> bool {
        match said {
            Ok(place) if place == (self.view.cluster(), self.session, self.slot) => return true,
            Ok((_, session, slot)) => {
                self.refused(log, Fault::Foreign, None, format!("it is slot {slot} of session {session}"));
            }
            Err(error) => self.undecodable(log, &error),
        }
        false
    }

    fn undecodable(&mut self, log: &mut Read, error: &DecodeError) {
        let fault = if error.newer.is_some() { Fault::Newer } else { Fault::Damaged };
        self.refused(log, fault, Some(error.at), error.to_string());
    }

    /// What recovery refuses: nothing behind it is read.
    fn refused(&mut self, log: &mut Read, fault: Fault, position: Option<u64>, detail: String) {
        log.over = true;
        let affected = self.affected(log);
        self.found(fault, self.info.key.clone(), position, detail, affected);
    }

    /// What the streams of the session had past what was read is not known.
    fn affected(&self, log: &Read) -> Vec<Affected> {
        let held = self.view.held_by(self.session).filter_map(|id| Some((id, self.view.stream(id)?.end)));
        held.map(|(stream, committed)| Affected {
            stream,
            from: log.ends.get(&stream).copied().unwrap_or(committed),
            to: None,
        })
        .collect()
    }

    fn found(
        &mut self,
        fault: Fault,
        file: String,
        position: Option<u64>,
        detail: String,
        affected: Vec<Affected>,
    ) {
        self.findings.push(Finding { fault, file, position, detail, affected });
    }
}

fn is_unended(state: SessionState) -> bool {
    matches!(state, SessionState::Live | SessionState::Fenced)
}
