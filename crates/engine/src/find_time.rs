//! Timestamp lookup: owns the choice between log cache and objects. Guarantees the first record at or after a time,
//! also when records with one time lie on both sides of what is committed. Never scans, never opens a stream.

use kelda_format::{Offset, StreamId, Timestamp};

use crate::cache::FoundTime;
use crate::engine::{Engine, Running};
use crate::error::ReadError;
use crate::read::{LOOKS, tail_unknown};

impl Engine {
    /// The first record at or after a time; the tail when there is none.
    ///
    /// # Errors
    /// See [`ReadError`]; never `Trimmed` or `PastTail`.
    pub async fn find_time(&self, stream: StreamId, time: Timestamp) -> Result<Offset, ReadError> {
        let running = self.inner.current.load_full();
        let shared = &self.inner.shared;
        let mut missing = None;
        for _ in 0..LOOKS {
            let cached = running.find_cached(stream, time);
            let (view, bounds) = running.look(stream).ok_or(ReadError::Gone)?;
            if let Some((FoundTime::At(offset), _)) = cached {
                return Ok(offset.max(bounds.start));
            }
            if let Some((FoundTime::None, tail)) = cached {
                return Ok(tail);
            }
            match shared.objects.find_time(&view, stream, time).await {
                Ok(Some(offset)) => return Ok(offset),
                Ok(None) => {}
                Err(error) => {
                    missing = Some(shared.judge(error, missing, stream, bounds.start)?);
                    continue;
                }
            }
            // Everything committed is before the time.
            if let Some((FoundTime::AtOrBefore(offset), _)) = cached {
                return Ok(offset.max(bounds.start));
            }
            if !bounds.known {
                return Err(tail_unknown());
            }
            if !bounds.open {
                return Ok(bounds.tail);
            }
            // Opened since the look at the cache.
        }
        Err(ReadError::Unavailable(format!("stream {stream} changes faster than it can be read")))
    }
}

impl Running {
    /// What the log cache of an open stream knows, and the durable tail of that moment.
    fn find_cached(&self, stream: StreamId, time: Timestamp) -> Option<(FoundTime, Offset)> {
        let open = self.streams.get(stream)?;
        let state = open.readable()?;
        Some((state.cache.find_time(time), state.durable))
    }
}
