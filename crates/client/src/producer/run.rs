//! What a producer does in the background: owns the loop that sends batches and tells their results, guarantees that it
//! ends only when all that was taken is told. Never changes a batch once it is closed.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use hyper::Method;
use kelda_format::limits::MAX_INTEGER;
use kelda_format::records::CONTENT_TYPE;

use super::claim::number;
use super::window::{Number, Send, Window};
use super::{Buffer, Closed, Tell, Verdict};
use crate::append::{self, Appended};
use crate::backoff::Backoff;
use crate::diagnostic::{Diagnostic, Sender};
use crate::error::Error;
use crate::http::Http;
use crate::meters::ProducerMeters;
use crate::retry::RetryPolicy;
use crate::stream::path;
use crate::timer::{self, Stopwatch};

/// One batch as it is sent, and sent again.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) sequence: u64,
    pub(crate) body: Bytes,
    pub(crate) expected: Option<u64>,
    /// Whether it is the first of its run and was not stored by an earlier try, so that it cannot be a repetition.
    #[cfg_attr(not(feature = "amqp"), expect(dead_code, reason = "HTTP tells a repetition"))]
    pub(crate) is_new: bool,
    /// Counts the records at the front that are stored, where a batch may be stored in part.
    #[cfg_attr(not(feature = "amqp"), expect(dead_code, reason = "over HTTP it is stored as a whole"))]
    pub(crate) stored: Arc<AtomicU32>,
}

/// A transport, as a producer sees it.
pub(crate) trait Append: std::marker::Send + Sync + 'static {
    /// Sends a batch in one try.
    fn append(&self, request: Request) -> BoxFuture<'static, Verdict>;

    /// Takes a new epoch, which it gives; nothing when that could come into the way of another run.
    fn renew(&mut self) -> Option<u64>;

    /// Under which id repetitions are told from what is new, if they are.
    fn id(&self) -> Option<&str>;

    /// Whether another run may have used the id and the epoch: the first batch shows it, and nothing may be stored behind it
    /// when it was so.
    fn may_be_in_use(&self) -> bool;
}

/// Batches over HTTP.
pub(super) struct HttpAppend {
    http: Http,
    target: String,
    stream: String,
    stream_id: String,
    identity: Identity,
}

/// Under which id and epoch a producer writes.
#[derive(Clone, Debug)]
pub(crate) struct Identity {
    pub(crate) id: Option<String>,
    /// Whether no other run can have the id.
    pub(crate) own: bool,
    /// Shared with the handle of the producer.
    pub(crate) epoch: Arc<AtomicU64>,
}

impl Identity {
    /// Nothing tells repetitions.
    pub(crate) fn none() -> Identity {
        Identity { id: None, own: false, epoch: Arc::default() }
    }

    /// Whether another run may have used both.
    pub(crate) fn may_be_in_use(&self) -> bool {
        self.id.is_some() && !self.own
    }

    /// Takes the next epoch, if no other run can be in its way.
    pub(crate) fn renew(&self) -> Option<u64> {
        let next = self.epoch.load(Ordering::Relaxed) + 1;
        (self.own && next <= MAX_INTEGER).then(|| {
            self.epoch.store(next, Ordering::Relaxed);
            next
        })
    }
}

impl HttpAppend {
    pub(super) fn new(http: &Http, stream: &str, stream_id: String, identity: Identity) -> HttpAppend {
        HttpAppend {
            http: http.clone(),
            target: path(stream),
            stream: stream.to_owned(),
            stream_id,
            identity,
        }
    }
}

/// The problems that have a kind of their own.
pub(crate) fn typed(stream: &str, stream_id: &str, id: &str, epoch: u64, error: Error) -> Error {
    let Error::Problem(problem) = &error else { return error };
    match problem.code() {
        "stale-epoch" => {
            let current = number(problem, "producer_epoch").unwrap_or(epoch);
            Error::Fenced { producer: id.to_owned(), epoch, current }
        }
        "epoch-in-use" => in_use(),
        "stream-id-mismatch" => {
            let found = problem.fields.get("stream_id").and_then(|id| id.as_str()).unwrap_or("unknown");
            let expected = kelda_format::StreamId(stream_id.parse().unwrap_or_default());
            Error::StreamChanged { stream: stream.to_owned(), expected, found: found.to_owned() }
        }
        _ => error,
    }
}

impl Append for HttpAppend {
    fn append(&self, request: Request) -> BoxFuture<'static, Verdict> {
        let mut headers =
            vec![("content-type", CONTENT_TYPE.to_owned()), ("kelda-if-stream-id", self.stream_id.clone())];
        let epoch = self.identity.epoch.load(Ordering::Relaxed);
        if let Some(id) = &self.identity.id {
            headers.push(("producer-id", id.clone()));
            headers.push(("producer-epoch", epoch.to_string()));
            headers.push(("producer-seq", request.sequence.to_string()));
        }
        headers.extend(request.expected.map(|offset| ("kelda-match-offset", offset.to_string())));
        let (http, target) = (self.http.clone(), self.target.clone());
        let (stream, stream_id) = (self.stream.clone(), self.stream_id.clone());
        let id = self.identity.id.clone().unwrap_or_default();
        Box::pin(async move {
            let answer = http.send(Method::POST, &target, &headers, request.body).await;
            let appended = answer.and_then(|answer| append::appended(&answer));
            appended.map_err(|error| typed(&stream, &stream_id, &id, epoch, error))
        })
    }

    fn renew(&mut self) -> Option<u64> {
        self.identity.renew()
    }

    fn id(&self) -> Option<&str> {
        self.identity.id.as_deref()
    }

    fn may_be_in_use(&self) -> bool {
        self.identity.may_be_in_use()
    }
}

/// A batch under way.
struct UnderWay {
    body: Bytes,
    records: u32,
    bytes: usize,
    expected: Option<u64>,
    /// Whether a try of it may have been stored although no answer says so.
    unsure: bool,
    tell: Tell,
}

/// The loop.
pub(super) struct Sending {
    buffer: Arc<Buffer>,
    transport: Box<dyn Append>,
    linger: Duration,
    window: Window<Verdict>,
    under_way: BTreeMap<Number, UnderWay>,
    backoff: Backoff,
    diagnostics: Sender,
    meters: ProducerMeters,
}

/// What came of one try.
struct Tried {
    send: Send,
    verdict: Verdict,
    took: Duration,
    /// Whether it was the oldest batch by itself, after a failure.
    alone: bool,
}

/// What the loop waited for.
enum Event {
    Answer(Tried),
    Work,
    Linger,
    Pause,
}

/// What is left after what could be taken was.
struct Taken {
    /// Whether a batch is being filled.
    filling: bool,
    /// Whether it can go when its time is over.
    lingers: bool,
    /// Whether no further record comes.
    closing: bool,
}

impl Sending {
    pub(super) fn new(
        buffer: Arc<Buffer>,
        transport: Box<dyn Append>,
        window: usize,
        linger: Duration,
        reconnect: RetryPolicy,
        diagnostics: Sender,
        meters: ProducerMeters,
    ) -> Sending {
        let (window, backoff) = (Window::new(window), Backoff::of(reconnect));
        let window = if transport.may_be_in_use() { window.proving() } else { window };
        let under_way = BTreeMap::new();
        Sending { buffer, transport, linger, window, under_way, backoff, diagnostics, meters }
    }

    /// Sends until the producer is closed and all is told, or it cannot go on.
    pub(super) async fn run(mut self) {
        let mut out = FuturesUnordered::new();
        let mut since: Option<Stopwatch> = None;
        let mut pause: Option<Duration> = None;
        loop {
            let lingered = since.is_some_and(|since| since.elapsed() >= self.linger);
            let Taken { filling, lingers, closing } = self.take(lingered);
            since = if filling { since.or_else(|| Some(Stopwatch::start())) } else { None };
            if pause.is_none() {
                while let Some(send) = self.window.send() {
                    out.push(self.sending(send));
                }
            }
            if closing && self.window.is_empty() {
                break;
            }
            // With no room for what is being filled there is nothing to do when its time is over: an answer makes room.
            let lingering = since.filter(|_| lingers);
            let linger = lingering.map(|since| self.linger.saturating_sub(since.elapsed()));
            let event = tokio::select! {
                Some(tried) = out.next() => Event::Answer(tried),
                () = self.buffer.work.notified() => Event::Work,
                () = wait(linger) => Event::Linger,
                () = wait(pause) => Event::Pause,
            };
            match event {
                Event::Answer(tried) => match self.answered(tried) {
                    Ok(further) => pause = further.or(pause.filter(|_| self.window.is_recovering())),
                    Err(error) => return self.end(&error),
                },
                Event::Pause => pause = None,
                Event::Work | Event::Linger => {}
            }
        }
        self.buffer.ended.send_replace(true);
    }

    /// Takes closed batches into the window, and the one being filled when it has waited long enough.
    fn take(&mut self, lingered: bool) -> Taken {
        let mut state = self.buffer.state.lock();
        if state.closed.is_empty() && (lingered || state.flush || state.closing || self.window.is_empty()) {
            // With no room for it, it is filled on.
            if self.window.takes(false) {
                state.close_open();
            }
        }
        while let Some(closed) = state.closed.front()
            && self.window.takes(closed.expected.is_some())
        {
            let Some(Closed { batch, bytes, expected, tell }) = state.closed.pop_front() else { break };
            let number = self.window.push(expected.is_some());
            let (body, records) = (append::encode(&batch), batch.count());
            self.under_way.insert(number, UnderWay { body, records, bytes, expected, unsure: false, tell });
        }
        self.meters.unacknowledged(state.bytes);
        let (filling, waiting) = (state.open.is_some(), !state.closed.is_empty());
        let lingers = filling && !waiting && self.window.takes(false);
        Taken { filling, lingers, closing: state.closing && !filling && !waiting }
    }

    fn sending(&self, send: Send) -> BoxFuture<'static, Tried> {
        let alone = self.window.is_recovering();
        let under_way = self.under_way.get(&send.number);
        if let Some(batch) = under_way {
            self.meters.sent(batch.records, batch.body.len(), send.tries > 0);
        }
        let request = under_way.map(|batch| Request {
            sequence: send.sequence,
            body: batch.body.clone(),
            expected: batch.expected,
            is_new: send.sequence == 0 && !batch.unsure,
            stored: Arc::clone(&batch.tell.stored),
        });
        let answer = request.map(|request| self.transport.append(request));
        Box::pin(async move {
            let began = Stopwatch::start();
            let verdict = match answer {
                Some(answer) => answer.await,
                None => Err(Error::Ended("the producer".to_owned())),
            };
            Tried { send, verdict, took: began.elapsed(), alone }
        })
    }

    /// Deals with an answer: the pause before the next try, if one is needed, or why the producer ends.
    fn answered(&mut self, tried: Tried) -> Result<Option<Duration>, Error> {
        let Tried { send, verdict, took, alone } = tried;
        let error = match verdict {
            Ok(appended) => {
                self.check_first(send, &appended)?;
                if let Some(batch) = self.under_way.get(&send.number) {
                    self.meters.acknowledged(batch.records, batch.body.len(), &appended, took);
                }
                self.window.done(send.number, Ok(appended));
                self.backoff.reset();
                self.tell();
                return Ok(None);
            }
            Err(error) => error,
        };
        let code = error.code().unwrap_or_default();
        let conditional = self.under_way.get(&send.number).is_some_and(|batch| batch.expected.is_some());
        if code == "match-offset" && conditional {
            self.window.refused(send.number, Err(error));
            self.tell();
            return Ok(None);
        }
        if self.transport.id().is_none() && error.is_outcome_unknown() {
            // Nobody knows, and to send it again might store it twice.
            self.window.done(send.number, Err(error));
            self.tell();
            return Ok(None);
        }
        if code == "sequence-gap" && send.first && send.sequence > 0 && expected(&error) == Some(0) {
            self.renew(send.number)?;
            return Ok(None);
        }
        if let Some(batch) = self.under_way.get_mut(&send.number) {
            batch.unsure |= error.is_outcome_unknown();
        }
        // Those before it were not there when it arrived, whatever became of them since; it goes again after them.
        let behind = code == "sequence-gap" && !send.first;
        if !behind && !error.is_retryable() && !error.is_lost_connection() {
            return Err(error);
        }
        // What was under way together fails together: it counts once against the patience.
        let counted = alone || !self.window.is_recovering();
        self.window.again(send.number);
        if behind || !counted {
            return Ok(None);
        }
        self.backoff.spend(took);
        self.backoff.pause().map(Some).ok_or(error)
    }

    /// The server knows nothing of this producer, and everything before this batch was acknowledged: it has forgotten it.
    ///
    /// When every try of the batch was refused, it was never stored, and neither can be what is behind it: all begin anew in
    /// a higher epoch, below which whatever is still on its way is refused. With an id that others may use, one of them may
    /// have fenced this run before it was forgotten as well; and when a try was never answered, the batch may be there.
    fn renew(&mut self, number: Number) -> Result<(), Error> {
        let outcome_unknown = self.under_way.get(&number).is_some_and(|batch| batch.unsure);
        let epoch = if outcome_unknown { None } else { self.transport.renew() };
        let Some(epoch) = epoch else {
            let producer = self.transport.id().unwrap_or_default().to_owned();
            return Err(Error::ProducerForgotten { producer, outcome_unknown });
        };
        self.window.renumber(number);
        self.under_way.values_mut().for_each(|batch| batch.unsure = false);
        let stream = self.buffer.stream.clone();
        self.diagnostics.send(Diagnostic::ProducerRenewed { stream, epoch });
        Ok(())
    }

    /// The very first batch of a run that no earlier try can have stored is no repetition: somebody else wrote under this epoch.
    fn check_first(&self, send: Send, appended: &Appended) -> Result<(), Error> {
        let unsure = self.under_way.get(&send.number).is_some_and(|batch| batch.unsure);
        if appended.duplicate && send.sequence == 0 && !unsure { Err(in_use()) } else { Ok(()) }
    }

    /// Tells the results that are next.
    fn tell(&mut self) {
        let mut freed = 0;
        while let Some((number, verdict)) = self.window.told() {
            let Some(UnderWay { records, bytes, tell, .. }) = self.under_way.remove(&number) else {
                continue;
            };
            freed += bytes;
            if verdict.is_err() {
                self.meters.failed(u64::from(records));
            }
            tell.send(verdict);
        }
        if freed > 0 {
            let mut state = self.buffer.state.lock();
            state.bytes = state.bytes.saturating_sub(freed);
            drop(state);
            self.buffer.room.notify_waiters();
        }
    }

    /// Nothing is sent any more.
    fn end(self, error: &Error) {
        let (stream, cause) = (self.buffer.stream.clone(), error.to_string());
        self.diagnostics.send(Diagnostic::ProducerEnded { stream, cause });
        let mut failed = 0;
        for (_, batch) in self.under_way {
            failed += u64::from(batch.records);
            batch.tell.send(Err(error.clone()));
        }
        failed += self.buffer.fail(error);
        self.meters.failed(failed);
        self.buffer.ended.send_replace(true);
    }
}

/// Another run has used the epoch.
pub(crate) fn in_use() -> Error {
    let expected = "one that no other run of this id has used";
    Error::Invalid { what: "producer epoch", value: "in use".to_owned(), expected }
}

/// The sequence that the server would have taken.
fn expected(error: &Error) -> Option<u64> {
    match error {
        Error::Problem(problem) => number(problem, "expected_seq"),
        _ => None,
    }
}

/// Waits so long, or for ever.
async fn wait(pause: Option<Duration>) {
    match pause {
        Some(pause) => timer::sleep(pause).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests;
