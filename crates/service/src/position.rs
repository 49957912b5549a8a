//! Where a reader starts and ends: owns the way from a wish (first, last, a time) to a concrete offset.

use kelda_format::{Offset, StreamId, StreamName, Timestamp};

use crate::caller::{Caller, Operation};
use crate::info::StreamInfo;
use crate::lookup::LookupError;
use crate::read::ReadError;
use crate::service::{Inner, Service};

/// Where to start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartAt {
    /// The first record held.
    First,
    /// The last record, and onward.
    Last,
    /// Only what is appended from now on.
    Next,
    /// An exact offset; at most the tail.
    Offset(Offset),
    /// The first record at or after a time.
    Time(Timestamp),
    /// The first record of the last so many milliseconds.
    Ago {
        /// Milliseconds back from now.
        ms: u64,
    },
    /// The last so many records, or all when there are fewer.
    Tail(u64),
}

/// Where to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndAt {
    /// Before this offset.
    Offset(Offset),
    /// Before the first record at or after this time.
    Time(Timestamp),
}

/// A start position made concrete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    /// The stream that the name stands for.
    pub stream: StreamId,
    /// Where to read from.
    pub offset: Offset,
    /// What the stream was at that moment.
    pub info: StreamInfo,
}

/// An end position made concrete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// Read only records before this offset.
    pub offset: Offset,
    /// Whether that is for good. If not, the time lies ahead and records still to come may be before it: ask
    /// again after reading up to here.
    pub fixed: bool,
}

impl Service {
    /// Turns a start position into an offset. This is a read: it slides the TTL.
    ///
    /// # Errors
    /// [`ReadError::Trimmed`] and [`ReadError::PastTail`] when an exact offset is not held or lies ahead.
    pub async fn resolve(
        &self,
        caller: &Caller,
        name: &StreamName,
        start: StartAt,
        if_stream: Option<StreamId>,
    ) -> Result<Position, ReadError> {
        let inner = &self.inner;
        let (stream, used) = {
            let view = inner.meta.view();
            let entry = inner.find(&view, (caller, Operation::Read), name, if_stream)?;
            (entry.stream, inner.enter(entry)?)
        };
        let info = inner.certain_info(name, stream).await.map_err(|fault| match fault {
            Some(fault) => ReadError::Node(fault),
            None => LookupError::NotFound { name: name.clone() }.into(),
        })?;
        let offset = inner.start(&info, start).await?;
        used.touch();
        Ok(Position { stream, offset, info })
    }

    /// Turns an end position into an offset.
    ///
    /// # Errors
    /// [`ReadError`]; never for an offset, which may lie anywhere.
    pub async fn resolve_end(&self, stream: StreamId, end: EndAt) -> Result<End, ReadError> {
        match end {
            EndAt::Offset(offset) => Ok(End { offset, fixed: true }),
            EndAt::Time(time) => {
                // Asked first: what is appended after this moment has a time at or after it (P18).
                let now = self.inner.now().0;
                let offset = self.inner.engine.find_time(stream, time).await?;
                let tail = self.inner.engine.status(stream).map_or(offset, |status| status.tail);
                Ok(End { offset, fixed: offset < tail || time.0 <= now })
            }
        }
    }
}

impl Inner {
    async fn start(&self, info: &StreamInfo, start: StartAt) -> Result<Offset, ReadError> {
        let back = |records: u64| Offset(info.next.0.saturating_sub(records)).max(info.start);
        Ok(match start {
            StartAt::First => info.start,
            StartAt::Last => back(1),
            StartAt::Next => info.next,
            StartAt::Tail(records) => back(records),
            StartAt::Offset(offset) if offset < info.start => {
                return Err(ReadError::Trimmed { start: info.start });
            }
            StartAt::Offset(offset) if offset > info.next => {
                return Err(ReadError::PastTail { tail: info.next });
            }
            StartAt::Offset(offset) => offset,
            StartAt::Time(time) => self.engine.find_time(info.stream, time).await?,
            StartAt::Ago { ms } => {
                let time = Timestamp(self.now().0.saturating_sub(ms));
                self.engine.find_time(info.stream, time).await?
            }
        })
    }
}
