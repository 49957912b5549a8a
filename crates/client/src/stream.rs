//! The verbs on one stream: owns how each becomes a request, guarantees that names are escaped, never keeps
//! state between calls.

use bytes::Bytes;
use hyper::Method;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::{Deserialize, Serialize};

use crate::connect::Kelda;
use crate::error::Error;
use crate::http::Answer;
#[cfg(feature = "amqp")]
use crate::transport::Transport;

/// What stays as it is in a path segment (RFC 3986, unreserved).
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A limit as it is to be from now on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bound<T> {
    /// There is none.
    None,
    /// This one.
    At(T),
}

/// Which limits to change; what is absent stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Age bound, a duration such as `7d`.
    pub max_age: Option<Bound<String>>,
    /// Size bound, in bytes.
    pub max_bytes: Option<Bound<u64>>,
    /// Segment size, in bytes.
    pub segment_bytes: Option<Bound<u64>>,
}

/// What HEAD, PUT and PATCH say of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StreamHead {
    /// The stream's name.
    pub name: String,
    /// The id of this life of the name.
    pub stream_id: String,
    /// MIME type of the records; empty when the answer does not name it (PATCH).
    pub content_type: String,
    /// The offset after the last record.
    pub next_offset: u64,
    /// Whether the stream takes no more records.
    pub sealed: bool,
    /// Whether this request made it; only a declaration can. One that was repeated because its answer was lost says no.
    pub created: bool,
    /// Every `Kelda-` and `Stream-` header as it came, lower-case names.
    pub headers: std::collections::BTreeMap<String, String>,
}

/// One page of a listing.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Listing {
    /// The streams, in byte order of their names.
    pub streams: Vec<serde_json::Value>,
    /// Where the next page starts (`start_after`), absent on the last.
    #[serde(default)]
    pub next: Option<String>,
}

impl Kelda {
    /// What the stream is and how far it goes.
    ///
    /// # Errors
    /// A problem with status 404 when there is no such stream.
    pub async fn head(&self, name: &str) -> Result<StreamHead, Error> {
        let answer = self
            .transport
            .http("look at a stream's head")?
            .call(Method::HEAD, &path(name), &[], Bytes::new())
            .await?;
        head(name, &answer)
    }

    /// One page of the streams whose names begin with `prefix`.
    ///
    /// # Errors
    /// Any [`Error`].
    pub async fn list(&self, prefix: &str, start_after: Option<&str>) -> Result<Listing, Error> {
        let mut target = format!("/?prefix={}", utf8_percent_encode(prefix, SEGMENT));
        if let Some(after) = start_after {
            target.push_str(&format!("&start_after={}", utf8_percent_encode(after, SEGMENT)));
        }
        let body = self
            .transport
            .http("list streams")?
            .call(Method::GET, &target, &[], Bytes::new())
            .await?
            .bytes()
            .await?;
        let wrong = |error: serde_json::Error| {
            Error::Protocol(format!("{} sent no list of streams: {error}", self.transport.endpoint()))
        };
        serde_json::from_slice(&body).map_err(wrong)
    }

    /// Deletes the stream; its name is free at once.
    ///
    /// # Errors
    /// A problem with status 404 when there is no such stream; [`Error::Protocol`] when a server that is no Kelda says yes.
    pub async fn delete(&self, name: &str) -> Result<(), Error> {
        #[cfg(feature = "amqp")]
        if let Transport::Amqp(amqp) = &self.transport {
            return amqp.delete(name).await;
        }
        let answer = self
            .transport
            .http("delete a stream")?
            .send(Method::DELETE, &path(name), &[], Bytes::new())
            .await?;
        // Some other server may answer anything with success.
        answer.required("kelda-stream-id").map(drop)
    }

    /// Gives up the records before `offset`; with `stream_id` only if the name still stands for that stream.
    ///
    /// # Errors
    /// A problem `offset-past-tail` when there are not that many records, 404 when there is no such stream.
    pub async fn trim(&self, name: &str, offset: u64, stream_id: Option<&str>) -> Result<StreamHead, Error> {
        let mut headers = vec![("kelda-trim-before", offset.to_string())];
        headers.extend(stream_id.map(|id| ("kelda-if-stream-id", id.to_owned())));
        head(
            name,
            &self
                .transport
                .http("trim a stream")?
                .call(Method::PATCH, &path(name), &headers, Bytes::new())
                .await?,
        )
    }

    /// Changes the limits of a stream.
    ///
    /// # Errors
    /// A problem `invalid-config` for a value out of range, `bad-request` when nothing is to change, 404 when there
    /// is no such stream.
    pub async fn set(&self, name: &str, limits: &Limits) -> Result<StreamHead, Error> {
        fn said<T: ToString>(bound: &Bound<T>) -> String {
            match bound {
                Bound::None => "none".to_owned(),
                Bound::At(value) => value.to_string(),
            }
        }
        let headers = [
            ("kelda-max-age", limits.max_age.as_ref().map(said)),
            ("kelda-max-bytes", limits.max_bytes.as_ref().map(said)),
            ("kelda-segment-bytes", limits.segment_bytes.as_ref().map(said)),
        ];
        let headers: Vec<_> =
            headers.into_iter().filter_map(|(header, value)| Some((header, value?))).collect();
        head(
            name,
            &self
                .transport
                .http("change the limits of a stream")?
                .call(Method::PATCH, &path(name), &headers, Bytes::new())
                .await?,
        )
    }

    /// Seals the stream: it takes no more records. Repeating it is no error. Returns the final offset.
    ///
    /// # Errors
    /// A problem with status 404 when there is no such stream.
    pub async fn seal(&self, name: &str) -> Result<u64, Error> {
        let headers = [("stream-closed", "true".to_owned())];
        let answer = self
            .transport
            .http("seal a stream")?
            .call(Method::POST, &path(name), &headers, Bytes::new())
            .await?;
        answer.number("stream-next-offset")
    }
}

/// The path of a stream: each segment escaped, the slashes kept.
///
/// ```
/// assert_eq!(kelda_client::path("eu/orders placed"), "/eu/orders%20placed");
/// ```
#[must_use]
pub fn path(name: &str) -> String {
    let mut path = String::with_capacity(name.len() + 1);
    for segment in name.split('/') {
        path.push('/');
        path.extend(utf8_percent_encode(segment, SEGMENT));
    }
    path
}

pub(crate) fn head(name: &str, answer: &Answer) -> Result<StreamHead, Error> {
    let headers = answer.headers.iter().filter(|(name, _)| {
        let name = name.as_str();
        name.starts_with("kelda-") || name.starts_with("stream-")
    });
    Ok(StreamHead {
        name: name.to_owned(),
        stream_id: answer.header("kelda-stream-id").unwrap_or_default().to_owned(),
        content_type: answer.header("content-type").unwrap_or_default().to_owned(),
        next_offset: answer.number("stream-next-offset")?,
        sealed: answer.header("stream-closed") == Some("true"),
        created: answer.header("location").is_some(),
        headers: headers
            .map(|(name, value)| {
                (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())
            })
            .collect(),
    })
}
