//! The outside as the command line sees it: owns its only reading of the clock and of what standard output is,
//! never waits.

#![expect(
    clippy::disallowed_methods,
    reason = "the command line has no environment to inject; this is its one clock"
)]

use std::io::IsTerminal as _;
use std::time::{SystemTime, UNIX_EPOCH};

use jiff::Timestamp;

/// Milliseconds since 1970.
pub fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Milliseconds since 1970 as an RFC 3339 time in UTC.
pub fn rfc3339(ms: u64) -> String {
    let time = i64::try_from(ms).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok());
    time.unwrap_or(Timestamp::MAX).to_string()
}

/// Whether a person reads standard output.
pub fn stdout_is_terminal() -> bool {
    std::io::stdout().is_terminal()
}
