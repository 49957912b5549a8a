//! A deadline that moves.
//!
//! Owns one timer for a deadline that is pushed back far more often than it passes. Guarantees that pushing it back costs
//! no timer: the old one fires, finds the deadline moved and is set anew. Never fires early.

use std::task::{Context, Poll};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use kelda_env::Clock;

/// At most one running timer, and when it fires.
#[derive(Default)]
pub(super) struct Alarm {
    timer: Option<(Duration, BoxFuture<'static, ()>)>,
}

impl Alarm {
    /// Whether `due`, a moment of the monotonic clock, has come; if not, wakes the caller no later than then.
    pub(super) fn poll(&mut self, clock: &dyn Clock, due: Duration, context: &mut Context<'_>) -> bool {
        loop {
            let now = clock.monotonic();
            if now >= due {
                return true;
            }
            match &mut self.timer {
                Some((at, timer)) if *at <= due => match timer.poll_unpin(context) {
                    Poll::Ready(()) => self.timer = None,
                    Poll::Pending => return false,
                },
                _ => self.timer = Some((due, clock.sleep(due - now))),
            }
        }
    }
}
