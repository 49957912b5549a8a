//! What happens in the background: owns the events that a program may watch, guarantees that each is logged as well and
//! that nobody who does not listen holds anything up. Never changes what happens.

use std::fmt;

use tokio::sync::broadcast;

/// Events that are kept for one who listens and is slow; beyond, the oldest are dropped.
const KEPT: usize = 256;

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Diagnostic {
    /// A reader stopped by itself, at an entry that it could not handle or for another reason.
    ReaderStopped {
        /// The stream.
        stream: String,
        /// The entry, when one is to blame.
        offset: Option<u64>,
        /// Why.
        cause: String,
    },
    /// A reader lost its connection and tries to come back.
    ReaderReconnecting {
        /// The stream.
        stream: String,
        /// Where it will go on; `None` where it was told to start, because it was given nothing yet.
        resume_at: Option<u64>,
        /// What happened to the connection.
        cause: String,
    },
    /// A reader is back.
    ReaderResumed {
        /// The stream.
        stream: String,
    },
    /// A reader went on past entries that are gone.
    ReaderGap {
        /// The stream.
        stream: String,
        /// The first offset that is missing.
        from: u64,
        /// Where it went on.
        to: u64,
    },
    /// A reader put a copy of an entry aside and goes on.
    EntrySkipped {
        /// The stream.
        stream: String,
        /// The entry.
        offset: u64,
        /// Why it could not be handled.
        cause: String,
    },
    /// The server had forgotten a producer, as after 7 days without a record; it went on in a new epoch.
    ProducerRenewed {
        /// The stream.
        stream: String,
        /// The epoch.
        epoch: u64,
    },
    /// A producer ended by itself.
    ProducerEnded {
        /// The stream.
        stream: String,
        /// Why.
        cause: String,
    },
    /// A token went to another machine without TLS: who is on the way can read it. Said once for each connection.
    TokenInClear {
        /// Where it went.
        endpoint: String,
    },
    /// A stream was declared without any limit: it grows until the disk is full.
    Unlimited {
        /// The stream.
        stream: String,
    },
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Diagnostic::ReaderStopped { stream, offset: Some(offset), cause } => {
                write!(f, "the reader of {stream:?} stopped at offset {offset}: {cause}")
            }
            Diagnostic::ReaderStopped { stream, offset: None, cause } => {
                write!(f, "the reader of {stream:?} stopped: {cause}")
            }
            Diagnostic::ReaderReconnecting { stream, resume_at: Some(offset), cause } => {
                write!(
                    f,
                    "the reader of {stream:?} lost its connection and goes on at offset {offset}: {cause}"
                )
            }
            Diagnostic::ReaderReconnecting { stream, resume_at: None, cause } => {
                write!(
                    f,
                    "the reader of {stream:?} lost its connection before it was given anything: {cause}"
                )
            }
            Diagnostic::ReaderResumed { stream } => write!(f, "the reader of {stream:?} is connected again"),
            Diagnostic::ReaderGap { stream, from, to } => {
                write!(
                    f,
                    "the records of {stream:?} from offset {from} up to {to} are gone; going on behind them"
                )
            }
            Diagnostic::EntrySkipped { stream, offset, cause } => {
                write!(f, "the reader of {stream:?} skipped the entry at offset {offset}: {cause}")
            }
            Diagnostic::ProducerRenewed { stream, epoch } => {
                write!(f, "the server had forgotten the producer of {stream:?}; it goes on in epoch {epoch}")
            }
            Diagnostic::ProducerEnded { stream, cause } => {
                write!(f, "the producer of {stream:?} ended: {cause}")
            }
            Diagnostic::TokenInClear { endpoint } => {
                write!(f, "the token goes to {endpoint} without TLS, where others can read it; use https://")
            }
            Diagnostic::Unlimited { stream } => write!(
                f,
                "the stream {stream:?} has no limit and grows until the disk is full; declare it with max_age or max_bytes"
            ),
        }
    }
}

impl Diagnostic {
    fn log(&self) {
        match self {
            Diagnostic::ReaderStopped { .. } | Diagnostic::ProducerEnded { .. } => tracing::error!("{self}"),
            Diagnostic::ReaderResumed { .. } | Diagnostic::ProducerRenewed { .. } => tracing::info!("{self}"),
            _ => tracing::warn!("{self}"),
        }
    }
}

/// What happens on a connection, one after the other.
///
/// ```no_run
/// # async fn example(kelda: kelda_client::Kelda) -> Result<(), kelda_client::Error> {
/// use kelda_client::Diagnostic;
/// let mut diagnostics = kelda.diagnostics();
/// while let Some(diagnostic) = diagnostics.next().await {
///     if let Diagnostic::ReaderStopped { stream, .. } = &diagnostic {
///         println!("wake somebody about {stream}: {diagnostic}");
///     }
/// }
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Diagnostics(broadcast::Receiver<Diagnostic>);

impl Diagnostics {
    /// The next event; `None` when the connection and all readers and producers of it are gone.
    pub async fn next(&mut self) -> Option<Diagnostic> {
        loop {
            match self.0.recv().await {
                Ok(diagnostic) => return Some(diagnostic),
                Err(broadcast::error::RecvError::Lagged(_)) => {}
                Err(broadcast::error::RecvError::Closed) => return None,
            }
        }
    }

    /// The next event if there is one already.
    pub fn try_next(&mut self) -> Option<Diagnostic> {
        loop {
            match self.0.try_recv() {
                Ok(diagnostic) => return Some(diagnostic),
                Err(broadcast::error::TryRecvError::Lagged(_)) => {}
                Err(_) => return None,
            }
        }
    }
}

/// Where events go.
#[derive(Clone, Debug)]
pub(crate) struct Sender(broadcast::Sender<Diagnostic>);

impl Sender {
    pub(crate) fn new() -> Sender {
        Sender(broadcast::channel(KEPT).0)
    }

    pub(crate) fn subscribe(&self) -> Diagnostics {
        Diagnostics(self.0.subscribe())
    }

    /// Logs the event and tells those who listen.
    pub(crate) fn send(&self, diagnostic: Diagnostic) {
        diagnostic.log();
        // That nobody listens is no error.
        let _ = self.0.send(diagnostic);
    }
}
