//! What goes wrong on the in-memory log, on purpose: owns rates, delays and holds, guarantees that all chance
//! comes from the environment it was given (a seed repeats a run), never changes the log itself.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use kelda_env::Env;
use kelda_env::watch;
use parking_lot::Mutex;

use crate::store::LogError;

/// A point at which a call can be delayed, held or lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// Before an entry is stored.
    Append,
    /// Between the creation of a slot and the check of the truncation bound.
    Created,
    /// After the check, before the answer.
    Checked,
    /// Before entries or a snapshot are fetched.
    Read,
    /// Between a fetch and the check of the truncation bound.
    Fetched,
    /// Before a snapshot is stored.
    PutSnapshot,
    /// Between the storing of a snapshot and the move of the pointer.
    SnapshotStored,
    /// Between the move of the pointer and the first deletion.
    PointerMoved,
    /// Between two deletions.
    Deleting,
}

/// How often things go wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FaultRates {
    /// Every step takes between zero and this long.
    pub max_delay: Duration,
    /// Calls that fail, before, after or long before their effect, per thousand steps.
    pub lost_per_mille: u16,
}

/// The faults of one handle.
pub(super) struct Faults {
    env: Option<Env>,
    rates: Arc<Mutex<FaultRates>>,
    holds: Arc<watch::Sender<BTreeMap<Step, usize>>>,
}

impl fmt::Debug for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Faults").field("rates", &self.rates).finish_non_exhaustive()
    }
}

impl Faults {
    pub(super) fn none() -> Self {
        Self { env: None, rates: Arc::default(), holds: Arc::new(watch::Sender::new(BTreeMap::new())) }
    }

    pub(super) fn seeded(env: Env, rates: FaultRates) -> Self {
        Self { env: Some(env), rates: Arc::new(Mutex::new(rates)), ..Self::none() }
    }

    pub(super) fn without_holds(&self) -> Self {
        Self { env: self.env.clone(), rates: Arc::clone(&self.rates), ..Self::none() }
    }

    pub(super) fn set_rates(&self, rates: FaultRates) {
        *self.rates.lock() = rates;
    }

    pub(super) fn hold(&self, step: Step) -> Hold {
        self.holds.send_modify(|holds| *holds.entry(step).or_default() += 1);
        Hold { step, holds: Arc::clone(&self.holds) }
    }

    /// Whether this message gets lost.
    pub(super) fn lost(&self) -> bool {
        let rate = u64::from(self.rates.lock().lost_per_mille);
        self.env.as_ref().is_some_and(|env| rate > 0 && env.random.below(1000) < rate)
    }

    /// Whether a late request arrives now.
    pub(super) fn arrives(&self) -> bool {
        self.env.as_ref().is_some_and(|env| env.random.below(16) == 0)
    }

    /// Waits as long as the rates and the holds say.
    pub(super) async fn pause(&self, step: Step) {
        let max = self.rates.lock().max_delay;
        if let Some(env) = self.env.as_ref().filter(|_| !max.is_zero()) {
            let micros = u64::try_from(max.as_micros()).unwrap_or(u64::MAX);
            let delay = env.random.below(micros.saturating_add(1));
            env.clock.sleep(Duration::from_micros(delay)).await;
        }
        let mut holds = self.holds.subscribe();
        // The sender lives in `self`, so this ends only when no hold is left on the step.
        let _ = holds.wait_for(|holds| !holds.contains_key(&step)).await;
    }

    /// Waits, then fails as often as the rates say.
    pub(super) async fn may_fail(&self, step: Step) -> Result<(), LogError> {
        self.pause(step).await;
        if self.lost() { Err(LogError::Unavailable(format!("injected at {step:?}"))) } else { Ok(()) }
    }
}

/// Stops calls at one step while it lives.
#[derive(Debug)]
pub struct Hold {
    step: Step,
    holds: Arc<watch::Sender<BTreeMap<Step, usize>>>,
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.holds.send_modify(|holds| {
            if let Some(count) = holds.get_mut(&self.step) {
                *count -= 1;
                if *count == 0 {
                    holds.remove(&self.step);
                }
            }
        });
    }
}
