//! What reads find damaged, said in the node's log: owns the memory of what was said. Guarantees one line an object,
//! however many read it, and a bounded memory. Never decides what damage is.

use std::collections::BTreeSet;

use kelda_format::{Offset, StreamId};
use parking_lot::Mutex;

use crate::error::ReadError;

/// Objects that are remembered. Beyond it all are forgotten, so that each is said once more: with so many damaged objects
/// that is the least of the concerns.
const MAX_REMEMBERED: usize = 1024;

/// The objects of which it was said that they are damaged.
#[derive(Debug, Default)]
pub(crate) struct DamageLog {
    said: Mutex<BTreeSet<String>>,
}

impl DamageLog {
    /// Logs `error` if it is damage, and of an object that was not logged before.
    pub(crate) fn report(&self, stream: StreamId, from: Offset, error: &ReadError) {
        let ReadError::Damaged { object, detail } = error else { return };
        if self.is_new(object) {
            tracing::error!(
                object,
                stream = stream.0,
                offset = from.0,
                detail,
                "a read found damage; kelda check names all of it while the node is stopped"
            );
        }
    }

    fn is_new(&self, object: &str) -> bool {
        let mut said = self.said.lock();
        if said.contains(object) {
            return false;
        }
        if said.len() >= MAX_REMEMBERED {
            said.clear();
        }
        said.insert(object.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_new_once_and_the_memory_is_bounded() {
        let log = DamageLog::default();
        assert!(log.is_new("a"));
        assert!(!log.is_new("a"));
        for number in 0..10 * MAX_REMEMBERED {
            assert!(log.is_new(&number.to_string()));
            assert!(log.said.lock().len() <= MAX_REMEMBERED);
        }
    }
}
