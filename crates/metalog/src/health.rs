//! How the metadata plane is: owns the words for it, guarantees that a stop carries its reason, never decides.

/// What the log can do now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Plane {
    /// Proposals are written and entries are read.
    #[default]
    Ready,
    /// The log does not answer; it is tried again and again, the last view stays readable.
    Stalled {
        /// What the last try answered.
        reason: String,
    },
    /// Nothing is written or read any more; the last view stays readable. Only a restart can help, and only
    /// after the reason was removed.
    Stopped {
        /// What was found, and where.
        reason: String,
    },
    /// Closed by its owner.
    Closed,
}

/// The state of one [`crate::MetaLog`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Health {
    /// What the log can do now.
    pub plane: Plane,
    /// The index of the last entry applied.
    pub applied: u64,
    /// The index of the newest snapshot known, 0 without one.
    pub snapshot: u64,
    /// Why the last snapshot could not be written; the log grows until one can.
    pub snapshot_error: Option<String>,
}
