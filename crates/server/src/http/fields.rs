//! The one list of header fields.
//!
//! Owns every field name that the HTTP front end reads or writes, in which direction each goes, and one line of
//! what it says. Guarantees that the cross-origin answers name exactly what is used, because they are made from
//! this list. Never parses a value.

use axum::http::HeaderName;

/// Which way a field goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Clients send it.
    Request,
    /// Replies carry it.
    Response,
    /// Both.
    Both,
}

/// One header field.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// The name in lower case, as HTTP/2 has it.
    pub name: &'static str,
    /// The name as documents spell it.
    pub title: &'static str,
    /// Which way it goes.
    pub direction: Direction,
    /// What it says, in one line.
    pub help: &'static str,
}

macro_rules! fields {
    ($($constant:ident $title:literal $name:literal $direction:ident $help:literal;)*) => {
        $(
            #[doc = $help]
            pub const $constant: HeaderName = HeaderName::from_static($name);
        )*

        /// Every field, in the order of the documents.
        pub const FIELDS: &[Field] = &[
            $(Field { name: $name, title: $title, direction: Direction::$direction, help: $help },)*
        ];
    };
}

fields! {
    ACCEPT "Accept" "accept" Request "Asks for records in JSON or binary instead of plain bodies.";
    AUTHORIZATION "Authorization" "authorization" Request "Who asks; anonymous until access tokens exist.";
    CONTENT_TYPE "Content-Type" "content-type" Both "The type of the stream, or of the body.";
    IF_NONE_MATCH "If-None-Match" "if-none-match" Request "Entity tags that the client holds; a match answers 304.";
    ETAG "ETag" "etag" Response "Names the content of a catch-up read.";
    LOCATION "Location" "location" Response "The URL of the stream that was created.";
    RETRY_AFTER "Retry-After" "retry-after" Response "Seconds after which trying again makes sense.";
    STREAM_NEXT_OFFSET "Stream-Next-Offset" "stream-next-offset" Response "The offset to read from next, or the tail.";
    STREAM_UP_TO_DATE "Stream-Up-To-Date" "stream-up-to-date" Response "`true` when the reply reaches the tail.";
    STREAM_CLOSED "Stream-Closed" "stream-closed" Both "`true` seals the stream, or says that its end is reached.";
    STREAM_CURSOR "Stream-Cursor" "stream-cursor" Response "To be sent back as `cursor` on the next live read.";
    STREAM_SEQ "Stream-Seq" "stream-seq" Request "A writer's sequence; must grow in byte order, per stream.";
    STREAM_TTL "Stream-TTL" "stream-ttl" Both "Seconds without a read or write after which the stream expires.";
    STREAM_EXPIRES_AT "Stream-Expires-At" "stream-expires-at" Both "The time at which the stream expires.";
    STREAM_FORKED_FROM "Stream-Forked-From" "stream-forked-from" Request "The stream to fork.";
    STREAM_FORK_OFFSET "Stream-Fork-Offset" "stream-fork-offset" Request "Where the fork departs.";
    STREAM_FORK_SUB_OFFSET "Stream-Fork-Sub-Offset" "stream-fork-sub-offset" Request "A finer place of departure.";
    STREAM_SSE_DATA_ENCODING "Stream-SSE-Data-Encoding" "stream-sse-data-encoding" Response
        "`base64` when the data events of an event stream are encoded.";
    PRODUCER_ID "Producer-Id" "producer-id" Request "The name of an idempotent producer.";
    PRODUCER_EPOCH "Producer-Epoch" "producer-epoch" Both "The producer's run; a newer one fences older ones.";
    PRODUCER_SEQ "Producer-Seq" "producer-seq" Both "The number of the request in its run, from 0.";
    PRODUCER_EXPECTED_SEQ "Producer-Expected-Seq" "producer-expected-seq" Response "The number that was due.";
    PRODUCER_RECEIVED_SEQ "Producer-Received-Seq" "producer-received-seq" Response "The number that came instead.";
    KELDA_STREAM_ID "Kelda-Stream-Id" "kelda-stream-id" Response "The identity of this life of the name.";
    KELDA_IF_STREAM_ID "Kelda-If-Stream-Id" "kelda-if-stream-id" Request "Answers 412 when the identity is another.";
    KELDA_MATCH_OFFSET "Kelda-Match-Offset" "kelda-match-offset" Request "Append only if this is the tail, else 412.";
    KELDA_FIRST_OFFSET "Kelda-First-Offset" "kelda-first-offset" Response "The offset of the first record appended.";
    KELDA_TIMESTAMP "Kelda-Timestamp" "kelda-timestamp" Response "The time given to the appended records, in ms.";
    KELDA_DUPLICATE "Kelda-Duplicate" "kelda-duplicate" Response "`true` when the append had been done before.";
    KELDA_TRIM_BEFORE "Kelda-Trim-Before" "kelda-trim-before" Request "Records before this offset are given up.";
    KELDA_START_OFFSET "Kelda-Start-Offset" "kelda-start-offset" Response "The offset of the first record held.";
    KELDA_BYTES "Kelda-Bytes" "kelda-bytes" Response "Bytes of the records held.";
    KELDA_OLDEST "Kelda-Oldest" "kelda-oldest" Response "The time of the first record held.";
    KELDA_NEWEST "Kelda-Newest" "kelda-newest" Response "The time of the last record.";
    KELDA_CREATED "Kelda-Created" "kelda-created" Response "When the stream was created.";
    KELDA_END "Kelda-End" "kelda-end" Response "`true` when the end asked for, by `until` or `count`, is reached.";
    KELDA_KIND "Kelda-Kind" "kelda-kind" Response "`stream` or `queue`.";
    KELDA_EPOCH "Kelda-Epoch" "kelda-epoch" Response "How often the stream was opened, less one; absent before.";
    KELDA_OWNER "Kelda-Owner" "kelda-owner" Response "The node that has the stream open.";
    KELDA_MAX_AGE "Kelda-Max-Age" "kelda-max-age" Both "How long records are kept, such as `7d`.";
    KELDA_MAX_BYTES "Kelda-Max-Bytes" "kelda-max-bytes" Both "How many bytes are kept.";
    KELDA_SEGMENT_BYTES "Kelda-Segment-Bytes" "kelda-segment-bytes" Both "The unit in which records are given up.";
}

/// A name as documents spell it; the name itself when it is not in the list.
#[must_use]
pub fn title(name: &HeaderName) -> &str {
    FIELDS.iter().find(|field| field.name == name.as_str()).map_or(name.as_str(), |field| field.title)
}

/// The names that go in one direction, as a list for a header value.
#[must_use]
pub fn list(direction: Direction) -> String {
    let goes = |field: &&Field| field.direction == direction || field.direction == Direction::Both;
    FIELDS.iter().filter(goes).map(|field| field.title).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests;
