//! Reservations that were never committed: owns giving them up. Guarantees that one is given up only when it is old; a live
//! upload whose reservation went reserves anew (P13). Never touches an object.

use kelda_format::command::ExpireReservations;

use super::plan;
use crate::engine::Inner;
use crate::propose::propose;

impl Inner {
    /// Gives up the reservations that are too old; their objects go to the destroy queue.
    pub(super) async fn expire_reservations(&self) {
        let shared = &self.shared;
        let at = shared.now();
        let before = plan::before(at, shared.config.maintenance.reservation_age);
        if !shared.meta.view().reservations().any(|row| row.at < before) {
            return;
        }
        if let Err(failure) = propose(shared, ExpireReservations { owner: None, before, at }).await {
            tracing::debug!(?failure, "old reservations were not given up, later again");
        }
    }
}
