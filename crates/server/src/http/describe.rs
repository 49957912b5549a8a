//! What a stream is, as header fields and as JSON.
//!
//! Owns the names and spellings of both. Guarantees that they say the same. Never asks the service.

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use kelda_format::ids::Timestamp;
use kelda_service::{Expiry, StreamInfo, StreamKind};
use serde_json::{Map, Value as Json};

use super::{fields, offset};
use crate::{duration, time};

/// Puts a field whose value is text that was made here.
pub fn put(headers: &mut HeaderMap, name: HeaderName, value: impl AsRef<str>) {
    if let Ok(value) = HeaderValue::from_str(value.as_ref()) {
        headers.insert(name, value);
    }
}

/// Puts a field that is there or not.
pub fn put_true(headers: &mut HeaderMap, name: HeaderName, said: bool) {
    if said {
        headers.insert(name, HeaderValue::from_static("true"));
    }
}

/// Puts what the stream was made with and who it is: for every reply that answers with a stream as a whole.
pub fn put_configuration(headers: &mut HeaderMap, info: &StreamInfo) {
    put(headers, fields::KELDA_STREAM_ID, info.stream.to_string());
    put(headers, fields::STREAM_NEXT_OFFSET, offset::format(info.next));
    put_true(headers, fields::STREAM_CLOSED, info.sealed);
    match info.expiry {
        Expiry::Never => {}
        Expiry::Sliding { ttl_ms } => put(headers, fields::STREAM_TTL, (ttl_ms / 1_000).to_string()),
        Expiry::At(at) => put(headers, fields::STREAM_EXPIRES_AT, time::format(at)),
    }
    if let Some(age) = info.retention.max_age_ms {
        put(headers, fields::KELDA_MAX_AGE, duration::format_ms(age));
    }
    if let Some(bytes) = info.retention.max_bytes {
        put(headers, fields::KELDA_MAX_BYTES, bytes.to_string());
    }
    if let Some(bytes) = info.retention.segment_bytes {
        put(headers, fields::KELDA_SEGMENT_BYTES, bytes.to_string());
    }
    put(headers, fields::KELDA_KIND, kind(info.kind));
}

/// Puts everything there is to say.
pub fn put_all(headers: &mut HeaderMap, info: &StreamInfo, owner: Option<String>) {
    put_configuration(headers, info);
    put(headers, header::CONTENT_TYPE, &info.content_type);
    put(headers, fields::KELDA_START_OFFSET, offset::format(info.start));
    put(headers, fields::KELDA_BYTES, info.bytes.to_string());
    put(headers, fields::KELDA_CREATED, time::format(info.created));
    for (name, at) in [(fields::KELDA_OLDEST, info.oldest), (fields::KELDA_NEWEST, info.newest)] {
        if let Some(at) = at {
            put(headers, name, time::format(at));
        }
    }
    if let Some(epoch) = info.epoch {
        put(headers, fields::KELDA_EPOCH, epoch.to_string());
    }
    if let Some(owner) = owner {
        put(headers, fields::KELDA_OWNER, owner);
    }
}

/// Everything there is to say, as JSON: offsets, ids and times are strings.
#[must_use]
pub fn json(info: &StreamInfo, owner: Option<String>) -> Json {
    let text = |value: String| Some(Json::from(value));
    let at = |time: Timestamp| Json::from(time.to_string());
    let (ttl, expires) = match info.expiry {
        Expiry::Never => (None, None),
        Expiry::Sliding { ttl_ms } => (Some(Json::from(ttl_ms / 1_000)), None),
        Expiry::At(time) => (None, Some(at(time))),
    };
    let retention = &info.retention;
    let all = [
        ("name", text(info.name.to_string())),
        ("stream_id", text(info.stream.to_string())),
        ("kind", text(kind(info.kind).to_owned())),
        ("content_type", text(info.content_type.clone())),
        ("start_offset", text(offset::format(info.start))),
        ("next_offset", text(offset::format(info.next))),
        ("sealed", Some(Json::from(info.sealed))),
        ("bytes", Some(Json::from(info.bytes))),
        ("created", Some(at(info.created))),
        ("oldest", info.oldest.map(at)),
        ("newest", info.newest.map(at)),
        ("ttl_seconds", ttl),
        ("expires_at", expires),
        ("max_age", retention.max_age_ms.map(|ms| Json::from(duration::format_ms(ms)))),
        ("max_bytes", retention.max_bytes.map(Json::from)),
        ("segment_bytes", retention.segment_bytes.map(Json::from)),
        ("epoch", info.epoch.map(|epoch| Json::from(epoch.to_string()))),
        ("owner", owner.map(Json::from)),
    ];
    let said = all.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    Json::Object(said.collect::<Map<_, _>>())
}

fn kind(kind: StreamKind) -> &'static str {
    match kind {
        StreamKind::Stream => "stream",
        StreamKind::Queue => "queue",
    }
}
