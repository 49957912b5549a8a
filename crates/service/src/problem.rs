//! The one table of problem codes: owns code, HTTP status and title of everything that can go wrong in a
//! request, whichever front end it came through.
//!
//! A code is a promise to scripts: it never changes its meaning and is never reused. HTTP shows it as
//! `urn:kelda:problem:<code>`, the command line as `code` in its JSON, AMQP in the text of its reply.

use kelda_format::{NameError, Offset, StreamId};

macro_rules! problems {
    ($($(#[doc = $doc:literal])+ $name:ident = $code:literal, $status:literal, $title:literal;)+) => {
        /// What went wrong, as a code that never changes its meaning.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Problem {
            $($(#[doc = $doc])+ $name,)+
        }

        impl Problem {
            /// Every problem, in the order of the documentation.
            pub const ALL: &'static [Problem] = &[$(Problem::$name,)+];

            /// The code: lower case words joined by `-`.
            #[must_use]
            pub fn code(self) -> &'static str {
                match self { $(Problem::$name => $code,)+ }
            }

            /// The HTTP status that goes with it.
            #[must_use]
            pub fn status(self) -> u16 {
                match self { $(Problem::$name => $status,)+ }
            }

            /// A short title, the same for every occurrence.
            #[must_use]
            pub fn title(self) -> &'static str {
                match self { $(Problem::$name => $title,)+ }
            }

            /// What it means and what to do about it, for the documentation.
            #[must_use]
            pub fn meaning(self) -> &'static str {
                match self { $(Problem::$name => concat!($($doc, "\n"),+).trim(),)+ }
            }
        }
    };
}

problems! {
    /// No stream has this name, or it expired. Create it, or check the spelling.
    NotFound = "not-found", 404, "Stream not found";
    /// The stream was deleted while it was in use, or while forks of it live.
    Gone = "gone", 410, "Stream is gone";
    /// The records at this offset were removed by trim or retention; `start_offset` is the earliest held.
    OffsetGone = "offset-gone", 410, "Offset is no longer held";
    /// The offset lies behind the tail; `next_offset` is the tail.
    OffsetPastTail = "offset-past-tail", 416, "Offset is past the tail";
    /// The name now belongs to another stream than the one asked for; `stream_id` is the current one.
    StreamIdMismatch = "stream-id-mismatch", 412, "Name belongs to another stream";
    /// The name breaks the rules for stream names.
    InvalidName = "invalid-name", 400, "Invalid stream name";
    /// Names whose first segment begins with `__` are reserved.
    ReservedName = "reserved-name", 400, "Reserved stream name";
    /// A stream of this name exists with another configuration; `differences` lists the fields.
    ConfigConflict = "config-conflict", 409, "Stream exists with another configuration";
    /// The name is held by a deleted stream whose forks still live.
    NameHeld = "name-held", 409, "Name is held by a deleted stream";
    /// The stream is sealed and takes no more records; `next_offset` is its end.
    Sealed = "sealed", 409, "Stream is sealed";
    /// The content type of the append is not the content type of the stream.
    ContentTypeMismatch = "content-type-mismatch", 409, "Content type does not match";
    /// The conditional append expected another tail; `next_offset` is the tail.
    MatchOffset = "match-offset", 412, "Tail is not the expected offset";
    /// `Stream-Seq` is not greater than the last one; `last_seq` is that one.
    StreamSeq = "stream-seq", 409, "Stream sequence is not greater than the last";
    /// A newer epoch of this producer has written; `producer_epoch` is the current one.
    StaleEpoch = "stale-epoch", 403, "Producer epoch is stale";
    /// A sequence of this producer is missing; `expected_seq` is the next one.
    SequenceGap = "sequence-gap", 409, "Producer sequence has a gap";
    /// A new epoch of a producer has to begin with sequence 0.
    ProducerStart = "producer-start", 400, "Producer epoch has to begin at sequence 0";
    /// Producer id, epoch or sequence is missing, malformed or out of range.
    InvalidProducer = "invalid-producer", 400, "Invalid producer";
    /// The body is not what JSON mode takes: one JSON value, or an array of values.
    InvalidJson = "invalid-json", 400, "Invalid JSON";
    /// An append needs a body unless it seals the stream.
    EmptyBody = "empty-body", 400, "Empty body";
    /// An append of an empty JSON array appends nothing.
    EmptyArray = "empty-array", 400, "Empty array";
    /// A record, a batch or a body is larger than the limit.
    TooLarge = "too-large", 413, "Too large";
    /// A batch has more records than the limit.
    TooManyRecords = "too-many-records", 413, "Too many records in one batch";
    /// A configuration value is out of range or contradicts another.
    InvalidConfig = "invalid-config", 400, "Invalid configuration";
    /// A query parameter has a value that it does not take.
    InvalidParameter = "invalid-parameter", 400, "Invalid parameter";
    /// A request header has a value that it does not take.
    InvalidHeader = "invalid-header", 400, "Invalid header";
    /// The offset is neither decimal digits nor one of the words that stand for one, or a live read has no start.
    InvalidOffset = "invalid-offset", 400, "Invalid offset";
    /// The body does not decode as the format that its content type names.
    InvalidBody = "invalid-body", 400, "Invalid body";
    /// An append needs a content type.
    MissingContentType = "missing-content-type", 400, "Missing content type";
    /// The request is not well-formed, its body ended early, or a PATCH asks for nothing.
    BadRequest = "bad-request", 400, "Bad request";
    /// Credentials are missing or wrong. Not used yet.
    Unauthorized = "unauthorized", 401, "Unauthorized";
    /// The caller may not do this with this name. Not used yet.
    Forbidden = "forbidden", 403, "Forbidden";
    /// The path exists but does not take this method.
    MethodNotAllowed = "method-not-allowed", 405, "Method not allowed";
    /// None of the accepted types can be given. Not used.
    NotAcceptable = "not-acceptable", 406, "Not acceptable";
    /// The body of the request stopped coming.
    RequestTimeout = "request-timeout", 408, "Request timed out";
    /// The request line is longer than the limit. Not used: HTTP/1.1 answers 431 then.
    UriTooLong = "uri-too-long", 414, "Request target too long";
    /// The request headers are longer than the limit. Seldom met: most are refused before they are read.
    HeadersTooLarge = "headers-too-large", 431, "Request headers too large";
    /// A bound of the node is met and nothing was done; send it again after a moment.
    Overloaded = "overloaded", 503, "Overloaded";
    /// The disk is full: appends are refused until space returns, reads go on.
    DiskFull = "disk-full", 507, "Disk is full";
    /// The node cannot do this now (starting, recovering, stopping or cut off); nothing was done.
    Unavailable = "unavailable", 503, "Unavailable";
    /// Another node owns the stream; `owner` is its address.
    OwnedElsewhere = "owned-elsewhere", 503, "Owned by another node";
    /// The request may or may not have taken effect. Repeat it with a producer to be sure.
    OutcomeUnknown = "outcome-unknown", 500, "Outcome is unknown";
    /// Stored bytes failed their checks; the node refuses to guess.
    Damaged = "damaged", 500, "Stored data is damaged";
    /// This version does not do this yet.
    NotImplemented = "not-implemented", 501, "Not implemented";
    /// A bug: please report it with the node's log.
    Internal = "internal", 500, "Internal error";
}

impl Problem {
    /// Whether the same request may succeed when it is simply sent again: nothing was done.
    #[must_use]
    pub fn is_transient(self) -> bool {
        matches!(
            self,
            Problem::Overloaded | Problem::DiskFull | Problem::Unavailable | Problem::OwnedElsewhere
        )
    }
}

/// A fact that goes with a problem, beside its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fact {
    /// An offset; HTTP writes it as 20 digits.
    Offset(Offset),
    /// The id of a stream.
    Stream(StreamId),
    /// A number at most 2^53-1.
    Number(u64),
    /// Text.
    Text(String),
    /// Fields of a configuration that differ.
    Differences(Vec<crate::Difference>),
}

/// A named fact of a problem, such as `next_offset`.
pub type Field = (&'static str, Fact);

/// An error of an operation as the front ends show it. `Display` is the detail.
pub trait Fault: std::error::Error {
    /// The row of the table.
    fn problem(&self) -> Problem;

    /// Facts beside the text, for programs; names are `snake_case` and part of the interface.
    fn fields(&self) -> Vec<Field> {
        Vec::new()
    }

    /// The code, for texts and logs.
    fn code(&self) -> &'static str {
        self.problem().code()
    }
}

impl Fault for NameError {
    fn problem(&self) -> Problem {
        Problem::InvalidName
    }
}

#[cfg(test)]
mod tests;
