//! A read that waits for the first record and answers with a page.
//!
//! Guarantees that it never waits for what cannot come: behind a seal, behind the end asked for, or while the node stops.
//! A reader that waits is counted and holds no page.

use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, Response, StatusCode, header};
use kelda_format::ids::Offset;
use kelda_service::{LookupError, Problem, Wait};

use super::{Page, Reading, catch_up, page_limits};
use crate::http::query::ReadQuery;
use crate::http::refusal::Refusal;
use crate::http::{describe, fields};

pub(super) async fn answer(
    reading: Reading,
    query: &ReadQuery,
    from: Offset,
) -> Result<Response<Body>, Refusal> {
    let app = reading.app.clone();
    let deadline = app.env.clock.monotonic() + app.long_poll_timeout;
    let (bytes, records) = page_limits(query);
    let mut seat = None;
    loop {
        let page = reading.page(from, bytes, records).await?;
        let left = deadline.saturating_sub(app.env.clock.monotonic());
        let done = !page.blocks.is_empty() || page.closed() || page.ended;
        if done || left.is_zero() || app.stopping.is_cancelled() {
            return Ok(reply(&reading, query, page));
        }
        drop(page);
        if seat.is_none() {
            seat = Some(app.park()?);
        }
        match wait(&reading, from, left).await {
            // The page that is read next says which it was.
            Wait::Data | Wait::Sealed | Wait::TimedOut => {}
            Wait::Gone => return Err(LookupError::NotFound { name: reading.name }.into()),
            Wait::Ended => {
                return Err(Refusal::new(
                    Problem::Unavailable,
                    "this node stopped serving the stream: come back",
                ));
            }
        }
    }
}

/// Waits for a record behind `from`; the end of the node, and the time up to which is read, count as the end of the
/// time.
pub(super) async fn wait(reading: &Reading, from: Offset, limit: Duration) -> Wait {
    let app = &reading.app;
    let limit = reading.until_end().map_or(limit, |left| left.min(limit));
    tokio::select! {
        biased;
        () = app.stopping.cancelled() => Wait::TimedOut,
        wait = app.service.wait(&reading.name, reading.stream, from, limit) => wait,
    }
}

fn reply(reading: &Reading, query: &ReadQuery, page: Page) -> Response<Body> {
    let mut headers = HeaderMap::new();
    reading.put_page(&mut headers, &page);
    if !page.closed() {
        describe::put(&mut headers, fields::STREAM_CURSOR, reading.cursor(query.cursor).to_string());
    }
    if page.blocks.is_empty() {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::NO_CONTENT;
        describe::put(&mut headers, header::CACHE_CONTROL, "no-store");
        *response.headers_mut() = headers;
        return response;
    }
    let keep = if query.pinned() { catch_up::KEEP } else { catch_up::FORGET };
    describe::put(&mut headers, header::CACHE_CONTROL, keep);
    describe::put(&mut headers, header::CONTENT_TYPE, reading.reply_type());
    catch_up::with_page(reading, page, headers)
}
