//! The life signs of one connection.
//!
//! Owns what its socket, its requests and its replies have to know of each other: whether a request is in flight, since
//! when nothing is, and how many bytes the socket took. Guarantees that a reply can keep what it has handed over and the
//! socket has not taken within a bound. Never touches the socket.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use futures::task::AtomicWaker;
use kelda_env::Clock;

/// A request head must be complete so long after its first byte, and a first request so long after the connection.
const HEAD_LIMIT: Duration = Duration::from_secs(30);
/// A connection without a request is closed after this: longer than the 60 s after which usual load balancers close theirs.
const IDLE_LIMIT: Duration = Duration::from_secs(75);

/// Shared by a socket, its requests and its replies.
pub struct Pulse {
    clock: Arc<dyn Clock>,
    in_flight: AtomicUsize,
    /// When the connection must have a request, in milliseconds of the monotonic clock.
    due_ms: AtomicU64,
    /// Whether requests share the connection, so that bytes between them need not be the start of one.
    shared: AtomicBool,
    /// The connection, when it waits for bytes while a request is in flight.
    reader: AtomicWaker,
    /// Bytes that the socket took.
    written: AtomicU64,
    /// The reply that waits for room, if one does.
    reply: AtomicWaker,
}

impl Pulse {
    /// For a connection that just began.
    pub(super) fn new(clock: Arc<dyn Clock>) -> Arc<Pulse> {
        let pulse = Pulse {
            clock,
            in_flight: AtomicUsize::new(0),
            due_ms: AtomicU64::new(0),
            shared: AtomicBool::new(false),
            reader: AtomicWaker::new(),
            written: AtomicU64::new(0),
            reply: AtomicWaker::new(),
        };
        pulse.expect_within(HEAD_LIMIT);
        Arc::new(pulse)
    }

    fn expect_within(&self, limit: Duration) {
        let due = self.clock.monotonic() + limit;
        self.due_ms.store(u64::try_from(due.as_millis()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Bytes came while no request was in flight: a head has begun, unless it had before.
    pub(super) fn received(&self) {
        if self.in_flight.load(Ordering::Acquire) == 0 && !self.shared.load(Ordering::Relaxed) {
            let due = Duration::from_millis(self.due_ms.load(Ordering::Relaxed));
            if due > self.clock.monotonic() + HEAD_LIMIT {
                self.expect_within(HEAD_LIMIT);
            }
        }
    }

    /// When the connection must have a request. Nothing while it has one; the caller is woken when it has none again.
    pub(super) fn due(&self, context: &mut Context<'_>) -> Option<Duration> {
        let due = || {
            let idle = self.in_flight.load(Ordering::Acquire) == 0;
            idle.then(|| Duration::from_millis(self.due_ms.load(Ordering::Relaxed)))
        };
        due().or_else(|| {
            self.reader.register(context.waker());
            due()
        })
    }

    /// The socket took bytes.
    pub(super) fn sent(&self, bytes: usize) {
        self.written.fetch_add(bytes as u64, Ordering::Relaxed);
        self.reply.wake();
    }

    /// Counts a request until the guard is dropped, which is when its reply is sent or given up. `shared` says whether
    /// other requests may be on the connection with it.
    pub(super) fn begin(self: &Arc<Pulse>, shared: bool) -> InFlight {
        self.shared.store(shared, Ordering::Relaxed);
        self.in_flight.fetch_add(1, Ordering::AcqRel);
        InFlight(Arc::clone(self))
    }

    /// Waits until less than `window` bytes of what was handed over wait for the socket. `handed` counts from `base`,
    /// which is [`Pulse::written`] when the reply began.
    pub(crate) fn poll_room(
        &self,
        base: u64,
        handed: u64,
        window: u64,
        context: &mut Context<'_>,
    ) -> Poll<()> {
        let room = || handed.saturating_sub(self.written() - base) < window;
        if room() {
            return Poll::Ready(());
        }
        self.reply.register(context.waker());
        if room() { Poll::Ready(()) } else { Poll::Pending }
    }

    /// Bytes that the socket took so far.
    pub(crate) fn written(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }
}

/// A request in flight.
pub(super) struct InFlight(Arc<Pulse>);

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.expect_within(IDLE_LIMIT);
        if self.0.in_flight.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0.reader.wake();
        }
    }
}
