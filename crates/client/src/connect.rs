//! Connecting: owns what a connection is set up with, guarantees that nothing secret is shown and that every wait has its
//! limit. Never knows a stream.

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hyper::header::HeaderValue;
use parking_lot::Mutex;
use rustls::RootCertStore;

use crate::diagnostic::{Diagnostic, Diagnostics, Sender};
use crate::error::Error;
use crate::meters::{self, Labels, MAX_LABELLED, OTHER};
use crate::retry::RetryPolicy;
use crate::tls;
use crate::trace::{Propagator, Tracing};
use crate::transport::Transport;

/// How long an answer may take to begin, unless it is set.
pub(crate) const ANSWER_LIMIT: Duration = Duration::from_secs(30);
/// How long a connection may take to be there.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);
/// How long the next bytes of an answer may take to come.
const IDLE_LIMIT: Duration = Duration::from_secs(30);
/// How long a request may wait at the tail before it is asked whether the server is there: one answers after 25 seconds
/// when nothing comes, unless it is configured otherwise.
const LIVE_LIMIT: Duration = Duration::from_secs(90);
/// How long a call is tried again.
const CALL_PATIENCE: Duration = Duration::from_secs(10);
/// Nodes of a cluster that a client knows.
const MAX_NODES: usize = 1_000;
/// The name of a client that has none.
const NAME: &str = "kelda-client";
/// Streams that were warned about are remembered up to so many; beyond, a warning may come twice.
const MAX_WARNED: usize = 1_000;

/// A connection to a Kelda server or cluster, by `http://` or, with TLS, by `https://`; or to a Kelda or a RabbitMQ by `amqp://`.
/// Connections are made when they are needed and kept for the next request. Cheap to clone, and all clones share them.
///
/// ```no_run
/// # async fn example() -> Result<(), kelda_client::Error> {
/// use kelda_client::{Kelda, StreamLimits, days};
/// let kelda = Kelda::connect("http://127.0.0.1:4437").await?;
/// kelda.declare_stream("events", StreamLimits::new().max_age(days(7))).await?;
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Kelda {
    pub(crate) transport: Transport,
    pub(crate) shared: Arc<Shared>,
}

/// What all clones share.
pub(crate) struct Shared {
    pub(crate) reconnect: RetryPolicy,
    pub(crate) diagnostics: Sender,
    pub(crate) tracing: Tracing,
    warned: Mutex<BTreeSet<String>>,
    /// The name of the client, as metrics are labelled with it.
    name: String,
    /// Streams that metrics are labelled with.
    labelled: Mutex<BTreeSet<String>>,
}

impl Kelda {
    /// Connects to `endpoint`, such as `http://127.0.0.1:4437` or `amqp://guest:guest@127.0.0.1:5672/VHOST`, with the defaults of [`Kelda::builder`].
    ///
    /// # Errors
    /// As [`Builder::connect`].
    pub async fn connect(endpoint: &str) -> Result<Kelda, Error> {
        Kelda::builder(endpoint).connect().await
    }

    /// Sets up a connection step by step.
    pub fn builder(endpoint: &str) -> Builder {
        Builder {
            endpoint: endpoint.to_owned(),
            settings: Settings::default(),
            reconnect: RetryPolicy::forever(),
            tracing: Tracing::default(),
        }
    }

    /// What happens on this connection from now on that nobody has to act on but somebody wants to see: readers that
    /// stop or reconnect, streams without a limit. One that falls behind misses the oldest.
    #[must_use]
    pub fn diagnostics(&self) -> Diagnostics {
        self.shared.diagnostics.subscribe()
    }

    /// What metrics of this stream are labelled with: streams beyond the first so many share a label.
    pub(crate) fn labels(&self, stream: &str) -> Labels {
        let mut labelled = self.shared.labelled.lock();
        if labelled.len() < MAX_LABELLED {
            labelled.insert(stream.to_owned());
        }
        let own = labelled.contains(stream);
        drop(labelled);
        Labels::new(if own { stream } else { OTHER }, &self.shared.name)
    }

    /// Says once that a stream grows for ever.
    pub(crate) fn warn_unlimited(&self, stream: &str) {
        let mut warned = self.shared.warned.lock();
        if warned.contains(stream) {
            return;
        }
        if warned.len() >= MAX_WARNED {
            warned.clear();
        }
        warned.insert(stream.to_owned());
        drop(warned);
        self.shared.diagnostics.send(Diagnostic::Unlimited { stream: stream.to_owned() });
    }
}

impl fmt::Debug for Kelda {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kelda").field("endpoint", &self.transport.endpoint()).finish_non_exhaustive()
    }
}

/// What a transport is set up with.
#[derive(Clone)]
pub(crate) struct Settings {
    pub(crate) token: Option<HeaderValue>,
    pub(crate) agent: Option<HeaderValue>,
    pub(crate) name: String,
    pub(crate) http2: bool,
    pub(crate) nodes: Vec<String>,
    /// The authorities to trust instead of the system's.
    pub(crate) roots: Option<RootCertStore>,
    pub(crate) connect_limit: Duration,
    pub(crate) answer_limit: Duration,
    pub(crate) idle_limit: Duration,
    pub(crate) live_limit: Duration,
    pub(crate) calls: RetryPolicy,
    /// The first setting that cannot be used.
    wrong: Option<Error>,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            token: None,
            agent: Some(HeaderValue::from_static(concat!("kelda-client/", env!("CARGO_PKG_VERSION")))),
            name: NAME.to_owned(),
            http2: false,
            nodes: Vec::new(),
            roots: None,
            connect_limit: CONNECT_LIMIT,
            answer_limit: ANSWER_LIMIT,
            idle_limit: IDLE_LIMIT,
            live_limit: LIVE_LIMIT,
            calls: RetryPolicy::within(CALL_PATIENCE),
            wrong: None,
        }
    }
}

/// A connection that is being set up.
///
/// ```no_run
/// # async fn example() -> Result<(), kelda_client::Error> {
/// use std::time::Duration;
/// use kelda_client::{Kelda, RetryPolicy};
/// let kelda = Kelda::builder("https://kelda-1.example.net:4437")
///     .tls_roots_file("/etc/kelda/authority.pem")
///     .token("k1.secret")
///     .client_name("billing")
///     .nodes(["kelda-2.example.net:4437", "kelda-3.example.net:4437"])
///     .retry(RetryPolicy::within(Duration::from_secs(30)))
///     .connect()
///     .await?;
/// # Ok(()) }
/// ```
#[derive(Clone)]
#[must_use = "a builder does nothing until `connect` or `build`"]
pub struct Builder {
    endpoint: String,
    settings: Settings,
    reconnect: RetryPolicy,
    tracing: Tracing,
}

impl Builder {
    /// An access token, sent as `Authorization: Bearer`. It goes to the endpoint and to [`Builder::nodes`], nowhere else.
    pub fn token(mut self, token: &str) -> Builder {
        match HeaderValue::try_from(format!("Bearer {token}")) {
            Ok(mut value) if !token.is_empty() => {
                value.set_sensitive(true);
                self.settings.token = Some(value);
            }
            _ => self.wrong("token", "<hidden>", "visible ASCII, at least one character"),
        }
        self
    }

    /// The name of this client, first in `User-Agent` and a label of its metrics (`kelda-client` unless it is set).
    pub fn client_name(mut self, name: &str) -> Builder {
        let value = format!("{name} kelda-client/{}", env!("CARGO_PKG_VERSION"));
        match HeaderValue::try_from(value) {
            Ok(value) => (self.settings.agent, self.settings.name) = (Some(value), name.to_owned()),
            Err(_) => self.wrong("client_name", name, "visible ASCII"),
        }
        self
    }

    /// Authorities that may have signed the certificate of an `https://` server, as the text of PEM certificates. They are
    /// trusted **instead of** the system's; called several times, all that were given are.
    pub fn tls_roots_pem(self, pem: impl AsRef<[u8]>) -> Builder {
        self.add_roots("tls_roots_pem", pem.as_ref())
    }

    /// As [`Builder::tls_roots_pem`], of a file, which is read now.
    #[expect(
        clippy::disallowed_methods,
        reason = "the file is the caller's own, and the library has no environment"
    )]
    pub fn tls_roots_file(mut self, path: impl AsRef<Path>) -> Builder {
        let path = path.as_ref();
        match std::fs::read(path) {
            Ok(pem) => self.add_roots("tls_roots_file", &pem),
            Err(error) => {
                let value = format!("{} ({error})", path.display());
                self.wrong("tls_roots_file", &value, "a file with PEM certificates");
                self
            }
        }
    }

    fn add_roots(mut self, what: &'static str, pem: &[u8]) -> Builder {
        let roots = self.settings.roots.get_or_insert_with(RootCertStore::empty);
        if let Err(value) = tls::add_roots(roots, pem) {
            self.wrong(what, &value, "one or more blocks of BEGIN CERTIFICATE in PEM");
        }
        self
    }

    /// Speaks HTTP/2: one connection for all requests. Over plain HTTP by prior knowledge, over TLS by ALPN; a server that
    /// cannot is an error, never a fall-back.
    pub fn http2(mut self) -> Builder {
        self.settings.http2 = true;
        self
    }

    /// Further addresses (`HOST:PORT`) of the same cluster, at most 1,000, with the scheme of the endpoint. A reply may name the node that owns a stream, and
    /// the client goes straight to it if it is one of these: to no other address goes a request, so no credentials either.
    /// When a node cannot be reached, the next one is asked.
    pub fn nodes<S: Into<String>>(mut self, addresses: impl IntoIterator<Item = S>) -> Builder {
        self.settings.nodes.extend(addresses.into_iter().map(Into::into).take(MAX_NODES));
        self
    }

    /// How long a connection may take to be there (10 s).
    pub fn connect_timeout(mut self, limit: Duration) -> Builder {
        self.settings.connect_limit = limit;
        self
    }

    /// How long an answer may take to begin (30 s); a large request gets more, a second for each 128 KiB.
    pub fn answer_timeout(mut self, limit: Duration) -> Builder {
        self.settings.answer_limit = limit;
        self
    }

    /// How long the next bytes of an answer may take to come (30 s). Over AMQP: how long a server may be silent, by heartbeats of
    /// half of it, 1 to 60 s.
    pub fn idle_timeout(mut self, limit: Duration) -> Builder {
        self.settings.idle_limit = limit;
        self
    }

    /// How long a reader waits at the tail before it asks whether the server is there (90 s). It has to be longer than the
    /// server's `--long-poll-timeout` (25 s).
    pub fn live_timeout(mut self, limit: Duration) -> Builder {
        self.settings.live_limit = limit;
        self
    }

    /// How single calls are tried again (for 10 s). What writes without being repeatable is sent once in any case.
    pub fn retry(mut self, policy: RetryPolicy) -> Builder {
        self.settings.calls = policy;
        self
    }

    /// How readers and producers come back after a lost connection (without end).
    pub fn reconnect(mut self, policy: RetryPolicy) -> Builder {
        self.reconnect = policy;
        self
    }

    /// Whether what a handler sends carries on the trace of the entry that it handles (yes): unless the message has a trace
    /// context already, it gets the entry's trace with the id of this hop as the parent.
    pub fn carry_traces(mut self, carry: bool) -> Builder {
        self.tracing.off = !carry;
        self
    }

    /// Joins those traces to spans of another library, such as OpenTelemetry.
    pub fn propagator(mut self, propagator: impl Propagator) -> Builder {
        self.tracing.propagator = Some(Arc::new(propagator));
        self
    }

    /// Prepares the connection; the first request makes it.
    ///
    /// # Errors
    /// [`Error::Endpoint`] when the URL is not usable, [`Error::Invalid`] for another setting, [`Error::Unsupported`] for one that
    /// the transport of the URL does not have.
    pub fn build(self) -> Result<Kelda, Error> {
        if let Some(wrong) = self.settings.wrong {
            return Err(wrong);
        }
        meters::describe();
        let (diagnostics, name) = (Sender::new(), self.settings.name.clone());
        let transport = Transport::new(&self.endpoint, self.settings, diagnostics.clone())?;
        let (warned, labelled) = (Mutex::default(), Mutex::default());
        let Builder { reconnect, tracing, .. } = self;
        let shared = Shared { reconnect, diagnostics, tracing, warned, name, labelled };
        Ok(Kelda { transport, shared: Arc::new(shared) })
    }

    /// Makes the connection and sees that something answers.
    ///
    /// # Errors
    /// As [`Builder::build`]; [`Error::Unreachable`] when nothing answers before the patience of [`Builder::retry`] ends.
    pub async fn connect(self) -> Result<Kelda, Error> {
        let kelda = self.build()?;
        kelda.transport.connect().await?;
        Ok(kelda)
    }

    fn wrong(&mut self, what: &'static str, value: &str, expected: &'static str) {
        let wrong = Error::Invalid { what, value: value.to_owned(), expected };
        self.settings.wrong.get_or_insert(wrong);
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let endpoint = crate::endpoint::shown(&self.endpoint);
        f.debug_struct("Builder").field("endpoint", &endpoint).finish_non_exhaustive()
    }
}
