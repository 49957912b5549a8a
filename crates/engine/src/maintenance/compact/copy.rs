//! Copying records into a new object: owns the file that it is written to, piece by piece. Guarantees that it holds no more in
//! memory than its budget and one block, that every block read was verified, and that small neighbours become one block of the
//! size of a page. Never adopts or commits what it wrote.

use std::sync::Arc;

use bytes::Bytes;
use kelda_env::{DiskError, DiskFile};
use kelda_format::codec::Codec;
use kelda_format::limits::EXTENT_TARGET_BYTES;
use kelda_format::object::PackedWriter;
use kelda_format::{Block, ObjectId, Offset, StreamId, Timestamp};
use kelda_meta::State;

use super::damaged::DamagedRange;
use super::plan::Merge;
use crate::engine::Inner;
use crate::objects::ObjectError;
use crate::types::ReadLimit;

/// The share of the memory budget that one read brings; what it brings may be held twice, as blocks and as bytes to write.
const READS_IN_BUDGET: u64 = 4;

/// Why a copy was not finished.
#[derive(Debug)]
pub(super) enum Abandoned {
    /// A range cannot be read.
    Damaged(ObjectId, Box<DamagedRange>),
    /// The stream changed under the copy: look again.
    Changed,
    /// The disk or the store failed.
    Failed(String),
}

impl From<DiskError> for Abandoned {
    fn from(error: DiskError) -> Abandoned {
        Abandoned::Failed(error.to_string())
    }
}

/// What was copied of one stream.
#[derive(Clone, Copy, Debug)]
pub(super) struct Copied {
    pub(super) base: Offset,
    pub(super) end: Offset,
    pub(super) first_timestamp: Timestamp,
    pub(super) last_timestamp: Timestamp,
    pub(super) bytes: u64,
}

/// The file that an object is written to.
struct Output {
    file: Arc<dyn DiskFile>,
    writer: PackedWriter,
    written: u64,
    /// Small blocks that will be joined.
    waiting: Vec<Block>,
    waiting_bytes: u64,
}

impl Inner {
    /// Copies the records of `job` into a new file at `path`, synced. Returns its length and what it holds, in the order of
    /// the job.
    pub(super) async fn copy(
        &self,
        view: &State,
        job: &[(StreamId, Merge)],
        path: &str,
    ) -> Result<(u64, Vec<Copied>), Abandoned> {
        let file = self.shared.env.disk.create(path).await?;
        let writer = PackedWriter::new(view.cluster(), Codec::None);
        let mut output = Output { file, writer, written: 0, waiting: Vec::new(), waiting_bytes: 0 };
        let mut copied = Vec::with_capacity(job.len());
        for (stream, merge) in job {
            copied.push(self.copy_one(view, *stream, merge, &mut output).await?);
        }
        Ok((output.finish().await?, copied))
    }

    async fn copy_one(
        &self,
        view: &State,
        stream: StreamId,
        merge: &Merge,
        output: &mut Output,
    ) -> Result<Copied, Abandoned> {
        let (Some(first), Some(last)) = (merge.inputs.first(), merge.inputs.last()) else {
            return Err(Abandoned::Changed);
        };
        // What was trimmed is left out.
        let base = view.stream(stream).ok_or(Abandoned::Changed)?.start.max(first.base);
        let before = output.writer.byte_len();
        let piece = (self.shared.config.maintenance.compact_memory / READS_IN_BUDGET).max(1);
        let mut times: Option<(Timestamp, Timestamp)> = None;
        let mut next = base;
        while next < last.end {
            // One reference at a time, so that it is known which one cannot be read.
            let until = view.object_at(stream, next).ok_or(Abandoned::Changed)?.end;
            let limit = ReadLimit { max_bytes: piece, max_records: u64::MAX, until: Some(until) };
            let blocks = match self.shared.objects.read_uncached(view, stream, next, &limit).await {
                Ok(blocks) => blocks,
                Err(error) => return Err(self.unreadable(view, stream, next, error)),
            };
            let Some(end) = blocks.last().map(Block::end) else { return Err(Abandoned::Changed) };
            for block in blocks {
                let (from, until) = (block.first_timestamp(), block.last_timestamp());
                times = Some((times.map_or(from, |(from, _)| from), until));
                output.add(block);
            }
            next = end;
            if output.writer.held() as u64 >= piece {
                output.spill().await?;
            }
        }
        output.join();
        let Some((first_timestamp, last_timestamp)) = times else { return Err(Abandoned::Changed) };
        let bytes = output.writer.byte_len() - before;
        Ok(Copied { base, end: last.end, first_timestamp, last_timestamp, bytes })
    }

    /// What it means that records of the view cannot be read.
    fn unreadable(&self, view: &State, stream: StreamId, from: Offset, error: ObjectError) -> Abandoned {
        let (key, detail) = match error {
            ObjectError::Unavailable(why) => return Abandoned::Failed(why),
            ObjectError::Missing { key } => (key, "it is missing".to_owned()),
            ObjectError::Damaged { key, position, detail } => (key, format!("at byte {position}: {detail}")),
        };
        // P13: what is missing is damage only if the log at its head still names it.
        let now = self.shared.meta.view();
        let same = |row: &&kelda_format::rows::ObjectRefRow| {
            view.object_at(stream, from).is_some_and(|before| before.object == row.object)
        };
        let Some(row) = now.object_at(stream, from).filter(same) else { return Abandoned::Changed };
        let range = DamagedRange { object: key, stream, base: row.base, end: row.end, detail };
        Abandoned::Damaged(row.object, Box::new(range))
    }
}

impl Output {
    /// Adds a block behind the others, joined with its neighbours while they are small.
    fn add(&mut self, block: Block) {
        if self.waiting_bytes + block.byte_len() > EXTENT_TARGET_BYTES {
            self.join();
        }
        self.waiting_bytes += block.byte_len();
        self.waiting.push(block);
    }

    /// Writes the blocks that wait.
    fn join(&mut self) {
        self.waiting_bytes = 0;
        let blocks = std::mem::take(&mut self.waiting);
        let plain = blocks.len() > 1 && blocks.iter().all(|block| block.summary().is_none());
        match Block::join(&blocks).filter(|_| plain) {
            Some(joined) => self.writer.push(&joined),
            None => blocks.iter().for_each(|block| self.writer.push(block)),
        }
    }

    /// Writes to the file what is held.
    async fn spill(&mut self) -> Result<(), DiskError> {
        let piece = self.writer.take_written();
        self.put(piece).await
    }

    async fn put(&mut self, piece: Bytes) -> Result<(), DiskError> {
        let at = self.written;
        self.written += piece.len() as u64;
        self.file.write_at(&[piece], at).await
    }

    /// Completes the object and syncs it; returns its length.
    async fn finish(mut self) -> Result<u64, DiskError> {
        self.join();
        let empty = PackedWriter::new(kelda_format::ClusterId::default(), Codec::None);
        let writer = std::mem::replace(&mut self.writer, empty);
        let (rest, _) = writer.finish();
        self.put(rest).await?;
        self.file.sync_data().await?;
        Ok(self.written)
    }
}
