//! A read that goes on: server-sent events.
//!
//! Owns the sequence of events: after each `data` a `control`, which says where to go on; a comment when nothing happens;
//! `kelda-problem` when it cannot go on. Guarantees that a reader which is caught up is told so at once, that the last
//! records of a sealed stream come before the word that it is closed, and that the connection ends then, at the end asked
//! for, after its longest life, or when the node stops, always behind a `control`. Never holds a page while it waits.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, Response, header};
use bytes::{Buf, Bytes};
use futures::StreamExt;
use kelda_format::ids::Offset;
use kelda_service::{LookupError, Problem, Wait};
use serde_json::{Map, Value as Json};
use tokio::sync::OwnedSemaphorePermit;

use super::encode::Encoder;
use super::{Page, Reading, flow, long_poll};
use crate::http::budget::Hold;
use crate::http::form::Form;
use crate::http::query::ReadQuery;
use crate::http::refusal::Refusal;
use crate::http::{describe, fields, offset, sse};

/// How long nothing is sent at most.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// Bytes of records in one event for a reader for whom there is room.
const FAST_EVENT: u64 = 256 << 10;
/// Bytes of records in one event for any reader; one record may be larger.
const EVENT: u64 = 16 << 10;
/// Bytes that are handed to the connection at a time. Copied, so that a frame never keeps a whole event in memory.
const FRAME: usize = 16 << 10;

pub(super) async fn answer(
    reading: Reading,
    query: &ReadQuery,
    from: Offset,
) -> Result<Response<Body>, Refusal> {
    let app = &reading.app;
    let seat = app.park()?;
    let deadline = app.env.clock.monotonic() + app.sse_max_duration;
    let base64 = encoding(&reading);
    let mut response = Response::new(Body::empty());
    let headers = response.headers_mut();
    reading.put(headers);
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    if base64 {
        describe::put(headers, fields::STREAM_SSE_DATA_ENCODING, "base64");
    }
    let pulse = reading.pulse.clone();
    let feed = Feed {
        reading,
        at: from,
        count: query.count.unwrap_or(u64::MAX),
        bytes: query.bytes.unwrap_or(u64::MAX),
        cursor: query.cursor,
        base64,
        sent: false,
        told: false,
        over: false,
        deadline,
        rest: Bytes::new(),
        hold: None,
        _seat: seat,
    };
    let frames = futures::stream::unfold(feed, |mut feed| async move {
        let frame = feed.frame().await?;
        Some((Ok::<_, Infallible>(frame), feed))
    });
    *response.body_mut() = flow::paced(pulse, FRAME, frames.boxed());
    Ok(response)
}

/// Whether data has to be encoded: event streams are text.
fn encoding(reading: &Reading) -> bool {
    let essence = kelda_service::content_type::essence(&reading.content_type).to_ascii_lowercase();
    match reading.form {
        Form::Plain => !essence.starts_with("text/") && essence != "application/json",
        Form::Json => false,
        Form::Binary => true,
    }
}

/// An event stream that is being sent.
struct Feed {
    reading: Reading,
    at: Offset,
    count: u64,
    bytes: u64,
    cursor: Option<u64>,
    base64: bool,
    /// Whether a record was sent.
    sent: bool,
    /// Whether the reader was told that it is caught up at `at`.
    told: bool,
    over: bool,
    deadline: Duration,
    rest: Bytes,
    hold: Option<Hold>,
    _seat: OwnedSemaphorePermit,
}

impl Feed {
    /// The next frame; nothing at the end.
    async fn frame(&mut self) -> Option<Bytes> {
        while self.rest.is_empty() {
            self.hold = None;
            if self.over {
                return None;
            }
            self.rest = match self.step().await {
                Ok(bytes) => bytes,
                Err(refusal) => self.end_with(&refusal),
            };
        }
        let step = self.rest.len().min(FRAME);
        let frame = Bytes::copy_from_slice(&self.rest[..step]);
        self.rest.advance(step);
        Some(frame)
    }

    /// What to send next; nothing when the wait brought something that the next step will find.
    async fn step(&mut self) -> Result<Bytes, Refusal> {
        let fast = self.reading.app.fast_bytes.try_hold(FAST_EVENT);
        let most = if fast.is_some() { FAST_EVENT } else { EVENT };
        let mut page = self.reading.page(self.at, most.min(self.bytes), self.count).await?;
        if self.sent && page.bytes() > self.bytes {
            // A page has at least one record, but this one would go beyond what was asked for.
            page = Page { next: self.at, blocks: Vec::new(), ended: true, ..page };
        }
        // What was left out did not fit.
        page.ended |= self.bytes <= most && !page.up_to_date();
        if page.blocks.is_empty() && self.told && !page.closed() && !page.ended {
            drop((page, fast));
            return self.wait().await;
        }
        let mut out = Vec::new();
        if !page.blocks.is_empty() {
            self.put_data(&mut out, &page);
        }
        self.at = page.next;
        self.count -= page.records();
        self.bytes = self.bytes.saturating_sub(page.bytes());
        page.ended |= self.bytes == 0;
        self.sent |= !page.blocks.is_empty();
        self.told = page.up_to_date();
        self.over = page.closed() || page.ended || self.is_over();
        self.put_control(&mut out, &page);
        self.hold = fast.or(page.hold.filter(|_| out.len() > EVENT as usize * 2));
        Ok(out.into())
    }

    /// Waits for something to happen.
    async fn wait(&mut self) -> Result<Bytes, Refusal> {
        let app = &self.reading.app;
        let left = self.deadline.saturating_sub(app.env.clock.monotonic());
        match long_poll::wait(&self.reading, self.at, left.min(HEARTBEAT)).await {
            Wait::Data | Wait::Sealed => Ok(Bytes::new()),
            Wait::TimedOut => {
                self.over = self.is_over();
                // The next step finds the end.
                let ended = self.reading.until_end().is_some_and(|left| left.is_zero());
                Ok(if self.over || ended { Bytes::new() } else { Bytes::from_static(sse::HEARTBEAT) })
            }
            Wait::Gone => Err(LookupError::NotFound { name: self.reading.name.clone() }.into()),
            Wait::Ended => {
                Err(Refusal::new(Problem::Unavailable, "this node stopped serving the stream: come back"))
            }
        }
    }

    /// Whether the client has to come back on another connection.
    fn is_over(&self) -> bool {
        let app = &self.reading.app;
        app.stopping.is_cancelled() || app.env.clock.monotonic() >= self.deadline
    }

    fn put_data(&self, out: &mut Vec<u8>, page: &Page) {
        let mut encoder = Encoder::new(self.reading.form, self.reading.json);
        encoder.push(page.blocks.iter().cloned());
        let mut payload = Vec::new();
        while let Some(piece) = encoder.next() {
            payload.extend_from_slice(&piece);
        }
        encoder.close();
        while let Some(piece) = encoder.next() {
            payload.extend_from_slice(&piece);
        }
        if self.base64 {
            sse::put_base64_event(out, "data", &payload);
        } else {
            sse::put_event(out, "data", &payload);
        }
    }

    fn put_control(&self, out: &mut Vec<u8>, page: &Page) {
        let mut control = Map::new();
        control.insert("streamNextOffset".to_owned(), Json::from(offset::format(page.next)));
        if page.closed() {
            control.insert("streamClosed".to_owned(), Json::from(true));
        } else {
            let cursor = self.reading.cursor(self.cursor);
            control.insert("streamCursor".to_owned(), Json::from(cursor.to_string()));
        }
        if page.up_to_date() {
            control.insert("upToDate".to_owned(), Json::from(true));
        }
        if page.ended {
            control.insert("keldaEnd".to_owned(), Json::from(true));
        }
        sse::put_event(out, "control", Json::Object(control).to_string().as_bytes());
    }

    /// The event that says why it cannot go on; nothing follows.
    fn end_with(&mut self, refusal: &Refusal) -> Bytes {
        self.over = true;
        let mut out = Vec::new();
        sse::put_event(&mut out, "kelda-problem", refusal.json().to_string().as_bytes());
        out.into()
    }
}
