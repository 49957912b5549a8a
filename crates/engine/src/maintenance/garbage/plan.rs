//! What may be deleted: pure. Owns the ages. Guarantees that what is in use, reserved, or of the future is no orphan.

use std::time::Duration;

use kelda_format::keys::parse_data_key;
use kelda_format::rows::DestroyRow;
use kelda_format::{ObjectId, Timestamp};
use kelda_meta::State;

/// The time so long before `now`.
pub(super) fn before(now: Timestamp, age: Duration) -> Timestamp {
    Timestamp(now.0.saturating_sub(u64::try_from(age.as_millis()).unwrap_or(u64::MAX)))
}

/// Whether a queued object has waited long enough.
pub(super) fn is_due(row: &DestroyRow, now: Timestamp, grace: Duration) -> bool {
    row.queued_at <= before(now, grace)
}

/// Whether an object of this key, last written at `modified`, is one that nobody knows and nobody will: its id was handed
/// out, and is neither reserved, nor in use, nor queued. `view` was taken after the object was seen, so that it may have been
/// committed since, but not reserved: ids are never reused (P13).
pub(super) fn is_orphan(view: &State, key: &str, modified: u64, written_before: Timestamp) -> bool {
    let Some(object) = parse_data_key(view.cluster(), key) else { return false };
    let handed_out = object.0 < view.numbers().next_object;
    handed_out && modified < written_before.0 && !is_known(view, object)
}

fn is_known(view: &State, object: ObjectId) -> bool {
    view.object(object).is_some() || view.is_reserved(object) || view.is_to_destroy(object)
}

#[cfg(test)]
mod tests {
    use kelda_format::ClusterId;
    use kelda_format::keys::data_key;
    use kelda_format::rows::DestroyReason;

    use super::*;

    #[test]
    fn the_queue_waits_for_the_grace() {
        let row =
            DestroyRow { object: ObjectId(1), queued_at: Timestamp(1000), reason: DestroyReason::Expired };
        let grace = Duration::from_millis(500);
        assert!(!is_due(&row, Timestamp(1499), grace));
        assert!(is_due(&row, Timestamp(1500), grace));
        assert!(is_due(&row, Timestamp(1000), Duration::ZERO));
    }

    #[test]
    fn ids_of_the_future_and_other_keys_are_no_orphans() {
        let cluster = ClusterId([7; 16]);
        let view = State::new(cluster);
        let key = data_key(cluster, ObjectId(1));
        assert!(!is_orphan(&view, &key, 0, Timestamp(10)), "id 1 was never handed out");
        assert!(!is_orphan(&view, "kelda-cluster", 0, Timestamp(10)));
        let other = data_key(ClusterId([8; 16]), ObjectId(0));
        assert!(!is_orphan(&view, &other, 0, Timestamp(10)));
        let handed_out = data_key(cluster, ObjectId(0));
        assert!(is_orphan(&view, &handed_out, 9, Timestamp(10)));
        assert!(!is_orphan(&view, &handed_out, 10, Timestamp(10)), "it is too young");
    }
}
