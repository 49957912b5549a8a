//! Cursors of live reads, which keep caches from answering a reader with the same reply for ever.
//!
//! Owns the rule of the protocol's section 10.1. Guarantees that the cursor of a reply is greater than the one the
//! client sent. Never looks at the stream.

/// Length of an interval, in milliseconds.
const INTERVAL_MS: u64 = 20_000;
/// The moment intervals are counted from: 2024-10-09T00:00:00Z.
const EPOCH_MS: u64 = 1_728_432_000_000;
/// Most intervals that a repeated cursor is moved on by: an hour.
const MAX_JITTER: u64 = 180;

/// The cursor of a reply at `now_ms` to a client that sent `sent`; `random` is any number.
#[must_use]
pub fn next(now_ms: u64, sent: Option<u64>, random: u64) -> u64 {
    let current = now_ms.saturating_sub(EPOCH_MS) / INTERVAL_MS;
    match sent {
        Some(sent) if sent >= current => sent.saturating_add(1 + random % MAX_JITTER),
        _ => current,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_intervals_and_moves_past_what_was_sent() {
        assert_eq!(next(EPOCH_MS, None, 7), 0);
        assert_eq!(next(EPOCH_MS + 100 * INTERVAL_MS + 1, None, 7), 100);
        assert_eq!(next(EPOCH_MS + 100 * INTERVAL_MS, Some(99), 7), 100);
        assert_eq!(next(EPOCH_MS + 100 * INTERVAL_MS, Some(100), 0), 101);
        assert_eq!(next(EPOCH_MS + 100 * INTERVAL_MS, Some(500), u64::MAX), 500 + 1 + u64::MAX % MAX_JITTER);
        assert_eq!(next(0, None, 0), 0, "a clock before the epoch does not wrap");
    }
}
