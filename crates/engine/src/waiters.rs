//! Who waits for news of a stream: owns one wake-up point per stream that somebody waits for, open or closed.
//! Guarantees that a wake-up which follows a change is not lost on a waiter that parked before it looked, and that
//! a stream nobody waits for costs nothing. Never decides what the news is: waiters look for themselves.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering, fence};

use kelda_format::StreamId;
use parking_lot::Mutex;
use tokio::sync::Notify;

/// The waiters of all streams of a node.
#[derive(Debug, Default)]
pub(crate) struct Waiters {
    /// How many are parked, so that waking on a node without readers takes no lock.
    parked: AtomicUsize,
    by_stream: Mutex<BTreeMap<StreamId, Point>>,
}

#[derive(Debug)]
struct Point {
    notify: Arc<Notify>,
    waiters: usize,
}

/// One parked waiter; leaves when dropped.
#[derive(Debug)]
pub(crate) struct Parked<'a> {
    waiters: &'a Waiters,
    stream: StreamId,
    notify: Arc<Notify>,
}

impl Waiters {
    /// Parks a waiter. It has to `enable` a notification of [`Parked::notify`] before it looks at the stream.
    pub(crate) fn park(&self, stream: StreamId) -> Parked<'_> {
        self.parked.fetch_add(1, Ordering::SeqCst);
        let notify = {
            let mut by_stream = self.by_stream.lock();
            let point = by_stream
                .entry(stream)
                .or_insert_with(|| Point { notify: Arc::new(Notify::new()), waiters: 0 });
            point.waiters += 1;
            Arc::clone(&point.notify)
        };
        // Pairs with the fence in `wake`: of a waiter that parks and then looks, and a waker that changes and
        // then looks here, at least one sees what the other did.
        fence(Ordering::SeqCst);
        Parked { waiters: self, stream, notify }
    }

    /// Wakes all waiters of a stream. Called after the change is visible to them.
    pub(crate) fn wake(&self, stream: StreamId) {
        fence(Ordering::SeqCst);
        if self.parked.load(Ordering::SeqCst) == 0 {
            return;
        }
        let notify = self.by_stream.lock().get(&stream).map(|point| Arc::clone(&point.notify));
        if let Some(notify) = notify {
            notify.notify_waiters();
        }
    }
}

impl Parked<'_> {
    /// Where the wake-ups come in.
    pub(crate) fn notify(&self) -> &Notify {
        &self.notify
    }
}

impl Drop for Parked<'_> {
    fn drop(&mut self) {
        let mut by_stream = self.waiters.by_stream.lock();
        if let Some(point) = by_stream.get_mut(&self.stream) {
            point.waiters -= 1;
            if point.waiters == 0 {
                by_stream.remove(&self.stream);
            }
        }
        drop(by_stream);
        self.waiters.parked.fetch_sub(1, Ordering::SeqCst);
    }
}
