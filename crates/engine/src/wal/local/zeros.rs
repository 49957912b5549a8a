//! Writing a prepared segment over with zeros: owns the decision whether that pays. Guarantees that it holds up nobody
//! who waits for the segment, and takes a bounded share of the disk. Never touches a segment that has an entry.
//!
//! Space that was only allocated is marked so by usual file systems, and the first write to each part of it changes
//! their own metadata, which `fdatasync` has to make durable as well: it takes about twice as long as over bytes that
//! were written before. For small groups, whose cost is the sync, writing twice is the cheaper way; for large ones,
//! whose cost is the bytes, it is not.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use kelda_env::{DiskError, DiskFile};

use super::queue::WalQueue;
use super::room::Slot;
use crate::session::Session;

/// Zeros written between two looks at whether they are still wanted, in bytes.
const STEP_BYTES: u64 = 1 << 20;
/// Groups smaller than this, in bytes, cost more for the sync than for what is in them.
const SMALL_GROUP_BYTES: u64 = 128 << 10;
/// What is written of the very first segment, which somebody may wait for: in bytes.
const FIRST_BYTES: u64 = 16 << 20;
/// Pauses between steps are so many times as long as the step before.
const PAUSE_STEPS: u32 = 3;

/// Whether the next step is worth it: `usual_group` bytes are in a group nowadays, and of the segment being filled,
/// `filled` of `capacity` bytes are taken.
fn pays(usual_group: u64, filled: u64, capacity: u64) -> bool {
    // A segment that fills faster than zeros are written would have its successor come too late.
    usual_group < SMALL_GROUP_BYTES && filled < capacity / 2
}

/// Writes zeros over the beginning of a segment, or all of it, as far as that pays.
pub(crate) async fn write(
    session: &Session,
    queue: &WalQueue,
    slot: Slot,
    file: &Arc<dyn DiskFile>,
) -> Result<(), DiskError> {
    let clock = &session.shared.env.clock;
    let zeros = Bytes::from(vec![0; usize::try_from(STEP_BYTES.min(slot.capacity)).unwrap_or_default()]);
    let first = slot.number == 0;
    let end = if first { slot.capacity.min(FIRST_BYTES) } else { slot.capacity };
    let mut position = 0;
    while position < end {
        let filled = queue.filled_bytes();
        if queue.room_is_awaited() || !pays(queue.usual_group(), filled, slot.capacity) {
            return Ok(());
        }
        let step = usize::try_from(STEP_BYTES.min(end - position)).unwrap_or_default();
        let started = clock.monotonic();
        match file.write_at(&[zeros.slice(..step)], position).await {
            Ok(()) => {}
            // Some file systems copy what is written over; the writer of entries knows what to do about that.
            Err(error) if error.is_full() => return Ok(()),
            Err(error) => return Err(error),
        }
        file.sync_data().await?;
        position += step as u64;
        let pause = (clock.monotonic().saturating_sub(started) * PAUSE_STEPS).max(Duration::from_millis(1));
        if !first && !session.pause(pause).await {
            return Ok(());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_groups_and_time_are_what_it_takes() {
        assert!(pays(0, 0, 64 << 20));
        assert!(pays(SMALL_GROUP_BYTES - 1, 31 << 20, 64 << 20));
        assert!(!pays(SMALL_GROUP_BYTES, 0, 64 << 20));
        assert!(!pays(0, 32 << 20, 64 << 20));
    }
}
