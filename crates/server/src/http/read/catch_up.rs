//! A read that does not wait: what is there, up to a page.
//!
//! Owns caching: entity tags, and how long a reply may be kept. A reply to a pinned start with records may be kept, since
//! the records at an offset never change and the reader goes on behind them; everything that depends on the moment is
//! asked again.

use axum::body::Body;
use axum::http::{HeaderMap, Response, StatusCode, header};
use kelda_format::ids::Offset;
use kelda_service::StreamInfo;

use super::{Page, Reading, flow, page_limits};
use crate::http::query::{ReadQuery, Start};
use crate::http::refusal::Refusal;
use crate::http::{describe, etag};

/// What the protocol's section 10.1 suggests for records that anybody may read.
pub(super) const KEEP: &str = "public, max-age=60, stale-while-revalidate=300";
/// Keep it, but ask whether it still holds.
const ASK: &str = "no-cache";
/// Do not keep it.
pub(super) const FORGET: &str = "no-store";

pub(super) async fn answer(
    reading: Reading,
    query: &ReadQuery,
    from: Offset,
    info: &StreamInfo,
    headers: &HeaderMap,
) -> Result<Response<Body>, Refusal> {
    let page = if query.start == Some(Start::Next) {
        super::empty_page(info, from)
    } else {
        let (bytes, records) = page_limits(query);
        reading.page(from, bytes, records).await?
    };
    let tag = tag(&reading, &page);
    if query.start != Some(Start::Next)
        && headers
            .get_all(header::IF_NONE_MATCH)
            .iter()
            .any(|sent| sent.to_str().is_ok_and(|sent| etag::matches(sent, &tag)))
    {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        put(&reading, query, &page, &tag, response.headers_mut());
        return Ok(response);
    }
    let mut fields = HeaderMap::new();
    put(&reading, query, &page, &tag, &mut fields);
    describe::put(&mut fields, header::CONTENT_TYPE, reading.reply_type());
    Ok(with_page(&reading, page, fields))
}

/// A reply of status 200 whose body is the page.
pub(super) fn with_page(reading: &Reading, page: Page, mut headers: HeaderMap) -> Response<Body> {
    let (body, length) = flow::body(reading, page);
    if let Some(length) = length {
        headers.insert(header::CONTENT_LENGTH, length.into());
    }
    let mut response = Response::new(body);
    *response.headers_mut() = headers;
    response
}

fn tag(reading: &Reading, page: &Page) -> String {
    etag::tag(reading.stream, page.from, page.next, reading.form, page.closed())
}

fn put(reading: &Reading, query: &ReadQuery, page: &Page, tag: &str, headers: &mut HeaderMap) {
    reading.put_page(headers, page);
    if query.start != Some(Start::Next) {
        describe::put(headers, header::ETAG, tag);
    }
    let keep = match query.start {
        None => ASK,
        Some(_) if !query.pinned() => FORGET,
        Some(_) if page.blocks.is_empty() => ASK,
        Some(_) => KEEP,
    };
    describe::put(headers, header::CACHE_CONTROL, keep);
}
