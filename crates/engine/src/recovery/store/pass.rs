//! One pass over a log from its start to its seal: owns the order of reading, sealing and committing. Guarantees that ranges
//! are committed in order, each naming the WAL start it expects (P7), and that as long as the log fits in the bytes that
//! may be uncommitted nothing is committed before all of it was read and found sound. Never deletes anything.

use std::collections::VecDeque;
use std::sync::Arc;

use kelda_format::SessionId;
use kelda_format::command::FenceSession;
use kelda_format::keys::wal_key;
use kelda_format::wal::Slot;
use kelda_meta::Rejection;

use super::fetch::{self, Found};
use super::seal::seal;
use crate::error::StartError;
use crate::propose::propose;
use crate::recovery::plan::{self, Ends};
use crate::recovery::run::{proposed, unpublished, wal_start};
use crate::session::Shared;
use crate::upload::commit::{Committer, Slots, Unpublished};
use crate::upload::packs::Packer;
use crate::wal::local::segment::entry_bytes;
use crate::wal::store::range::Contents;

/// How a pass ended.
pub(super) enum Passed {
    /// Everything before this slot is committed, and the log ends there.
    Sealed(u64),
    /// Somebody else moved the WAL start: a newer view is needed (P7).
    Moved,
}

/// How far a recovery is, for whoever watches.
pub(super) trait Progress: Send + Sync {
    /// A slot of so many bytes was read.
    fn read(&mut self, bytes: u64);
}

/// What a pass reads and has not committed.
struct Pass<'a> {
    shared: &'a Arc<Shared>,
    session: SessionId,
    packer: Packer,
    ends: Ends,
    open: Contents,
    /// The first slot of `open`.
    first: u64,
    ready: VecDeque<(Slots, Arc<Contents>)>,
    ready_bytes: u64,
    dropped_entries: u64,
}

/// Reads from `start` to the seal, which it makes if there is none, and commits.
pub(super) async fn pass(
    shared: &Arc<Shared>,
    session: SessionId,
    by: SessionId,
    start: u64,
    progress: &mut dyn Progress,
) -> Result<Passed, StartError> {
    let committer = Committer { shared: Arc::clone(shared), session: by, wal: session, until: None };
    let mut pass = Pass {
        shared,
        session,
        packer: Packer::new(committer),
        ends: Ends::new(),
        open: Contents::default(),
        first: start,
        ready: VecDeque::new(),
        ready_bytes: 0,
        dropped_entries: 0,
    };
    let mut slots = fetch::Slots::new(shared, session, start);
    let end = loop {
        match slots.next().await? {
            (number, Found::Slot(slot)) => {
                progress.read(pass.add(number, &slot)?);
                if pass.ready_bytes > shared.config.uncommitted_bytes && !pass.commit_one().await? {
                    return Ok(Passed::Moved);
                }
            }
            (number, Found::Seal(_)) => break number,
            (number, Found::Nothing) => {
                if slots.acknowledged > number {
                    return pass.lost(by, number, slots.acknowledged).await;
                }
                if seal(shared, session, by, number).await? {
                    break number;
                }
            }
        }
    };
    pass.cut(end);
    while !pass.ready.is_empty() {
        if !pass.commit_one().await? {
            return Ok(Passed::Moved);
        }
    }
    if pass.dropped_entries > 0 {
        tracing::info!(%session, entries = pass.dropped_entries, "entries of streams that are gone");
    }
    Ok(Passed::Sealed(end))
}

impl Pass<'_> {
    /// Takes in a slot; returns its bytes.
    fn add(&mut self, number: u64, slot: &Slot) -> Result<u64, StartError> {
        let view = self.shared.meta.view();
        let mut bytes = 0;
        for entry in &slot.entries {
            let kept = plan::keep(&view, &mut self.ends, self.session, entry.position, &entry.sections)
                .map_err(|missing| missing.refusal(&self.key(number)))?;
            bytes += entry_bytes(&entry.sections);
            if kept.is_empty() {
                self.dropped_entries += 1;
            } else {
                self.open.add(&kept, entry_bytes(&kept));
            }
        }
        if self.open.is_full(number + 1 - self.first, self.shared.config.segment_bytes) {
            self.cut(number + 1);
        }
        Ok(bytes)
    }

    /// Makes what was read, up to the slot `next`, a range.
    fn cut(&mut self, next: u64) {
        if next == self.first {
            return;
        }
        let contents = std::mem::take(&mut self.open);
        self.ready_bytes += contents.bytes;
        self.ready.push_back((Slots { first: self.first, next }, Arc::new(contents)));
        self.first = next;
    }

    /// Commits the oldest range. False when somebody else moved the WAL start.
    async fn commit_one(&mut self) -> Result<bool, StartError> {
        let Some((slots, contents)) = self.ready.pop_front() else { return Ok(true) };
        self.ready_bytes -= contents.bytes;
        match self.packer.publish(slots, &contents).await {
            Ok(()) => Ok(true),
            Err(Unpublished::Rejected(Rejection::WalStart { .. } | Rejection::SessionNotFenced { .. })) => {
                Ok(false)
            }
            Err(error) => Err(unpublished(error)),
        }
    }

    /// A slot is missing that was acknowledged. Either another recovery committed and deleted it, or it is lost.
    async fn lost(&self, by: SessionId, number: u64, acknowledged: u64) -> Result<Passed, StartError> {
        let start = wal_start(self.shared, self.session)?;
        // Changes nothing and brings the view to the head of the log.
        proposed(propose(self.shared, FenceSession { session: self.session, by }).await)?;
        if wal_start(self.shared, self.session)? > start.min(number) {
            return Ok(Passed::Moved);
        }
        let detail = format!(
            "the slot is missing, but the first {acknowledged} were acknowledged when a later one was written"
        );
        Err(fetch::damaged(&self.key(number), 0, detail))
    }

    fn key(&self, slot: u64) -> String {
        wal_key(self.shared.identity.cluster, self.session, slot)
    }
}
