//! The bodies of requests.
//!
//! Owns the spooling of a body into memory. Guarantees that the bodies of all requests together stay within the node's
//! budget, that each stays within its limit, and that a sender which makes no progress is cut. Copies a body once, out of
//! the connection's buffer: what is kept of it later keeps nothing else alive.

use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, header};
use bytes::{Bytes, BytesMut};
use futures::FutureExt;
use http_body_util::BodyExt;
use kelda_format::batch::Batch;
use kelda_format::limits::{LimitError, MAX_BATCH_BYTES};
use kelda_format::records::{self, MAX_FRAME_BYTES, RecordsError};
use kelda_service::{Content, ContentError, Fact, Problem};

use super::app::App;
use super::budget::Hold;
use super::form::Form;
use super::json::{self, DecodeFault};
use super::refusal::Refusal;
use super::request as sent;

/// How long a sender may send nothing.
const PROGRESS_LIMIT: Duration = Duration::from_secs(30);
/// How long a body waits for room in the budget.
const ROOM_LIMIT: Duration = Duration::from_secs(10);
/// The budget is asked in steps of at least this size.
const STEP: u64 = 16 << 10;
/// A body that comes in pieces gets at most this much memory before the pieces are there.
const AHEAD_BYTES: u64 = 1 << 20;
/// From this size on a body is decoded where it holds up no other request.
const ASIDE_BYTES: usize = 256 << 10;

/// A body in memory, and the room it takes.
pub struct Spooled {
    /// The bytes.
    pub bytes: Bytes,
    _hold: Option<Hold>,
}

/// Most bytes of a body in this form.
#[must_use]
pub fn limit(form: Form) -> u64 {
    let limit = if form == Form::Plain { MAX_BATCH_BYTES } else { MAX_FRAME_BYTES };
    limit as u64
}

/// Takes a whole body.
///
/// # Errors
/// It is encoded or larger than `limit`, its sender is too slow or went away, or there is no room for it.
pub async fn spool(app: &App, headers: &HeaderMap, mut body: Body, limit: u64) -> Result<Spooled, Refusal> {
    if sent::one(headers, &header::CONTENT_ENCODING)?.is_some_and(|it| !it.eq_ignore_ascii_case("identity")) {
        let detail = "bodies are taken as they are: send it without an encoding";
        return Err(Refusal::header(&header::CONTENT_ENCODING, detail));
    }
    let declared =
        headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    if declared.is_some_and(|bytes| bytes > limit) {
        return Err(too_large(declared.unwrap_or_default(), limit));
    }
    let mut room = Room { app, hold: None, bytes: 0 };
    let Some(first) = frame(app, &mut body).await? else {
        return Ok(Spooled { bytes: Bytes::new(), _hold: None });
    };
    room.take(first.len() as u64, limit).await?;
    let Some(second) = frame(app, &mut body).await? else {
        return Ok(Spooled { bytes: Bytes::copy_from_slice(&first), _hold: room.hold });
    };
    let ahead = usize::try_from(declared.unwrap_or(0).min(AHEAD_BYTES)).unwrap_or(0);
    let mut whole = BytesMut::with_capacity(ahead.max(first.len() + second.len()));
    whole.extend_from_slice(&first);
    drop(first);
    let mut next = Some(second);
    while let Some(bytes) = next {
        room.take((whole.len() + bytes.len()) as u64, limit).await?;
        whole.extend_from_slice(&bytes);
        drop(bytes);
        next = frame(app, &mut body).await?;
    }
    Ok(Spooled { bytes: whole.freeze(), _hold: room.hold })
}

/// The next piece of a body that is not empty; nothing at its end.
async fn frame(app: &App, body: &mut Body) -> Result<Option<Bytes>, Refusal> {
    loop {
        // Most frames are there already, and need no timer.
        let next = match body.frame().now_or_never() {
            Some(next) => next,
            None => app.env.timeout(PROGRESS_LIMIT, body.frame()).await.map_err(|_| {
                let detail = format!("no byte of the body came for {} s", PROGRESS_LIMIT.as_secs());
                Refusal::new(Problem::RequestTimeout, detail)
            })?,
        };
        match next {
            None => return Ok(None),
            Some(Err(error)) => {
                return Err(Refusal::new(Problem::BadRequest, format!("the body ended early: {error}")));
            }
            Some(Ok(frame)) => match frame.into_data() {
                Ok(bytes) if !bytes.is_empty() => return Ok(Some(bytes)),
                // Nothing, or trailers, which say nothing here.
                _ => {}
            },
        }
    }
}

/// The room that a body takes, growing with it.
struct Room<'a> {
    app: &'a App,
    hold: Option<Hold>,
    bytes: u64,
}

impl Room<'_> {
    /// Makes room for `bytes` in all.
    async fn take(&mut self, bytes: u64, limit: u64) -> Result<(), Refusal> {
        if bytes > limit {
            return Err(too_large(bytes, limit));
        }
        if bytes <= self.bytes {
            return Ok(());
        }
        let more = (bytes - self.bytes).max(if self.bytes == 0 { 0 } else { STEP });
        let budget = &self.app.request_bytes;
        let Some(hold) = budget.hold(&self.app.env, more, ROOM_LIMIT).await else {
            let detail = format!("request bodies take {} bytes, which is the most", budget.total());
            return Err(Refusal::new(Problem::Overloaded, detail));
        };
        self.bytes += more;
        match &mut self.hold {
            Some(held) => held.join(hold),
            None => self.hold = Some(hold),
        }
        Ok(())
    }
}

fn too_large(bytes: u64, limit: u64) -> Refusal {
    Refusal::new(Problem::TooLarge, format!("the body has {bytes} bytes, at most {limit} allowed"))
        .with("limit", Fact::Number(limit))
}

/// What a body in this form says to append. An empty body is no record in any form.
///
/// # Errors
/// The body is not in the form, or beyond a limit.
pub async fn content(app: &App, bytes: &Bytes, form: Form) -> Result<Content, Refusal> {
    if bytes.is_empty() {
        return Ok(Content::Empty);
    }
    if form == Form::Plain {
        return Ok(Content::Body(bytes.clone()));
    }
    let body = bytes.clone();
    let decoded = if bytes.len() < ASIDE_BYTES {
        decode(&body, form)
    } else {
        let aside = app.env.blocking("decode-records", move || decode(&body, form)).await;
        aside.map_err(|end| Refusal::new(Problem::Internal, end.to_string()))?
    };
    decoded.map(Content::Records)
}

fn decode(bytes: &Bytes, form: Form) -> Result<Batch, Refusal> {
    let malformed = |detail: String| Refusal::new(Problem::InvalidBody, detail);
    match form {
        Form::Binary => records::decode_write(bytes).map_err(|error| match error {
            RecordsError::Malformed(error) => malformed(error.to_string()),
            RecordsError::Limit(limit) => beyond(limit),
        }),
        Form::Json | Form::Plain => json::decode(bytes).map_err(|fault| match fault {
            DecodeFault::Malformed(detail) => malformed(detail),
            DecodeFault::Limit(limit) => beyond(limit),
        }),
    }
}

fn beyond(limit: LimitError) -> Refusal {
    ContentError::Limit(limit).into()
}
