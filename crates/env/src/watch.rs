//! A value that tasks watch: owns the value and who waits for it to change. Guarantees that waiting tasks are woken in
//! the order in which they began to wait, so that a simulated run is a function of its seed (the equivalent of tokio
//! spreads its waiters at random). Never keeps a history: who looks late sees the newest value only.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;

struct Slot<T> {
    value: T,
    version: u64,
    closed: bool,
}

struct Shared<T> {
    slot: Mutex<Slot<T>>,
    changed: Notify,
    senders: AtomicUsize,
}

/// The side that changes the value.
pub struct Sender<T>(Arc<Shared<T>>);

/// The side that waits for changes; cheap to clone.
pub struct Receiver<T> {
    shared: Arc<Shared<T>>,
    seen: u64,
}

/// A look at the value. It holds a lock: never keep it across an await.
pub struct Ref<'a, T>(MutexGuard<'a, Slot<T>>);

/// The sender is gone, so nothing will change any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("nobody is left to change the value")]
pub struct Closed;

/// A watched value, with both sides.
pub fn channel<T>(value: T) -> (Sender<T>, Receiver<T>) {
    let sender = Sender::new(value);
    let receiver = sender.subscribe();
    (sender, receiver)
}

impl<T> Deref for Ref<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0.value
    }
}

impl<T> Sender<T> {
    /// A value that nobody watches yet.
    pub fn new(value: T) -> Sender<T> {
        let slot = Mutex::new(Slot { value, version: 0, closed: false });
        Sender(Arc::new(Shared { slot, changed: Notify::new(), senders: AtomicUsize::new(1) }))
    }

    /// A receiver that has seen the value as it is.
    #[must_use]
    pub fn subscribe(&self) -> Receiver<T> {
        let seen = self.0.slot.lock().version;
        Receiver { shared: Arc::clone(&self.0), seen }
    }

    /// Looks at the value.
    pub fn borrow(&self) -> Ref<'_, T> {
        Ref(self.0.slot.lock())
    }

    /// Puts a value in place of the old one, which it returns.
    pub fn send_replace(&self, value: T) -> T {
        let mut old = value;
        self.send_modify(|current| std::mem::swap(current, &mut old));
        old
    }

    /// Changes the value in place.
    pub fn send_modify(&self, modify: impl FnOnce(&mut T)) {
        self.send_if_modified(|value| {
            modify(value);
            true
        });
    }

    /// Changes the value in place, if `modify` says that it did. Returns what it said.
    pub fn send_if_modified(&self, modify: impl FnOnce(&mut T) -> bool) -> bool {
        let modified = {
            let mut slot = self.0.slot.lock();
            let modified = modify(&mut slot.value);
            slot.version += u64::from(modified);
            modified
        };
        if modified {
            self.0.changed.notify_waiters();
        }
        modified
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        if self.0.senders.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0.slot.lock().closed = true;
            self.0.changed.notify_waiters();
        }
    }
}

impl<T> Receiver<T> {
    /// Looks at the value, without taking it as seen.
    pub fn borrow(&self) -> Ref<'_, T> {
        Ref(self.shared.slot.lock())
    }

    /// Looks at the value and takes it as seen.
    pub fn borrow_and_update(&mut self) -> Ref<'_, T> {
        let slot = self.shared.slot.lock();
        self.seen = slot.version;
        Ref(slot)
    }

    /// Resolves when the value is newer than the one seen last, and takes it as seen.
    ///
    /// # Errors
    /// [`Closed`] when the sender is gone and there is nothing newer.
    pub async fn changed(&mut self) -> Result<(), Closed> {
        let shared = Arc::clone(&self.shared);
        loop {
            let notified = shared.changed.notified();
            {
                let slot = shared.slot.lock();
                if slot.version != self.seen {
                    self.seen = slot.version;
                    return Ok(());
                }
                if slot.closed {
                    return Err(Closed);
                }
            }
            notified.await;
        }
    }

    /// Resolves when the value is as wished, and takes it as seen.
    ///
    /// # Errors
    /// [`Closed`] when the sender is gone and the value is not as wished.
    pub async fn wait_for(&mut self, mut wish: impl FnMut(&T) -> bool) -> Result<(), Closed> {
        loop {
            if wish(&self.borrow_and_update()) {
                return Ok(());
            }
            self.changed().await?;
        }
    }
}

impl<T> Clone for Receiver<T> {
    fn clone(&self) -> Receiver<T> {
        Receiver { shared: Arc::clone(&self.shared), seen: self.seen }
    }
}

impl<T: std::fmt::Debug> std::fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Sender").field(&self.0.slot.lock().value).finish()
    }
}

impl<T: std::fmt::Debug> std::fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Receiver").field(&self.shared.slot.lock().value).finish()
    }
}
