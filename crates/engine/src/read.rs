//! Reads across WAL tail, cache and objects: owns the choice of the tier. Guarantees that nothing past the durable
//! tail is returned, that a commit which evicts between two looks hides nothing (the view is taken after the cache
//! missed), and that a missing object is damage only when a newer view still names it (P13). Never opens a stream,
//! never lists the store.

use std::sync::Arc;

use futures::FutureExt;
use kelda_format::summary::Selection;
use kelda_format::{Block, Offset, StreamId};

use crate::bounds::Bounds;
use crate::cut::Cut;
use crate::engine::{Engine, Running};
use crate::error::ReadError;
use crate::objects::{ObjectError, Run};
use crate::session::Shared;
use crate::types::{Chunk, ReadLimit};

/// Looks at cache and view before a read gives up: each repeat means that the stream changed hands or an object
/// was replaced in between.
pub(crate) const LOOKS: usize = 4;

/// Looks at further tiers by which one read goes on where a tier ended; then the caller comes again.
const JOINS: usize = 4;

impl Engine {
    /// Records of a stream from an offset on, never past the durable tail, across objects and cache. Fewer than the
    /// limit allows may be returned, but at least one when there is one; nothing at the tail.
    ///
    /// # Errors
    /// See [`ReadError`].
    pub async fn read(&self, stream: StreamId, from: Offset, limit: ReadLimit) -> Result<Chunk, ReadError> {
        let mut whole = self.read_tier(stream, from, limit, None).await?;
        let mut cut = Cut::new(from, &limit);
        whole.blocks.iter().for_each(|block| cut.push(block, block.end()));
        for _ in 0..JOINS {
            if !cut.wants_more() || cut.next() >= whole.tail {
                break;
            }
            // What was read is an answer by itself, so a fault behind it is for the next read to report.
            let Ok(more) = self.read_tier(stream, cut.next(), limit, None).await else { break };
            more.blocks.iter().for_each(|block| cut.push(block, block.end()));
            whole = more;
        }
        let next = cut.next();
        Ok(Chunk { blocks: cut.finish(), next, ..whole })
    }

    /// As [`Engine::read`], for who wants only what `wanted` says: everything wanted between `from` and the `next` of the
    /// answer is in it, and much else may be left out. So `next` may be past `from` though no record is returned; at the tail
    /// it is not.
    ///
    /// # Errors
    /// See [`ReadError`].
    pub async fn read_wanted(
        &self,
        stream: StreamId,
        from: Offset,
        limit: ReadLimit,
        wanted: &Selection,
    ) -> Result<Chunk, ReadError> {
        self.read_tier(stream, from, limit, Some(wanted)).await
    }

    /// Records from the one tier that holds `from`; with `wanted`, from the first place on where one may be wanted.
    async fn read_tier(
        &self,
        stream: StreamId,
        from: Offset,
        limit: ReadLimit,
        wanted: Option<&Selection>,
    ) -> Result<Chunk, ReadError> {
        let running = self.inner.current.load_full();
        let shared = &self.inner.shared;
        let mut missing = None;
        for _ in 0..LOOKS {
            if let Some(chunk) = running.read_cached(stream, from, &limit)? {
                return Ok(chunk);
            }
            let (view, bounds) = running.look(stream).ok_or(ReadError::Gone)?;
            if from < bounds.start {
                return Err(ReadError::Trimmed { start: bounds.start });
            }
            if from >= bounds.committed {
                if bounds.open && from < bounds.tail {
                    // Opened since the look at the cache.
                    continue;
                }
                return bounds.at_the_end(from);
            }
            let (from, limit, whole) = match wanted.filter(|_| wants_any(from, &limit)) {
                None => (from, limit, true),
                Some(wanted) => match shared.objects.run(&view, stream, from, &limit, wanted).await {
                    // What was passed is an answer by itself.
                    Ok(Run { from: to, until, .. }) if from < to && to == until => return bounds.passed(to),
                    Ok(run) if run.from == run.until => (from, limit, false),
                    Ok(run) => (run.from, ReadLimit { until: Some(run.until), ..limit }, run.whole),
                    Err(error) => {
                        missing = Some(shared.judge(error, missing, stream, from)?);
                        continue;
                    }
                },
            };
            match shared.objects.read(&view, stream, from, &limit).await {
                Ok(blocks) if blocks.is_empty() && wants_any(from, &limit) => {
                    let error = unheld(stream, from);
                    shared.damage.report(stream, from, &error);
                    return Err(error);
                }
                Ok(blocks) => {
                    let next = blocks.last().map_or(from, Block::end);
                    // What lies ahead of a reader that passes much may not be wanted.
                    let ahead = if whole { shared.objects.ahead(&view, stream, next) } else { Vec::new() };
                    for ahead in ahead {
                        let shared = Arc::clone(shared);
                        let load = async move { shared.objects.load_ahead(ahead).await };
                        self.inner.shared.env.tasks.spawn("read-ahead", load.boxed());
                    }
                    return bounds.answer(from, blocks);
                }
                Err(error) => missing = Some(shared.judge(error, missing, stream, from)?),
            }
        }
        Err(ReadError::Unavailable(format!("stream {stream} changes faster than it can be read")))
    }
}

impl Running {
    /// The answer from the log cache, if the stream is open and `from` is not below it.
    fn read_cached(
        &self,
        stream: StreamId,
        from: Offset,
        limit: &ReadLimit,
    ) -> Result<Option<Chunk>, ReadError> {
        let Some(open) = self.streams.get(stream) else { return Ok(None) };
        let Some(state) = open.readable() else { return Ok(None) };
        let start = self.session.shared.meta.view().stream(stream).ok_or(ReadError::Gone)?.start;
        if from < start {
            return Err(ReadError::Trimmed { start });
        }
        if from > state.durable {
            return Err(ReadError::PastTail { tail: state.durable });
        }
        let Some(blocks) = state.cache.read(from, limit) else { return Ok(None) };
        let next = blocks.last().map_or(from, Block::end);
        let (tail, sealed) = (state.durable, state.durable_sealed);
        Ok(Some(Chunk { blocks, next, tail, tail_known: true, start, sealed }))
    }
}

impl Bounds {
    /// The answer to a read that got `blocks`.
    fn answer(&self, from: Offset, blocks: Vec<Block>) -> Result<Chunk, ReadError> {
        let next = blocks.last().map_or(from, Block::end);
        // P19: whoever gets here without a record would take it for the tail.
        if blocks.is_empty() && next >= self.tail && !self.known {
            return Err(tail_unknown());
        }
        let Bounds { tail, known, start, sealed, .. } = *self;
        Ok(Chunk { blocks, next, tail, tail_known: known, start, sealed })
    }

    /// The answer to a read that found nothing wanted before `next`.
    fn passed(&self, next: Offset) -> Result<Chunk, ReadError> {
        let Bounds { tail, known, start, sealed, .. } = *self;
        Ok(Chunk { blocks: Vec::new(), next, tail, tail_known: known, start, sealed })
    }

    /// The answer to a read at or past the committed end of a stream that has nothing else.
    fn at_the_end(&self, from: Offset) -> Result<Chunk, ReadError> {
        if from > self.tail && self.known {
            return Err(ReadError::PastTail { tail: self.tail });
        }
        self.answer(from, Vec::new())
    }
}

/// Whether a read may return a record at all.
fn wants_any(from: Offset, limit: &ReadLimit) -> bool {
    limit.max_records > 0 && limit.until.is_none_or(|until| from < until)
}

impl Shared {
    /// What a failed read of objects means: try again with a newer view and remember which object was missing, or an
    /// error. Damage is logged, once an object.
    pub(crate) fn judge(
        &self,
        error: ObjectError,
        missing: Option<String>,
        stream: StreamId,
        from: Offset,
    ) -> Result<String, ReadError> {
        judge(error, missing, stream, from).inspect_err(|error| self.damage.report(stream, from, error))
    }
}

fn judge(
    error: ObjectError,
    missing: Option<String>,
    stream: StreamId,
    from: Offset,
) -> Result<String, ReadError> {
    match error {
        ObjectError::Missing { key } if missing.as_ref() != Some(&key) => Ok(key),
        ObjectError::Missing { key } => Err(ReadError::Damaged {
            detail: format!("it is missing, and holds stream {stream} at offset {from}"),
            object: key,
        }),
        ObjectError::Damaged { key, position, detail } => Err(ReadError::Damaged {
            object: key,
            detail: format!("at byte {position}, read for stream {stream} from offset {from}: {detail}"),
        }),
        ObjectError::Unavailable(why) => Err(ReadError::Unavailable(why)),
    }
}

/// The metadata names no object for an offset that it says is committed.
fn unheld(stream: StreamId, from: Offset) -> ReadError {
    ReadError::Damaged {
        object: "none".to_owned(),
        detail: format!("the metadata names no object that holds stream {stream} at offset {from}"),
    }
}

pub(crate) fn tail_unknown() -> ReadError {
    ReadError::Unavailable("the session that held the stream ended and is not recovered yet".to_owned())
}
