//! The writer of a log in the store: owns the groups on their way and the range that acknowledged slots are gathered in.
//! Guarantees that slots are numbered without a gap, that acknowledgement is strictly in the order of slots (P17, and what
//! P6 rests on), that what is on its way is bounded in number and bytes, and that a lost slot ends the session (P8). Never
//! decides what is written, never reads metadata.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use kelda_format::keys::wal_key;
use kelda_format::wal::{EntryContext, SlotHeader};
use tokio::sync::mpsc;

use super::queue::{Grouping, Next, SlotEntry, SlotQueue};
use super::range::{Contents, OpenRange, SlotRange};
use super::slot::{self, Lost};
use crate::session::Session;

/// A group that is not acknowledged yet.
struct Sent {
    entries: Vec<SlotEntry>,
    bytes: u64,
    durable: bool,
}

struct Writer {
    session: Arc<Session>,
    queue: Arc<SlotQueue>,
    ranges: mpsc::UnboundedSender<SlotRange>,
    /// Groups on their way, the oldest first. Bounded by `wal_uploads`.
    sent: VecDeque<Sent>,
    sent_bytes: u64,
    uploads: FuturesUnordered<BoxFuture<'static, (u64, Result<(), Lost>)>>,
    /// The first slot that is not acknowledged: the one of the first of `sent`.
    acknowledged: u64,
    /// Entries that are acknowledged, and those of them that are in a range which went to the uploader.
    entries: u64,
    ranged: u64,
    open: Option<OpenRange>,
}

/// Writes groups until the queue is closed or the session ends. `ranges` takes what is acknowledged for upload; what is in
/// it is bounded by the uncommitted bytes of the session.
pub(crate) async fn run(
    session: Arc<Session>,
    queue: Arc<SlotQueue>,
    ranges: mpsc::UnboundedSender<SlotRange>,
) {
    let mut writer = Writer {
        session: Arc::clone(&session),
        queue,
        ranges,
        sent: VecDeque::new(),
        sent_bytes: 0,
        uploads: FuturesUnordered::new(),
        acknowledged: 0,
        entries: 0,
        ranged: 0,
        open: None,
    };
    if let Err(Lost::For(why)) = writer.run().await {
        session.end(&format!("the write-ahead log lost a slot: {why}"));
    }
}

impl Writer {
    async fn run(&mut self) -> Result<(), Lost> {
        let clock = Arc::clone(&self.session.shared.env.clock);
        let config = &self.session.shared.config;
        let grouping = Grouping { linger: config.wal_linger, bytes: config.group_bytes };
        loop {
            let now = clock.monotonic();
            self.cut_when_due(now);
            let mut wait = self.open.as_ref().map(|open| open.due);
            let room = self.has_room();
            if room {
                match self.queue.take(now, grouping) {
                    Next::Group(entries) => {
                        self.send(entries);
                        continue;
                    }
                    Next::Linger(until) => wait = Some(wait.map_or(until, |wait| wait.min(until))),
                    Next::Close if self.sent.is_empty() => return Ok(()),
                    Next::Ended => return Err(Lost::Ended),
                    Next::Close | Next::Empty => {}
                }
            }
            let wait = wait.map(|wait| wait.saturating_sub(now));
            let landed = tokio::select! {
                biased;
                () = self.session.until_ended() => return Err(Lost::Ended),
                Some(landed) = self.uploads.next(), if !self.uploads.is_empty() => Some(landed),
                () = self.queue.filled() => None,
                () = clock.sleep(wait.unwrap_or_default()), if wait.is_some() => None,
            };
            if let Some((slot, result)) = landed {
                result?;
                self.landed(slot)?;
            }
        }
    }

    /// Whether another group may be on its way.
    fn has_room(&self) -> bool {
        let config = &self.session.shared.config;
        let bytes = config.group_bytes.saturating_mul(config.wal_uploads);
        (self.sent.len() as u64) < config.wal_uploads && (self.sent.is_empty() || self.sent_bytes < bytes)
    }

    /// Gives a group the next slot and sends it.
    fn send(&mut self, entries: Vec<SlotEntry>) {
        let shared = &self.session.shared;
        let slot = self.acknowledged + self.sent.len() as u64;
        let (cluster, salt) = (shared.identity.cluster, shared.env.random.next_u64());
        let context = EntryContext { cluster, session: self.session.id, salt };
        let header = SlotHeader { context, slot, acknowledged: self.acknowledged };
        let body = header.encode_slot(entries.iter().map(|entry| &entry.sections[..]));
        let bytes = entries.iter().map(|entry| entry.bytes).sum();
        self.sent_bytes += bytes;
        self.sent.push_back(Sent { entries, bytes, durable: false });
        let (session, key) = (Arc::clone(&self.session), wal_key(cluster, self.session.id, slot));
        self.uploads.push(Box::pin(async move { (slot, slot::upload(session, key, body).await) }));
    }

    /// A slot is durable: acknowledges it and those behind it that waited for it, in order.
    fn landed(&mut self, slot: u64) -> Result<(), Lost> {
        let at = usize::try_from(slot - self.acknowledged).unwrap_or(usize::MAX);
        if let Some(sent) = self.sent.get_mut(at) {
            sent.durable = true;
        }
        while self.sent.front().is_some_and(|sent| sent.durable) {
            let Some(sent) = self.sent.pop_front() else { break };
            self.sent_bytes -= sent.bytes;
            self.acknowledge(sent.entries)?;
            self.acknowledged += 1;
            self.cut_when_full();
        }
        Ok(())
    }

    /// Acknowledges the group of the first slot that is not, entry by entry in the order of acceptance.
    fn acknowledge(&mut self, entries: Vec<SlotEntry>) -> Result<(), Lost> {
        let shared = &self.session.shared;
        let due = shared.env.clock.monotonic() + shared.config.upload_interval;
        let first = self.acknowledged;
        let open = self.open.get_or_insert_with(|| OpenRange {
            first,
            contents: Contents::default(),
            uncommitted: None,
            due,
        });
        for entry in entries {
            if self.session.ended().is_some() {
                return Err(Lost::Ended);
            }
            let SlotEntry { stream, ordinal, sections, bytes, reserved } = entry;
            match open.uncommitted.as_mut() {
                Some(all) => all.merge(reserved.uncommitted),
                None => open.uncommitted = Some(reserved.uncommitted),
            }
            open.contents.add(&sections, bytes);
            self.entries += 1;
            stream.entry_durable(ordinal, sections);
        }
        Ok(())
    }

    fn cut_when_full(&mut self) {
        let segment_bytes = self.session.shared.config.segment_bytes;
        let slots = |open: &OpenRange| self.acknowledged - open.first;
        if self.open.as_ref().is_some_and(|open| open.contents.is_full(slots(open), segment_bytes)) {
            self.cut();
        }
    }

    /// Hands the open range over when it is old, or when a flush waits for exactly what is acknowledged by now.
    fn cut_when_due(&mut self, now: Duration) {
        let flush_to = self.queue.flush_to();
        let asked = flush_to > self.ranged && self.entries >= flush_to;
        if asked || self.open.as_ref().is_some_and(|open| open.due <= now) {
            self.cut();
        }
    }

    /// Hands the open range to the uploader.
    fn cut(&mut self) {
        let Some(OpenRange { first, contents, uncommitted, .. }) = self.open.take() else { return };
        self.queue.ranged(contents.bytes);
        self.ranged = self.entries;
        let (next, through, contents) = (self.acknowledged, self.entries, Arc::new(contents));
        // A closed channel means that the uploader is gone, and so is the session.
        let _ = self.ranges.send(SlotRange { first, next, through, contents, _uncommitted: uncommitted });
    }
}
