//! One append on the in-memory log: owns the order create, check, answer (P20), guarantees that a fault at any
//! step is answered honestly, never tries again by itself.

use bytes::Bytes;

use super::faults::{Faults, Step};
use super::shared::Shared;
use crate::store::AppendError;

pub(super) async fn append(
    shared: &Shared,
    faults: &Faults,
    index: u64,
    entry: Bytes,
) -> Result<(), AppendError> {
    faults.pause(Step::Append).await;
    shared.land(|| faults.arrives());
    if faults.lost() {
        return Err(AppendError::Failed("injected: the request was not sent".to_owned()));
    }
    if faults.lost() {
        shared.delay(index, entry);
        return Err(AppendError::Unknown("injected: the request is lost, or late".to_owned()));
    }
    let created = shared.create(index, &entry);
    faults.pause(Step::Created).await;
    // A taken slot below the bound is not a lost race: only a look-up tells what became of the entry (P21).
    shared.above_bound(index)?;
    created?;
    shared.announce(index);
    faults.pause(Step::Checked).await;
    if faults.lost() {
        return Err(AppendError::Unknown("injected: the answer was lost".to_owned()));
    }
    Ok(())
}
