//! The streams of a measurement: owns their names and their end. Guarantees fresh names, and that all are deleted however
//! the measurement ended. Never deletes what it did not create.

use std::future::Future;

use hyper::Uri;
use kelda_client::{Kelda, StreamLimits, path};
use kelda_env::Random;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::exit::Failure;

/// How often a stream is deleted in vain before it is left there.
const DELETE_TRIES: usize = 5;

/// Streams that were created for a measurement.
pub struct Streams {
    kelda: Kelda,
    names: Vec<String>,
    keep: bool,
    /// Listens before the first stream is there, so that an interrupt never leaves one behind.
    interrupt: Signal,
}

impl Streams {
    /// Creates `count` streams that share a random prefix.
    pub async fn create(
        endpoint: &str,
        random: &dyn Random,
        count: u32,
        content_type: &str,
        keep: bool,
    ) -> Result<Streams, Failure> {
        let prefix = format!("bench/{:016x}", random.next_u64());
        let interrupt = signal(SignalKind::interrupt())
            .map_err(|error| Failure::local(format!("cannot listen for signals: {error}")))?;
        let kelda = crate::remote::client(endpoint)?;
        let mut streams = Streams { kelda, names: Vec::new(), keep, interrupt };
        let limits = StreamLimits::new().content_type(content_type);
        for number in 0..count {
            let name = format!("{prefix}/{number}");
            match streams.kelda.declare_stream(&name, limits.clone()).await {
                Ok(_) => streams.names.push(name),
                Err(error) => {
                    streams.remove().await?;
                    return Err(error.into());
                }
            }
        }
        Ok(streams)
    }

    /// Where requests to them go.
    pub fn paths(&self) -> Result<Vec<Uri>, Failure> {
        self.names.iter().map(|name| uri(&path(name))).collect()
    }

    /// What they are called.
    pub fn names(&self) -> Vec<String> {
        self.names.clone()
    }

    /// Waits for a measurement with them, or for the user to interrupt it, then deletes them; its failure goes before that
    /// of the deletion.
    pub async fn during<T>(mut self, work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
        let result = tokio::select! {
            biased;
            result = work => result,
            _ = self.interrupt.recv() => Err(Failure::Interrupted),
        };
        let removed = self.remove().await;
        let value = result?;
        removed.map(|()| value)
    }

    async fn remove(self) -> Result<(), Failure> {
        if self.keep {
            for name in &self.names {
                eprintln!("kelda: {name} is kept");
            }
            return Ok(());
        }
        let mut first = Ok(());
        for name in &self.names {
            let mut deleted = self.kelda.delete(name).await;
            // What was cut off in the middle of an append may be in the way for a moment.
            for _ in 1..DELETE_TRIES {
                // A server that is not there was waited for already.
                if deleted.as_ref().map_or_else(kelda_client::Error::is_lost_connection, |()| true) {
                    break;
                }
                deleted = self.kelda.delete(name).await;
            }
            if let Err(error) = deleted {
                eprintln!("kelda: {name} is left there: {error}");
                // A server that is not there would be waited for once a stream.
                let lost = error.is_lost_connection();
                first = first.and(Err(Failure::about(name, error)));
                if lost {
                    break;
                }
            }
        }
        first
    }
}

/// A path with its query, for a request.
pub fn uri(text: &str) -> Result<Uri, Failure> {
    text.parse().map_err(|error| Failure::local(format!("{text:?} cannot be asked for: {error}")))
}
