//! `GET /name`: records of a stream.
//!
//! Owns what the three ways to read have in common: the start made concrete, the page that is read from there, and what
//! a reply says about it. Guarantees that every page is bounded, in bytes of records and by the node's budget, and that a
//! start is pinned to an offset when the reader arrives. Never claims more than the service said: `Stream-Up-To-Date` and
//! `Stream-Closed` are those of the page (P19).

mod catch_up;
mod encode;
mod events;
mod flow;
mod long_poll;

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, Response, header, request};
use kelda_format::block::Block;
use kelda_format::ids::{Offset, StreamId};
use kelda_format::name::StreamName;
use kelda_service::{Chunk, EndAt, Problem, ReadLimit, StartAt, StreamInfo, content_type};

use super::app::App;
use super::budget::Hold;
use super::form::{self, Form, RECORDS_BINARY, RECORDS_JSON};
use super::query::{Live, Parameters, ReadQuery, Start, Until};
use super::refusal::Refusal;
use super::{cursor, describe, fields, name, offset, request as sent};
use crate::net::Pulse;

/// Bytes of records in a reply when the client does not say.
const DEFAULT_PAGE_BYTES: u64 = 1 << 20;
/// Most bytes of records in a reply; one record may be larger.
const MAX_PAGE_BYTES: u64 = 16 << 20;
/// How long a page waits for room in the budget.
const ROOM_LIMIT: Duration = Duration::from_secs(10);

/// Answers a read.
///
/// # Errors
/// What the client gets instead.
pub async fn read(
    app: &App,
    parts: &request::Parts,
    pulse: Option<Arc<Pulse>>,
) -> Result<Response<Body>, Refusal> {
    let name = name::of(&parts.uri)?;
    let query = ReadQuery::new(&Parameters::parse(parts.uri.query())?)?;
    let form = form::of_reply(sent::one(&parts.headers, &header::ACCEPT)?, query.as_records);
    let if_stream = sent::if_stream(&parts.headers)?;
    let start = start(query.start.unwrap_or(Start::First));
    let position = app.service.resolve(&app.caller(), &name, start, if_stream).await?;
    let reading = Reading {
        app: app.clone(),
        name,
        stream: position.stream,
        json: content_type::is_json(&position.info.content_type),
        content_type: position.info.content_type.clone(),
        form,
        end: query.until.map(end),
        pulse,
    };
    let from = position.offset;
    match query.live {
        None => catch_up::answer(reading, &query, from, &position.info, &parts.headers).await,
        Some(Live::LongPoll) => long_poll::answer(reading, &query, from).await,
        Some(Live::Sse) => events::answer(reading, &query, from).await,
    }
}

fn start(start: Start) -> StartAt {
    match start {
        Start::First => StartAt::First,
        Start::Last => StartAt::Last,
        Start::Next => StartAt::Next,
        Start::Offset(at) => StartAt::Offset(at),
        Start::Time(time) => StartAt::Time(time),
        Start::Ago(ms) => StartAt::Ago { ms },
        Start::Tail(records) => StartAt::Tail(records),
    }
}

fn end(end: Until) -> EndAt {
    match end {
        Until::Offset(at) => EndAt::Offset(at),
        Until::Time(time) => EndAt::Time(time),
    }
}

/// One reader of one life of a stream.
#[derive(Clone)]
struct Reading {
    app: App,
    name: StreamName,
    stream: StreamId,
    /// Whether plain bodies are elements of a JSON array.
    json: bool,
    content_type: String,
    form: Form,
    end: Option<EndAt>,
    pulse: Option<Arc<Pulse>>,
}

/// Records that were read together.
struct Page {
    from: Offset,
    next: Offset,
    tail: Offset,
    /// Whether nothing lies behind `tail`, as far as this node can say (P19).
    tail_known: bool,
    sealed: bool,
    blocks: Vec<Block>,
    /// Whether the end asked for is reached.
    ended: bool,
    hold: Option<Hold>,
}

impl Page {
    fn records(&self) -> u64 {
        self.blocks.iter().map(|block| u64::from(block.count())).sum()
    }

    /// Bytes of bodies and of what goes with them, as they are stored.
    fn bytes(&self) -> u64 {
        self.blocks.iter().map(Block::byte_len).sum()
    }

    fn up_to_date(&self) -> bool {
        self.tail_known && self.next >= self.tail
    }

    /// Whether no record follows this page, ever.
    fn closed(&self) -> bool {
        self.sealed && self.up_to_date()
    }
}

impl Reading {
    /// Reads a page of at most `max_bytes` and `max_records`, as soon as the budget has room for it.
    async fn page(&self, from: Offset, max_bytes: u64, max_records: u64) -> Result<Page, Refusal> {
        let app = &self.app;
        let end = match self.end {
            Some(end) => Some(app.service.resolve_end(self.stream, end).await?),
            None => None,
        };
        let until = end.map(|end| end.offset.max(from));
        let mut hold = self.room(max_bytes).await?;
        let limit = ReadLimit { max_bytes, max_records, until };
        let chunk = app.service.read(&app.caller(), &self.name, self.stream, from, limit).await?;
        let ended = end.is_some_and(|end| end.fixed && chunk.next >= end.offset);
        let Chunk { blocks, next, tail, tail_known, sealed, .. } = chunk;
        let mut page = Page { from, next, tail, tail_known, sealed, blocks, ended, hold: None };
        // One record may be larger than what was asked for.
        if let Some(more) = page.bytes().checked_sub(max_bytes).filter(|more| *more > 0) {
            hold.join(self.room(more).await?);
        }
        page.ended |= page.records() == max_records;
        page.hold = Some(hold);
        Ok(page)
    }

    /// How long it is until the time up to which is read; nothing when the end is no time.
    fn until_end(&self) -> Option<Duration> {
        let Some(EndAt::Time(time)) = self.end else { return None };
        Some(Duration::from_millis(time.0.saturating_sub(self.app.env.clock.now())))
    }

    async fn room(&self, bytes: u64) -> Result<Hold, Refusal> {
        let budget = &self.app.reply_bytes;
        budget.hold(&self.app.env, bytes.min(budget.total()), ROOM_LIMIT).await.ok_or_else(|| {
            let detail = format!("replies take {} bytes, which is the most", budget.total());
            Refusal::new(Problem::Overloaded, detail)
        })
    }

    /// The content type of a reply that is not an event stream.
    fn reply_type(&self) -> &str {
        match self.form {
            Form::Plain => &self.content_type,
            Form::Json => RECORDS_JSON,
            Form::Binary => RECORDS_BINARY,
        }
    }

    /// Puts what every reply to a reader says.
    fn put(&self, headers: &mut HeaderMap) {
        describe::put(headers, fields::KELDA_STREAM_ID, self.stream.to_string());
        describe::put(headers, header::VARY, "Accept, Origin");
    }

    /// Puts what a reply says about its page.
    fn put_page(&self, headers: &mut HeaderMap, page: &Page) {
        self.put(headers);
        describe::put(headers, fields::STREAM_NEXT_OFFSET, offset::format(page.next));
        describe::put_true(headers, fields::STREAM_UP_TO_DATE, page.up_to_date());
        describe::put_true(headers, fields::STREAM_CLOSED, page.closed());
        describe::put_true(headers, fields::KELDA_END, page.ended);
    }

    fn cursor(&self, sent: Option<u64>) -> u64 {
        cursor::next(self.app.env.clock.now(), sent, self.app.env.random.next_u64())
    }
}

/// Most bytes and records of a page that answers a query.
fn page_limits(query: &ReadQuery) -> (u64, u64) {
    let bytes = query.bytes.unwrap_or(DEFAULT_PAGE_BYTES).min(MAX_PAGE_BYTES);
    (bytes, query.count.unwrap_or(u64::MAX))
}

/// A page without records at the tail, as it was when the reader arrived.
fn empty_page(info: &StreamInfo, from: Offset) -> Page {
    let (blocks, hold, ended) = (Vec::new(), None, false);
    let (tail, tail_known, sealed) = (info.next, info.tail_known, info.sealed);
    Page { from, next: from, tail, tail_known, sealed, blocks, ended, hold }
}
