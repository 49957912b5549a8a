//! Reading a stream page by page: owns the position, guarantees that a lost connection neither repeats nor
//! skips a record, never reads past what was asked for.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;
use hyper::Method;
use kelda_format::StoredRecord;
use kelda_format::records::{CONTENT_TYPE, Frame};

use crate::backoff::Backoff;
use crate::connect::Kelda;
use crate::error::Error;
use crate::http::Http;
use crate::start::{EndAt, StartAt};
use crate::stream::path;
use crate::timer::{self, Stopwatch};

/// What to read.
#[derive(Clone, Debug)]
pub struct ReadOptions {
    /// Where to start.
    pub start: StartAt,
    /// Where to stop.
    pub until: Option<EndAt>,
    /// Stop after so many records.
    pub count: Option<u64>,
    /// Go on at the tail and wait for new records.
    pub follow: bool,
    /// How long to try again when the server is not there.
    pub patience: Duration,
}

/// Reads a range of one stream, record by record: what a copy, an export or a look at a stream needs. For a program that
/// handles records as they come there is [`Kelda::stream`].
///
/// ```no_run
/// # async fn example(kelda: kelda_client::Kelda) -> Result<(), kelda_client::Error> {
/// use std::time::Duration;
/// use kelda_client::{RangeReader, ReadOptions, StartAt};
/// let (start, patience) = (StartAt::Tail(10), Duration::from_secs(10));
/// let options = ReadOptions { start, until: None, count: None, follow: false, patience };
/// let mut range = RangeReader::new(&kelda, "orders", options);
/// while let Some(record) = range.next().await? {
///     println!("{}: {} bytes", record.offset.0, record.record.body.len());
/// }
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct RangeReader {
    kelda: Kelda,
    target: String,
    options: ReadOptions,
    position: Option<u64>,
    stream_id: Option<String>,
    remaining: Option<u64>,
    page: VecDeque<StoredRecord>,
    finished: bool,
}

impl RangeReader {
    fn http(&self) -> Result<&Http, Error> {
        self.kelda.transport.http("read a range")
    }

    /// A reader of `stream`; nothing is sent before the first [`RangeReader::next`].
    #[must_use]
    pub fn new(kelda: &Kelda, stream: &str, options: ReadOptions) -> RangeReader {
        let position = match options.start {
            StartAt::Offset(offset) => Some(offset),
            _ => None,
        };
        let (kelda, target, remaining) = (kelda.clone(), path(stream), options.count);
        let (stream_id, page, finished) = (None, VecDeque::new(), false);
        RangeReader { kelda, target, options, position, stream_id, remaining, page, finished }
    }

    /// The next record; `None` at the end of what was asked for, or of a sealed stream.
    ///
    /// # Errors
    /// Any [`Error`]; 412 when the name was deleted and created anew meanwhile.
    pub async fn next(&mut self) -> Result<Option<StoredRecord>, Error> {
        loop {
            if self.remaining == Some(0) {
                return Ok(None);
            }
            if let Some(record) = self.page.pop_front() {
                self.position = Some(record.offset.0 + 1);
                self.remaining = self.remaining.map(|left| left - 1);
                return Ok(Some(record));
            }
            if self.finished {
                return Ok(None);
            }
            self.fetch().await?;
        }
    }

    /// Whether [`RangeReader::next`] answers at once, without asking the server.
    #[must_use]
    pub fn has_buffered(&self) -> bool {
        self.finished || self.remaining == Some(0) || !self.page.is_empty()
    }

    /// The offset of the next record, once the server said where the start is.
    #[must_use]
    pub fn position(&self) -> Option<u64> {
        self.position
    }

    /// The identity of the stream that is read, once the server answered.
    #[must_use]
    pub fn stream_id(&self) -> Option<&str> {
        self.stream_id.as_deref()
    }

    async fn fetch(&mut self) -> Result<(), Error> {
        let mut backoff = Backoff::new(self.options.patience);
        let mut live = self.options.follow && self.position.is_some();
        loop {
            let limit = if live { self.http()?.live_limit() } else { backoff.limit() };
            let began = Stopwatch::start();
            match self.fetch_once(live, limit).await {
                Err(error) if error.is_retryable() => {
                    // How long a request waited at the tail says nothing. What is tried next does not wait there: a server
                    // that lets requests wait for longer answers it.
                    if !std::mem::take(&mut live) {
                        backoff.spend(began.elapsed());
                    }
                    let Some(pause) = backoff.pause() else { return Err(error) };
                    timer::sleep(pause).await;
                }
                other => return other,
            }
        }
    }

    async fn fetch_once(&mut self, live: bool, limit: Duration) -> Result<(), Error> {
        let mut headers = vec![("accept", CONTENT_TYPE.to_owned())];
        headers.extend(self.stream_id.clone().map(|id| ("kelda-if-stream-id", id)));
        let target = format!("{}?{}", self.target, self.query(live));
        let answer = self.http()?.send_within(limit, Method::GET, &target, &headers, Bytes::new()).await?;
        self.stream_id = answer.header("kelda-stream-id").map(str::to_owned).or(self.stream_id.take());
        let next = answer.number("stream-next-offset")?;
        let up_to_date = answer.header("stream-up-to-date") == Some("true");
        let sealed = answer.header("stream-closed") == Some("true");
        let ended = answer.header("kelda-end") == Some("true");
        let body = answer.bytes().await?;
        self.page = decode(&body, self.position)?;
        self.position = Some(next);
        self.finished = sealed || ended || (up_to_date && !self.options.follow);
        Ok(())
    }

    fn query(&self, live: bool) -> String {
        let mut query = self.position.map_or(self.options.start, StartAt::Offset).query();
        if let Some(until) = self.options.until {
            query.push_str(&format!("&{}", until.query()));
        }
        if let Some(count) = self.remaining {
            query.push_str(&format!("&count={count}"));
        }
        if live {
            query.push_str("&live=long-poll");
        }
        query
    }
}

/// The records of an answer, without those before `from`.
fn decode(body: &Bytes, from: Option<u64>) -> Result<VecDeque<StoredRecord>, Error> {
    let mut page = VecDeque::new();
    let mut at = 0;
    while at < body.len() {
        let frame = Frame::decode(body, at).map_err(|error| Error::Protocol(error.to_string()))?;
        let (frame, next) = frame.ok_or_else(|| Error::Protocol("the last frame is cut short".to_owned()))?;
        page.extend(frame.records().filter(|record| from.is_none_or(|from| record.offset.0 >= from)));
        at = next;
    }
    Ok(page)
}
