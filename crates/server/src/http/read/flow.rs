//! The body of a reply on its way out.
//!
//! Owns how much of it is in memory. Small pages, and pages of readers for whom there is room, are held whole; of all
//! others a piece at a time is held and the rest is read again when its turn comes. Guarantees that a reader which takes a
//! byte a second holds a piece, a frame and the window of its socket, however large the page is. A record larger than
//! [`LARGE_RECORD`] cannot be cut: its page stays held, within the budget for replies. Never sends less than the reply
//! promised without failing.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use axum::body::Body;
use bytes::{Buf, Bytes, BytesMut};
use futures::stream::BoxStream;
use futures::{Stream, StreamExt};
use hyper::body::Frame;
use kelda_format::block::Block;
use kelda_format::ids::Offset;
use kelda_service::ReadLimit;

use super::encode::{self, Encoder};
use super::{Page, Reading};
use crate::http::budget::Hold;
use crate::http::form::Form;
use crate::http::refusal::Refusal;
use crate::net::Pulse;

/// Bytes of a page that is held whole in any case, and of a piece that is read at a time.
const PIECE: u64 = 16 << 10;
/// Bytes that are handed to the connection at a time, for a page that is read piece by piece. Copied, so that a frame
/// never keeps a whole block in memory.
const FRAME: usize = 16 << 10;
/// Bytes that are handed to the connection at a time, for a page that is held whole. Not copied when they are at least
/// [`DIRECT`] in one piece: the block stays in memory in any case.
const WHOLE_FRAME: usize = 256 << 10;
/// From this size on a piece is a frame of its own.
const DIRECT: usize = 4 << 10;
/// Bytes of a record from which on its page is held whole.
const LARGE_RECORD: u64 = 64 << 10;

/// The body of a reply that carries a page, and its length where that is known before. A page that is read again piece by
/// piece has more binary frames than blocks, one for each piece of a block, so its length is not.
pub(super) fn body(reading: &Reading, mut page: Page) -> (Body, Option<u64>) {
    let mut encoder = Encoder::new(reading.form, reading.json);
    let (pulse, end) = (reading.pulse.clone(), page.next);
    let length = encode::length(reading.form, reading.json, &page.blocks);
    let (at, whole, hold) = match keep(reading, &mut page) {
        Keep::Whole(hold) => {
            encoder.push(page.blocks);
            (end, true, hold)
        }
        Keep::Piece => (page.from, false, None),
    };
    let reply = Reply { reading: reading.clone(), encoder, rest: Bytes::new(), at, end, whole, _hold: hold };
    let frames = futures::stream::unfold(reply, |mut reply| async move {
        let frame = reply.frame().await.transpose()?;
        Some((frame, reply))
    });
    let length = length.filter(|_| whole || reading.form != Form::Binary);
    (paced(pulse, if whole { WHOLE_FRAME } else { FRAME }, frames.boxed()), length)
}

/// What of a page stays in memory.
enum Keep {
    Whole(Option<Hold>),
    Piece,
}

fn keep(reading: &Reading, page: &mut Page) -> Keep {
    let bytes = page.bytes();
    if bytes <= PIECE {
        return Keep::Whole(None);
    }
    if let Some(hold) = reading.app.fast_bytes.try_hold(bytes) {
        return Keep::Whole(Some(hold));
    }
    let large = |block: &Block| {
        block.byte_len() > LARGE_RECORD
            && block.records().any(|stored| stored.record.byte_len() > LARGE_RECORD)
    };
    if page.blocks.iter().any(large) { Keep::Whole(page.hold.take()) } else { Keep::Piece }
}

/// A reply that is being sent.
struct Reply {
    reading: Reading,
    encoder: Encoder,
    rest: Bytes,
    at: Offset,
    end: Offset,
    whole: bool,
    _hold: Option<Hold>,
}

impl Reply {
    /// The next frame; nothing at the end.
    async fn frame(&mut self) -> Result<Option<Bytes>, Cut> {
        let most = if self.whole { WHOLE_FRAME } else { FRAME };
        let mut frame = BytesMut::new();
        while frame.len() < most {
            if self.rest.is_empty() {
                match self.encoder.next() {
                    Some(piece) => self.rest = piece,
                    None if self.at < self.end => self.more().await?,
                    None => {
                        self.encoder.close();
                        match self.encoder.next() {
                            Some(piece) => self.rest = piece,
                            None => break,
                        }
                    }
                }
                continue;
            }
            if self.whole && self.rest.len() >= DIRECT {
                if !frame.is_empty() {
                    break;
                }
                return Ok(Some(self.rest.split_to(self.rest.len().min(WHOLE_FRAME))));
            }
            let step = self.rest.len().min(most - frame.len());
            frame.extend_from_slice(&self.rest[..step]);
            self.rest.advance(step);
        }
        Ok((!frame.is_empty()).then(|| frame.freeze()))
    }

    /// Reads the next piece of the page again.
    async fn more(&mut self) -> Result<(), Cut> {
        let Reading { app, name, stream, .. } = &self.reading;
        let limit = ReadLimit { max_bytes: PIECE, max_records: u64::MAX, until: Some(self.end) };
        let chunk = app.service.read(&app.caller(), name, *stream, self.at, limit).await;
        let chunk = chunk.map_err(|error| Cut(Refusal::from(error).json().to_string()))?;
        if chunk.next <= self.at {
            return Err(Cut(format!("no records at offset {}", self.at)));
        }
        self.at = chunk.next;
        self.encoder.push(chunk.blocks);
        Ok(())
    }
}

/// A reply that cannot be finished; the connection ends, so that the client knows.
#[derive(Debug, thiserror::Error)]
#[error("the reply was cut: {0}")]
struct Cut(String);

/// A body of frames that come no faster than the socket takes them: less than `window` bytes wait for it when another
/// frame comes.
pub(super) fn paced<E>(
    pulse: Option<Arc<Pulse>>,
    window: usize,
    frames: BoxStream<'static, Result<Bytes, E>>,
) -> Body
where
    E: std::error::Error + Send + Sync + 'static,
{
    let base = pulse.as_ref().map_or(0, |pulse| pulse.written());
    Body::new(Paced { pulse, window: window as u64, base, handed: 0, frames })
}

struct Paced<E> {
    pulse: Option<Arc<Pulse>>,
    window: u64,
    base: u64,
    handed: u64,
    frames: BoxStream<'static, Result<Bytes, E>>,
}

impl<E> hyper::body::Body for Paced<E>
where
    E: std::error::Error + Send + Sync + 'static,
{
    type Data = Bytes;
    type Error = E;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, E>>> {
        if let Some(pulse) = &self.pulse {
            ready!(pulse.poll_room(self.base, self.handed, self.window, context));
        }
        let frame = ready!(Pin::new(&mut self.frames).poll_next(context));
        if let Some(Ok(bytes)) = &frame {
            self.handed += bytes.len() as u64;
        }
        Poll::Ready(frame.map(|frame| frame.map(Frame::data)))
    }
}
