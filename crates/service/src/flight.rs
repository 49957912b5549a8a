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
    lanes: Mutex<Lanes>,
    max_users: usize,
}

#[derive(Default)]
struct Lanes {
    by_name: BTreeMap<StreamName, Lane>,
    users: usize,
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
        lanes.users -= 1;
        if let Some(lane) = lanes.by_name.get_mut(&self.name) {
            lane.users -= 1;
            if lane.users == 0 {
                lanes.by_name.remove(&self.name);
            }
        }
    }
}

impl Flights {
    /// At most `max_users` requests at once, flying or waiting.
    pub(crate) fn new(max_users: usize) -> Arc<Flights> {
        Arc::new(Flights { lanes: Mutex::default(), max_users })
    }

    /// Waits until nobody else creates this name.
    ///
    /// # Errors
    /// [`NodeFault::Overloaded`] when too many creations are in flight.
    pub(crate) async fn enter(self: &Arc<Flights>, name: &StreamName) -> Result<Flight, NodeFault> {
        let (seat, gate) = {
            let mut lanes = self.lanes.lock();
            if lanes.users >= self.max_users {
                return Err(NodeFault::Overloaded { what: format!("{} creations", lanes.users) });
            }
            lanes.users += 1;
            let lane = lanes.by_name.entry(name.clone()).or_default();
            lane.users += 1;
            (Seat { flights: Arc::clone(self), name: name.clone() }, Arc::clone(&lane.gate))
        };
        Ok(Flight { _gate: gate.lock_owned().await, _seat: seat })
    }

    /// Requests that fly or wait now.
    pub(crate) fn users(&self) -> usize {
        self.lanes.lock().users
    }

    /// Names that have a lane now.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.lanes.lock().by_name.len()
    }
}

#[cfg(test)]
mod tests;
