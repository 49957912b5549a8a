//! Reading with a loop of one's own: owns the entries that are out to it, guarantees that each is settled once, by word or
//! by being dropped. Never loses an entry when a wait is given up.

use std::sync::Arc;

use bytes::Bytes;
use futures::Stream;
use kelda_format::StoredRecord;

use super::Reader;
use super::core::Ticket;
use super::end::{FailureCause, Outcome, ReaderEnd};
use super::shared::Shared;
use crate::error::{CodecError, Error};
use crate::message::Message;

/// Makes payloads of bodies.
type Decoder<T> = Box<dyn Fn(&Bytes) -> Result<T, CodecError> + Send + Sync>;

/// The entries of a stream, one after the other; each has to be [`done`](Delivery::done) before the position moves over it.
///
/// ```no_run
/// # async fn example(kelda: kelda_client::Kelda) -> Result<(), kelda_client::Error> {
/// let mut messages = kelda.stream::<serde_json::Value>("orders").from_first().messages().await?;
/// while let Some(message) = messages.next().await {
///     let message = message?;
///     println!("{}", message.payload());
///     message.done().await;
/// }
/// # Ok(()) }
/// ```
pub struct Messages<T> {
    reader: Reader,
    decode: Decoder<T>,
    /// An entry that does not decode and is being put aside.
    wrong: Option<(Lease, CodecError)>,
    told: bool,
}

impl<T> Messages<T> {
    pub(crate) fn new(reader: Reader, decode: Decoder<T>) -> Messages<T> {
        Messages { reader, decode, wrong: None, told: false }
    }

    /// The handle: counts, position, state, stopping.
    pub fn reader(&self) -> &Reader {
        &self.reader
    }

    /// Stops, waits until the entries that are out are done or dropped and the position is stored, and says how it ended.
    pub async fn stop(self) -> ReaderEnd {
        drop(self.wrong);
        self.reader.stop().await
    }

    /// The next entry; `None` when the reader was stopped or all that there will be was handed over. Giving up the wait
    /// loses nothing.
    ///
    /// # Errors
    /// Once, when the reader stopped by itself: an entry that does not decode, or was not done, or something beyond
    /// entries. Then `None`.
    pub async fn next(&mut self) -> Option<Result<Delivery<T>, Error>> {
        loop {
            if let Some((lease, error)) = &mut self.wrong {
                lease.settle(Err(FailureCause::Payload(error.clone()))).await;
                self.wrong = None;
            }
            let shared = &self.reader.shared;
            let Some((ticket, record)) = shared.next().await else { return self.end() };
            let origin = shared.origin.get()?;
            let decoded = (self.decode)(&record.record.body);
            let lease = Lease::new(shared, ticket, &record);
            match decoded {
                Ok(payload) => {
                    let message = Message::new(payload, record, Arc::clone(origin));
                    return Some(Ok(Delivery { message, lease }));
                }
                Err(error) => self.wrong = Some((lease, error)),
            }
        }
    }

    /// As a [`Stream`], for combinators.
    pub fn into_stream(self) -> impl Stream<Item = Result<Delivery<T>, Error>> {
        futures::stream::unfold(self, |mut messages| async move { Some((messages.next().await?, messages)) })
    }

    fn end(&mut self) -> Option<Result<Delivery<T>, Error>> {
        let end = self.reader.shared.ending.lock().clone().filter(ReaderEnd::is_failure);
        let end = end.filter(|_| !std::mem::replace(&mut self.told, true))?;
        Some(Err(Error::ReaderStopped(Box::new(end))))
    }
}

/// An entry that is out. Dropping it without a word is a failure.
pub struct Delivery<T> {
    message: Message<T>,
    lease: Lease,
}

impl<T> Delivery<T> {
    /// The entry is finished.
    pub async fn done(mut self) {
        self.lease.settle(Ok(())).await;
    }

    /// The entry cannot be handled: the reader stops at it, or skips it.
    pub async fn fail(mut self, cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) {
        let result: Result<(), Box<dyn std::error::Error + Send + Sync>> = Err(cause.into());
        self.lease.settle(result.result()).await;
    }

    /// The message.
    #[must_use]
    pub fn message(&self) -> &Message<T> {
        &self.message
    }
}

impl<T> std::ops::Deref for Delivery<T> {
    type Target = Message<T>;

    fn deref(&self) -> &Message<T> {
        &self.message
    }
}

/// The right to settle one copy of one entry, once.
struct Lease {
    shared: Arc<Shared>,
    ticket: Option<Ticket>,
    record: Option<StoredRecord>,
}

impl Lease {
    fn new(shared: &Arc<Shared>, ticket: Ticket, record: &StoredRecord) -> Lease {
        let record = shared.dead.is_some().then(|| record.clone());
        Lease { shared: Arc::clone(shared), ticket: Some(ticket), record }
    }

    async fn settle(&mut self, result: Result<(), FailureCause>) {
        let Some(ticket) = self.ticket else { return };
        match (result, &self.record) {
            (Err(cause), Some(record)) => {
                // Until the copy is written this may be given up, and then the entry is not settled.
                let aside = self.shared.put_aside(ticket, record, &cause).await;
                self.ticket = None;
                self.shared.conclude(ticket, cause, aside).await;
            }
            (result, _) => {
                self.ticket = None;
                self.shared.settle(ticket, None, result).await;
            }
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket {
            self.shared.dropped(ticket);
        }
    }
}
