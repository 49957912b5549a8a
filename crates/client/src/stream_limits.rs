//! What a stream keeps and for how long: owns the limits as a caller gives them and their spelling on the wire,
//! guarantees that nothing is stamped that was not asked for and that what cannot be said exactly is refused. Never
//! sends anything.

use std::time::{Duration, SystemTime};

use crate::error::Error;
use crate::start;

/// The names of the arguments under which the limits travel in AMQP, for [`Topology`](crate::Topology).
#[derive(Clone, Copy, Debug)]
pub struct StreamArguments;

impl StreamArguments {
    /// How long records are kept: a duration such as `7D`, spelled as [`max_age_spelling`] does.
    pub const MAX_AGE: &'static str = "x-max-age";
    /// How many bytes are kept: digits.
    pub const MAX_LENGTH_BYTES: &'static str = "x-max-length-bytes";
    /// The bytes of the unit in which records are given up: digits.
    pub const SEGMENT_BYTES: &'static str = "x-stream-max-segment-size-bytes";
}

/// The units of a maximal age, largest first, with their seconds. Months and years have no exact length.
const UNITS: [(char, u64); 4] = [('D', 86_400), ('h', 3_600), ('m', 60), ('s', 1)];

/// The longest maximal age: 36,500 days.
const MAX_AGE_SECONDS: u64 = 36_500 * 86_400;

/// A maximal age in the largest unit that holds it exactly: `1h`, `90m`, `7D`, and seconds only when nothing larger
/// fits. Every client has to spell it alike, because AMQP compares it as text.
///
/// ```
/// use std::time::Duration;
/// use kelda_client::{days, hours, max_age_spelling};
/// assert_eq!(max_age_spelling(days(7))?, "7D");
/// assert_eq!(max_age_spelling(hours(25))?, "25h");
/// assert_eq!(max_age_spelling(Duration::from_secs(5_400))?, "90m");
/// assert!(max_age_spelling(Duration::from_millis(1_500)).is_err());
/// # Ok::<(), kelda_client::Error>(())
/// ```
///
/// # Errors
/// [`Error::Invalid`] for zero, for what is no whole number of seconds, and for more than 36,500 days.
pub fn max_age_spelling(age: Duration) -> Result<String, Error> {
    let seconds = age.as_secs();
    if seconds == 0 || age.subsec_nanos() != 0 || seconds > MAX_AGE_SECONDS {
        return Err(Error::Invalid {
            what: "max_age",
            value: format!("{age:?}"),
            expected: "whole seconds, from 1 s to 36500 days",
        });
    }
    let exact = UNITS.into_iter().find(|(_, factor)| seconds.is_multiple_of(*factor));
    let (unit, factor) = exact.unwrap_or(('s', 1));
    Ok(format!("{}{unit}", seconds / factor))
}

/// `count` days, for [`StreamLimits::max_age`].
#[must_use]
pub const fn days(count: u64) -> Duration {
    Duration::from_secs(count.saturating_mul(86_400))
}

/// `count` hours.
#[must_use]
pub const fn hours(count: u64) -> Duration {
    Duration::from_secs(count.saturating_mul(3_600))
}

/// What a stream is declared with. All of it may be absent, and what is absent is not sent: the server's own default
/// holds, and a stream that exists already is not compared in it.
///
/// ```
/// use kelda_client::{StreamLimits, days};
/// let limits = StreamLimits::new().max_age(days(7)).max_bytes(10_000_000_000).content_type("application/json");
/// assert!(!limits.is_unlimited());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StreamLimits {
    max_age: Option<Age>,
    max_bytes: Option<u64>,
    segment_bytes: Option<u64>,
    content_type: Option<String>,
    ttl: Option<Duration>,
    expires_at: Option<SystemTime>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Age {
    Exact(Duration),
    Raw(String),
}

impl StreamLimits {
    /// No limit: a stream that grows until the disk is full. Declaring it logs a warning.
    #[must_use]
    pub fn new() -> StreamLimits {
        StreamLimits::default()
    }

    /// How long records are kept: whole seconds, more than none, at most 36,500 days. What is not is refused when the
    /// stream is declared.
    #[must_use]
    pub fn max_age(self, age: Duration) -> StreamLimits {
        StreamLimits { max_age: Some(Age::Exact(age)), ..self }
    }

    /// A maximal age in exactly this spelling, such as `3600s`, for a stream that was declared with it long ago: AMQP
    /// compares it as text. HTTP compares what it means.
    #[must_use]
    pub fn max_age_raw(self, text: impl Into<String>) -> StreamLimits {
        StreamLimits { max_age: Some(Age::Raw(text.into())), ..self }
    }

    /// How many bytes are kept, at least 1. Records go a whole segment at a time, so there may be a segment more.
    #[must_use]
    pub fn max_bytes(self, bytes: u64) -> StreamLimits {
        StreamLimits { max_bytes: Some(bytes), ..self }
    }

    /// The bytes of a segment, at least 1: the unit in which records are given up. There is no default here on purpose;
    /// the server has one.
    #[must_use]
    pub fn segment_bytes(self, bytes: u64) -> StreamLimits {
        StreamLimits { segment_bytes: Some(bytes), ..self }
    }

    /// The MIME type of the records. A new stream without one holds `application/octet-stream`.
    #[must_use]
    pub fn content_type(self, content_type: impl Into<String>) -> StreamLimits {
        StreamLimits { content_type: Some(content_type.into()), ..self }
    }

    /// Removes the whole stream after so long without use: whole seconds.
    #[must_use]
    pub fn ttl(self, ttl: Duration) -> StreamLimits {
        StreamLimits { ttl: Some(ttl), ..self }
    }

    /// Removes the whole stream at this time, in milliseconds; there is this or a time to live, not both.
    #[must_use]
    pub fn expires_at(self, time: SystemTime) -> StreamLimits {
        StreamLimits { expires_at: Some(time), ..self }
    }

    /// Whether neither age nor size is bounded.
    #[must_use]
    pub fn is_unlimited(&self) -> bool {
        self.max_age.is_none() && self.max_bytes.is_none()
    }

    /// The content type that was set.
    pub(crate) fn content_type_set(&self) -> Option<&str> {
        self.content_type.as_deref()
    }

    /// The bounds in bytes: of the stream, and of a segment.
    #[cfg(feature = "amqp")]
    pub(crate) fn byte_limits(&self) -> (Option<u64>, Option<u64>) {
        (self.max_bytes, self.segment_bytes)
    }

    /// What of this AMQP has no argument for, as [`Error::Unsupported`] says it.
    #[cfg(feature = "amqp")]
    pub(crate) fn beyond_amqp(&self) -> Option<&'static str> {
        let set = [
            (self.content_type.is_some(), "give a stream a content type"),
            (self.ttl.is_some(), "give a stream a time to live"),
            (self.expires_at.is_some(), "give a stream a time of expiry"),
        ];
        set.into_iter().find(|(set, _)| *set).map(|(_, what)| what)
    }

    /// The maximal age as AMQP takes it.
    ///
    /// # Errors
    /// [`Error::Invalid`] when it has no exact spelling.
    pub fn max_age_text(&self) -> Result<Option<String>, Error> {
        match &self.max_age {
            None => Ok(None),
            Some(Age::Exact(age)) => max_age_spelling(*age).map(Some),
            Some(Age::Raw(text)) => Ok(Some(text.clone())),
        }
    }

    /// The headers of a PUT.
    pub(crate) fn headers(&self) -> Result<Vec<(&'static str, String)>, Error> {
        // The grammar of HTTP differs in this letter only.
        let age = self.max_age_text()?.map(|text| text.replace('D', "d"));
        let bytes = |what, value: Option<u64>| match value {
            Some(0) => Err(Error::Invalid { what, value: "0".to_owned(), expected: "at least 1" }),
            other => Ok(other.map(|bytes| bytes.to_string())),
        };
        let ttl = match self.ttl {
            Some(ttl) if ttl.is_zero() || ttl.subsec_nanos() != 0 => {
                let value = format!("{ttl:?}");
                return Err(Error::Invalid { what: "ttl", value, expected: "whole seconds, at least 1 s" });
            }
            other => other.map(|ttl| ttl.as_secs().to_string()),
        };
        let headers = [
            ("content-type", self.content_type.clone()),
            ("stream-ttl", ttl),
            ("stream-expires-at", self.expires_at.map(start::rfc3339_of)),
            ("kelda-max-age", age),
            ("kelda-max-bytes", bytes("max_bytes", self.max_bytes)?),
            ("kelda-segment-bytes", bytes("segment_bytes", self.segment_bytes)?),
        ];
        Ok(headers.into_iter().filter_map(|(header, value)| Some((header, value?))).collect())
    }

    /// Sets one of the [`StreamArguments`].
    pub(crate) fn argument(self, name: &str, value: &str) -> Result<StreamLimits, Error> {
        let number = |what: &'static str| {
            let expected = "a number of bytes";
            value.parse::<u64>().map_err(|_| Error::Invalid { what, value: value.to_owned(), expected })
        };
        match name {
            StreamArguments::MAX_AGE => Ok(self.max_age_raw(value)),
            StreamArguments::MAX_LENGTH_BYTES => {
                Ok(self.max_bytes(number(StreamArguments::MAX_LENGTH_BYTES)?))
            }
            StreamArguments::SEGMENT_BYTES => Ok(self.segment_bytes(number(StreamArguments::SEGMENT_BYTES)?)),
            other => Err(Error::Invalid {
                what: "argument",
                value: other.to_owned(),
                expected: "x-max-age, x-max-length-bytes or x-stream-max-segment-size-bytes",
            }),
        }
    }
}

#[cfg(test)]
mod tests;
