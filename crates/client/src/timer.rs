//! The client's only timer: owns the one call that waits, so that nothing else in the library reads a clock.

use std::time::Duration;

/// Waits for `pause`.
#[expect(
    clippy::disallowed_methods,
    reason = "the client library has no environment to inject; this is its one timer"
)]
pub(crate) async fn sleep(pause: Duration) {
    tokio::time::sleep(pause).await;
}
