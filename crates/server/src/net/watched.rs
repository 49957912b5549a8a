//! A socket that is watched for progress.
//!
//! Owns the two ways a peer can be too slow: no request where one must come, and a reply that it does not take.
//! Guarantees that either ends the connection with an error. Never interprets a byte.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::rt::TokioIo;
use kelda_env::Clock;
use tokio::net::TcpStream;

use super::Pulse;
use super::alarm::Alarm;

/// How long a socket may take nothing of what waits for it.
const WRITE_LIMIT: Duration = Duration::from_secs(30);

/// A socket with its alarms.
pub(super) struct Watched {
    io: TokioIo<TcpStream>,
    clock: Arc<dyn Clock>,
    pulse: Arc<Pulse>,
    reading: Alarm,
    writing: Alarm,
    blocked_until: Option<Duration>,
}

impl Watched {
    pub(super) fn new(stream: TcpStream, clock: Arc<dyn Clock>, pulse: Arc<Pulse>) -> Watched {
        let (reading, writing) = (Alarm::default(), Alarm::default());
        Watched { io: TokioIo::new(stream), clock, pulse, reading, writing, blocked_until: None }
    }

    /// Turns the result of a write into one that knows the limit.
    fn watch(
        &mut self,
        wrote: Poll<io::Result<usize>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        match wrote {
            Poll::Ready(result) => {
                self.blocked_until = None;
                if let Ok(bytes) = result {
                    self.pulse.sent(bytes);
                }
                Poll::Ready(result)
            }
            Poll::Pending => {
                let due = *self.blocked_until.get_or_insert_with(|| self.clock.monotonic() + WRITE_LIMIT);
                if self.writing.poll(&*self.clock, due, context) {
                    return Poll::Ready(Err(late("the peer does not take the reply")));
                }
                Poll::Pending
            }
        }
    }
}

fn late(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, what)
}

impl Read for Watched {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        match Pin::new(&mut this.io).poll_read(context, buffer) {
            Poll::Ready(result) => {
                this.pulse.received();
                Poll::Ready(result)
            }
            Poll::Pending => match this.pulse.due(context) {
                Some(due) if this.reading.poll(&*this.clock, due, context) => {
                    Poll::Ready(Err(late("no request came")))
                }
                _ => Poll::Pending,
            },
        }
    }
}

impl Write for Watched {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.io).poll_write(context, bytes);
        self.watch(wrote, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.io).poll_write_vectored(context, buffers);
        self.watch(wrote, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(context)
    }
}
