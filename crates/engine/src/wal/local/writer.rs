//! The WAL writer: owns the segment being written, on a thread of its own. Guarantees that a group is written and
//! synced before the next one begins, that acknowledgement follows the sync and keeps the order (P17), that what is
//! known to be synced is marked (P11), and that a failed sync ends the session (never retried). Never decides what is
//! written, never reads metadata.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use kelda_env::{DiskError, DiskFile};
use kelda_format::wal::{EntryContext, Grouping, SEGMENT_HEADER_BYTES, SegmentHeader, encode_entry};
use tokio::sync::{OwnedSemaphorePermit, mpsc};

use super::queue::{Next, WalEntry, WalQueue};
use crate::recovery::directory;
use crate::retry::Backoff;
use crate::session::Session;
use crate::upload::plan::{COMMIT_BYTES, SegmentSummary};

/// A segment that takes no more entries; its index is not written yet.
pub(crate) struct SealedSegment {
    pub(crate) header: SegmentHeader,
    pub(crate) file: Arc<dyn DiskFile>,
    /// Where the entries end.
    pub(crate) end: u64,
    /// What the entries say.
    pub(crate) summary: SegmentSummary,
    /// The bytes that count as uncommitted; given back when this is dropped.
    pub(crate) uncommitted: Option<OwnedSemaphorePermit>,
}

struct Current {
    header: SegmentHeader,
    file: Arc<dyn DiskFile>,
    position: u64,
    summary: SegmentSummary,
    uncommitted: Option<OwnedSemaphorePermit>,
    /// When it is sealed though it is not full, by the monotonic clock: data older than that is to be in an object.
    due: Duration,
}

/// Why the writer stops before its queue is closed.
enum Halt {
    /// The session ended.
    Ended,
    /// The disk failed.
    Failed(DiskError),
}

impl From<DiskError> for Halt {
    fn from(error: DiskError) -> Halt {
        Halt::Failed(error)
    }
}

struct Writer {
    session: Arc<Session>,
    queue: Arc<WalQueue>,
    sealed: mpsc::UnboundedSender<SealedSegment>,
    current: Option<Current>,
    /// Number of the next group; the first of a session is 1.
    group: u64,
    /// The last group that is synced.
    synced: u64,
    /// Whether `synced` stands in no entry yet.
    unmarked: bool,
}

/// Writes groups until the queue is closed or the session ends. `sealed` takes the segments for upload; what is in
/// it is bounded by the uncommitted bytes of the session.
pub(crate) async fn run(
    session: Arc<Session>,
    queue: Arc<WalQueue>,
    sealed: mpsc::UnboundedSender<SealedSegment>,
) {
    let mut writer = Writer {
        session: Arc::clone(&session),
        queue,
        sealed,
        current: None,
        group: 1,
        synced: 0,
        unmarked: false,
    };
    match writer.run().await {
        Ok(()) | Err(Halt::Ended) => {}
        // P11: after a failed sync it is not known what is durable, so nothing more is acknowledged.
        Err(Halt::Failed(error)) => session.end(&format!("the write-ahead log failed: {error}")),
    }
}

impl Writer {
    async fn run(&mut self) -> Result<(), Halt> {
        let config = self.session.shared.config.clone();
        loop {
            self.seal_when_due();
            match self.queue.take(config.group_bytes) {
                Next::Group(entries) => self.write_group(entries).await?,
                Next::Seal(number) => self.seal(number),
                Next::Close => {
                    if let Some(number) = self.current.as_ref().map(|current| current.header.number) {
                        self.seal(number);
                    }
                    return Ok(());
                }
                Next::Ended => return Err(Halt::Ended),
                Next::Empty => self.idle(config.idle_mark, config.wal_linger).await?,
            }
        }
    }

    /// Has the segment being written sealed when what it holds is older than the upload interval.
    fn seal_when_due(&self) {
        let now = self.session.shared.env.clock.monotonic();
        if self.current.as_ref().is_some_and(|current| current.due <= now) {
            self.queue.seal_filling();
        }
    }

    /// Waits for entries, and writes the synced mark once when none come for a while.
    async fn idle(&mut self, idle_mark: Duration, linger: Duration) -> Result<(), Halt> {
        let clock = Arc::clone(&self.session.shared.env.clock);
        let wait = match &self.current {
            Some(_) if self.unmarked => idle_mark,
            Some(current) => current.due.saturating_sub(clock.monotonic()),
            None => Duration::MAX,
        };
        let filled = tokio::select! {
            biased;
            () = self.queue.filled() => true,
            () = clock.sleep(wait), if wait < Duration::MAX => false,
        };
        if !filled {
            return if self.unmarked { self.write_mark().await } else { Ok(()) };
        }
        if !linger.is_zero() {
            self.session.shared.env.clock.sleep(linger).await;
        }
        Ok(())
    }

    async fn write_group(&mut self, entries: Vec<WalEntry>) -> Result<(), Halt> {
        let Some(first) = entries.first() else { return Ok(()) };
        self.switch_to(first.place.segment).await?;
        let Some(current) = self.current.as_mut() else { return Err(Halt::Ended) };
        let group = self.group;
        let start = current.position;
        assert_eq!(start, first.place.position, "entries are written where they were placed");
        let mut buffers: Vec<Bytes> = Vec::with_capacity(entries.len() * 4);
        for entry in &entries {
            let grouping = Grouping { group, synced_group: self.synced, in_group: current.position - start };
            let parts = encode_entry(&current.header.context, grouping, &entry.sections);
            assert_eq!(parts.len, entry.bytes, "an entry takes the bytes it was placed with");
            current.summary.add(current.position, parts.len, &entry.sections);
            current.position += parts.len;
            buffers.extend(parts.bufs);
        }
        let file = Arc::clone(&current.file);
        self.write(&file, &buffers, start).await?;
        drop(buffers);
        file.sync_data().await?;
        self.group += 1;
        self.synced = group;
        self.unmarked = true;
        if self.current.as_ref().is_some_and(|current| current.summary.commit_bytes() > COMMIT_BYTES) {
            self.queue.seal_filling();
        }
        self.complete(entries)
    }

    /// Acknowledges a synced group, entry by entry in the order of acceptance.
    fn complete(&mut self, entries: Vec<WalEntry>) -> Result<(), Halt> {
        for entry in entries {
            if self.session.ended().is_some() {
                return Err(Halt::Ended);
            }
            let WalEntry { stream, ordinal, sections, reserved, .. } = entry;
            if let Some(current) = self.current.as_mut() {
                match current.uncommitted.as_mut() {
                    Some(all) => all.merge(reserved.uncommitted),
                    None => current.uncommitted = Some(reserved.uncommitted),
                }
            }
            stream.entry_durable(ordinal, sections);
        }
        Ok(())
    }

    /// P11: says by itself that the last group is synced, so that damage to it is not taken for a torn tail.
    async fn write_mark(&mut self) -> Result<(), Halt> {
        self.unmarked = false;
        let Some(current) = self.current.as_mut() else { return Ok(()) };
        let grouping = Grouping { group: self.group, synced_group: self.synced, in_group: 0 };
        let Some(place) = self.queue.place_mark(current.header.number) else { return Ok(()) };
        let mark = encode_entry(&current.header.context, grouping, &[]);
        assert_eq!(place.position, current.position, "the mark follows the last entry");
        current.position += mark.len;
        let file = Arc::clone(&current.file);
        self.write(&file, &mark.bufs, place.position).await?;
        file.sync_data().await?;
        self.synced = self.group;
        self.group += 1;
        Ok(())
    }

    /// Makes `number` the segment being written, sealing the one before.
    async fn switch_to(&mut self, number: u64) -> Result<(), Halt> {
        match &self.current {
            Some(current) if current.header.number == number => return Ok(()),
            Some(current) => {
                let before = current.header.number;
                self.seal(before);
            }
            None => {}
        }
        let Some(file) = self.queue.take_file(number) else { return Err(Halt::Ended) };
        let context = EntryContext {
            cluster: self.session.shared.identity.cluster,
            session: self.session.id,
            salt: self.session.shared.env.random.next_u64(),
        };
        let header = SegmentHeader { context, number, first_group: self.group };
        // Synced before the first entry, so that a header which does not decode, with anything behind it, is
        // corruption and not a torn tail (P11).
        self.write(&file, &[Bytes::copy_from_slice(&header.encode())], 0).await?;
        file.sync_data().await?;
        self.session.set_begun(number);
        directory::unmark_unbegun(&self.session.shared.env.disk, self.session.id).await;
        let due = self.session.shared.env.clock.monotonic() + self.session.shared.config.upload_interval;
        let (position, summary) = (SEGMENT_HEADER_BYTES as u64, SegmentSummary::default());
        self.current = Some(Current { header, file, position, summary, uncommitted: None, due });
        Ok(())
    }

    /// Hands the segment being written to the uploader, if it is `number`.
    fn seal(&mut self, number: u64) {
        let Some(current) = self.current.take_if(|current| current.header.number == number) else { return };
        self.unmarked = false;
        let Current { header, file, position, summary, uncommitted, .. } = current;
        // A closed channel means that the uploader is gone, and so is the session.
        let _ = self.sealed.send(SealedSegment { header, file, end: position, summary, uncommitted });
    }

    /// Writes; while the device is full, which preallocation does not exclude everywhere, tries again: nothing is
    /// acknowledged before the sync, so the same bytes may be written any number of times.
    async fn write(&self, file: &Arc<dyn DiskFile>, buffers: &[Bytes], position: u64) -> Result<(), Halt> {
        let mut backoff = Backoff::new(&self.session.shared.config);
        let mut was_full = false;
        loop {
            match file.write_at(buffers, position).await {
                Ok(()) => {
                    if was_full {
                        self.session.set_disk_full(false);
                    }
                    return Ok(());
                }
                Err(error) if error.is_full() => {
                    tracing::warn!(%error, "no space for the write-ahead log");
                    was_full = true;
                    self.session.set_disk_full(true);
                    if !self.session.pause(backoff.next()).await {
                        return Err(Halt::Ended);
                    }
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
}
