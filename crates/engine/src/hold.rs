//! Holding back the collector: owns the count of those who copy objects that a view names. Guarantees that no deletion
//! begins while anybody holds. Never waits: a deletion that had begun was planned from an earlier view, in which its
//! objects were unreachable already, and what is unreachable stays so (P13).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How many hold the collector back.
#[derive(Clone, Debug, Default)]
pub(crate) struct Holds(Arc<AtomicUsize>);

/// Keeps the collector from deleting objects until it is dropped. A view taken after it was got names only objects that
/// are there as long as it lives.
#[derive(Debug)]
#[must_use = "the collector goes on when it is dropped"]
pub struct CollectionHold(Holds);

impl Holds {
    /// Whether anybody holds: nothing may be deleted then.
    pub(crate) fn is_held(&self) -> bool {
        self.0.load(Ordering::SeqCst) > 0
    }

    pub(crate) fn hold(&self) -> CollectionHold {
        self.0.fetch_add(1, Ordering::SeqCst);
        CollectionHold(self.clone())
    }
}

impl Drop for CollectionHold {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_to_let_go_lets_the_collector_go_on() {
        let holds = Holds::default();
        assert!(!holds.is_held());
        let (one, two) = (holds.hold(), holds.hold());
        drop(one);
        assert!(holds.is_held());
        drop(two);
        assert!(!holds.is_held());
    }
}
