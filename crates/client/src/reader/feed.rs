//! Where a reader gets its entries from: owns the seam between the rules and a transport, and the transport over HTTP.
//! Guarantees that a page is whole or an error, and that it is of the stream that was asked for. Never repeats a request.

use bytes::Bytes;
use futures::future::BoxFuture;
use hyper::Method;
use kelda_format::records::CONTENT_TYPE;
use kelda_format::{StoredRecord, StreamId};
use parking_lot::Mutex;

use super::core::{Ask, Given};
use super::frames::Frames;
use crate::error::{Error, Problem};
use crate::http::Http;
use crate::start::EndAt;
use crate::stream::path;

/// Entries of one stream, and which stream it is.
#[derive(Clone, Debug)]
pub(crate) struct Page {
    pub(crate) stream_id: StreamId,
    pub(crate) given: Given<StoredRecord>,
    /// Whether nothing further is wanted; as with a sealed stream, nothing follows then.
    pub(crate) reached: bool,
}

/// Why there is no page.
#[derive(Clone, Debug)]
pub(crate) enum FeedError {
    /// The position is no longer held; the first that is.
    Gone { start: u64 },
    /// The name stands for another stream, if it says which.
    Changed { found: String },
    /// Anything else.
    Failed(Error),
}

impl From<Error> for FeedError {
    fn from(error: Error) -> FeedError {
        match error {
            Error::Problem(problem) => match problem.code() {
                "offset-gone" => match number(&problem, "start_offset") {
                    Some(start) => FeedError::Gone { start },
                    None => FeedError::Failed(Error::Problem(problem)),
                },
                "stream-id-mismatch" => {
                    let found = problem.fields.get("stream_id").and_then(|id| id.as_str());
                    FeedError::Changed { found: found.unwrap_or("unknown").to_owned() }
                }
                _ => FeedError::Failed(Error::Problem(problem)),
            },
            error => FeedError::Failed(error),
        }
    }
}

fn number(problem: &Problem, field: &str) -> Option<u64> {
    problem.fields.get(field)?.as_str()?.parse().ok()
}

/// A transport, as a reader sees it.
pub(crate) trait Feed: Send + Sync + 'static {
    /// Asks once; when `expected` is given, only of that stream. Dropping the future ends the transfer.
    fn fetch(&self, ask: Ask, expected: Option<StreamId>) -> BoxFuture<'_, Result<Page, FeedError>>;
}

/// Pages over HTTP: catch-up reads and long-polls of binary records.
pub(crate) struct HttpFeed {
    http: Http,
    target: String,
    end: End,
    /// What the last long-poll gave, so that no cache answers twice with one reply.
    cursor: Mutex<Option<String>>,
}

/// Where a reader is to end.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct End {
    pub(crate) until: Option<EndAt>,
    /// Also as soon as the tail is reached.
    pub(crate) at_tail: bool,
}

/// Bytes of a page, when more is wanted than the server's usual page.
const LARGE_PAGE_BYTES: u64 = 4 << 20;
/// A window of so many entries is worth large pages.
const LARGE_WINDOW: u64 = 2_000;

impl HttpFeed {
    pub(crate) fn new(http: &Http, stream: &str, end: End) -> HttpFeed {
        HttpFeed { http: http.clone(), target: path(stream), end, cursor: Mutex::new(None) }
    }

    async fn once(&self, ask: Ask, expected: Option<StreamId>) -> Result<Page, Error> {
        let mut target = format!("{}?{}&count={}", self.target, ask.start.query(), ask.count);
        self.end.until.inspect(|until| target.push_str(&format!("&{}", until.query())));
        if ask.count >= LARGE_WINDOW {
            target.push_str(&format!("&bytes={LARGE_PAGE_BYTES}"));
        }
        if ask.wait {
            target.push_str("&live=long-poll");
            let cursor = self.cursor.lock().take();
            cursor.inspect(|cursor| target.push_str(&format!("&cursor={cursor}")));
        }
        let mut headers = vec![("accept", CONTENT_TYPE.to_owned())];
        headers.extend(expected.map(|id| ("kelda-if-stream-id", id.to_string())));
        let http = &self.http;
        let limit = if ask.wait { http.live_limit() } else { http.answer_limit() };
        let mut answer = http.send_within(limit, Method::GET, &target, &headers, Bytes::new()).await?;
        if ask.wait {
            *self.cursor.lock() = answer.header("stream-cursor").map(str::to_owned);
        }
        let stream_id = StreamId(answer.number("kelda-stream-id")?);
        let next = answer.number("stream-next-offset")?;
        let caught_up = answer.header("stream-up-to-date") == Some("true");
        let sealed = answer.header("stream-closed") == Some("true");
        let ended = answer.header("kelda-end") == Some("true");
        let mut frames = Frames::default();
        while let Some(part) = answer.part().await? {
            frames.take(part)?;
        }
        let entries = frames.end()?;
        // A page that is full says that it has its end too.
        let until = self.end.until.is_some() && ended && (entries.len() as u64) < ask.count;
        let reached = until || (self.end.at_tail && caught_up);
        let (sealed, next) = (sealed || reached, Some(next));
        let given = Given { entries, sparse: false, next, caught_up, sealed };
        Ok(Page { stream_id, given, reached })
    }
}

impl Feed for HttpFeed {
    fn fetch(&self, ask: Ask, expected: Option<StreamId>) -> BoxFuture<'_, Result<Page, FeedError>> {
        Box::pin(async move { self.once(ask, expected).await.map_err(FeedError::from) })
    }
}
