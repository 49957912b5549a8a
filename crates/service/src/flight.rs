//! One creation per name at a time: owns the lanes in which requests for one name queue.
//!
//! Guarantees that a name has a lane only while somebody uses it, and that there are never more than a bound.

use std::collections::BTreeMap;
use std::sync::Arc;

use kelda_format::StreamName;
use parking_lot::Mutex;
use tokio::sync::OwnedMutexGuard;

use crate::NodeFault;

#[derive(Default)]
struct Lane {
    gate: Arc<tokio::sync::Mutex<()>>,
    users: usize,
}

/// The names that are being created.
pub(crate) struct Flights {
    lanes: Mutex<BTreeMap<StreamName, Lane>>,
    max_names: usize,
}

/// The right to create one name; gives it back when dropped.
pub(crate) struct Flight {
    // Declared first, so that the next in the lane may go before the lane is counted out.
    _gate: OwnedMutexGuard<()>,
    _seat: Seat,
}

/// A place in a lane, also while waiting.
struct Seat {
    flights: Arc<Flights>,
    name: StreamName,
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut lanes = self.flights.lanes.lock();
        if let Some(lane) = lanes.get_mut(&self.name) {
            lane.users -= 1;
            if lane.users == 0 {
                lanes.remove(&self.name);
            }
        }
    }
}

impl Flights {
    /// At most `max_names` names at once.
    pub(crate) fn new(max_names: usize) -> Arc<Flights> {
        Arc::new(Flights { lanes: Mutex::default(), max_names })
    }

    /// Waits until nobody else creates this name.
    ///
    /// # Errors
    /// [`NodeFault::Overloaded`] when too many names are being created.
    pub(crate) async fn enter(self: &Arc<Flights>, name: &StreamName) -> Result<Flight, NodeFault> {
        let (seat, gate) = {
            let mut lanes = self.lanes.lock();
            let names = lanes.len();
            if names >= self.max_names && !lanes.contains_key(name) {
                return Err(NodeFault::Overloaded { what: format!("{names} streams are being created") });
            }
            let lane = lanes.entry(name.clone()).or_default();
            lane.users += 1;
            (Seat { flights: Arc::clone(self), name: name.clone() }, Arc::clone(&lane.gate))
        };
        Ok(Flight { _gate: gate.lock_owned().await, _seat: seat })
    }

    /// Names that have a lane now.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.lanes.lock().len()
    }
}

#[cfg(test)]
mod tests;
