//! AMQP 0-9-1, of Kelda or RabbitMQ: owns the connections to one server and how calls run on them.
//!
//! One connection is for reading and one for publishing, since a server that runs short stops taking bytes from whoever
//! publishes, acknowledgements of readers among them. Guarantees that every wait has its limit and that a lost connection
//! is made anew when it is needed next. Never repeats what may have been done.

mod append;
mod connection;
mod declare;
mod endpoint;
mod feed;
mod headers;
mod letters;
mod place;
mod properties;
mod refusal;

use std::sync::Arc;
use std::time::Duration;

use lapin::Channel;
use lapin::types::ShortString;
use lapin::uri::AMQPUri;

use crate::backoff::Backoff;
use crate::connect::Settings;
use crate::error::Error;
use crate::retry::RetryPolicy;
use crate::timer::{self, Stopwatch};

pub(crate) use append::AmqpAppend;
use connection::Slot;
pub(crate) use feed::AmqpFeed;
pub(crate) use letters::AmqpTarget;

/// A server that speaks AMQP. Cheap to clone, and all clones share its connections.
#[derive(Clone)]
pub(crate) struct Amqp {
    shared: Arc<Shared>,
}

struct Shared {
    uri: AMQPUri,
    /// The server as it may be shown.
    endpoint: String,
    name: String,
    connect_limit: Duration,
    answer_limit: Duration,
    calls: RetryPolicy,
    reading: Slot,
    publishing: Slot,
}

/// What a channel is for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Use {
    Reading,
    Publishing,
}

impl Amqp {
    /// Checks the URL and the settings; nothing is sent.
    pub(crate) fn new(endpoint: &str, settings: &Settings) -> Result<Amqp, Error> {
        let unsupported = |what| Err(Error::Unsupported { what, transport: "AMQP" });
        if settings.token.is_some() {
            return unsupported("send a token: put user and password into the URL");
        }
        if settings.http2 {
            return unsupported("speak HTTP/2");
        }
        if !settings.nodes.is_empty() {
            return unsupported("know further nodes: any node serves every queue");
        }
        if settings.roots.is_some() {
            return unsupported("check certificates: AMQP is not encrypted here");
        }
        let uri = endpoint::parse(endpoint, settings.idle_limit)?;
        let shared = Shared {
            endpoint: endpoint::shown(&uri),
            uri,
            name: settings.name.clone(),
            connect_limit: settings.connect_limit,
            answer_limit: settings.answer_limit,
            calls: settings.calls,
            reading: Slot::default(),
            publishing: Slot::default(),
        };
        Ok(Amqp { shared: Arc::new(shared) })
    }

    pub(crate) fn endpoint(&self) -> &str {
        &self.shared.endpoint
    }

    pub(crate) fn calls(&self) -> RetryPolicy {
        self.shared.calls
    }

    /// The user that is logged in.
    fn user(&self) -> &str {
        &self.shared.uri.authority.userinfo.username
    }

    /// Makes the connection for reading.
    pub(crate) async fn connect(&self) -> Result<(), Error> {
        self.again(|| async { self.connection(Use::Reading).await.map(drop) }).await
    }

    /// Does a call that may be repeated, again after failures that pass.
    async fn again<T, F: Future<Output = Result<T, Error>>>(&self, call: impl Fn() -> F) -> Result<T, Error> {
        let mut backoff = Backoff::of(self.calls());
        loop {
            let began = Stopwatch::start();
            let error = match call().await {
                Err(error) if error.is_retryable() => error,
                other => return other,
            };
            backoff.spend(began.elapsed());
            let Some(pause) = backoff.pause() else { return Err(error) };
            timer::sleep(pause).await;
        }
    }

    /// A channel of its own.
    async fn channel(&self, purpose: Use) -> Result<Channel, Error> {
        let connection = self.connection(purpose).await?;
        self.answer(connection.create_channel()).await
    }

    /// What the server answers, in time.
    async fn answer<T>(&self, answer: impl Future<Output = lapin::Result<T>>) -> Result<T, Error> {
        match timer::within(self.shared.answer_limit, answer).await {
            Some(answer) => answer.map_err(|error| self.refused(&error)),
            None => Err(Error::Unreachable {
                endpoint: self.shared.endpoint.clone(),
                cause: format!("no answer within {:?}", self.shared.answer_limit),
            }),
        }
    }

    /// What went wrong, in the library's kinds.
    fn refused(&self, error: &lapin::Error) -> Error {
        refusal::error(&self.shared.endpoint, error)
    }

    /// The connection is lost, as the server or the transport says.
    fn lost(&self, cause: impl Into<String>) -> Error {
        Error::Unreachable { endpoint: self.shared.endpoint.clone(), cause: cause.into() }
    }
}

/// A name as a queue's.
fn queue(name: &str) -> Result<ShortString, Error> {
    ShortString::try_new(name).ok().filter(|_| !name.is_empty()).ok_or_else(|| Error::Invalid {
        what: "stream name",
        value: format!("of {} bytes", name.len()),
        expected: "1 to 255 bytes over AMQP",
    })
}
