//! Update: changes the retention in force and applies it at once. The declared arguments, which redeclaring compares, stay as they
//! are; a stream that was made without any is given some once.

use kelda_format::command::PutEntry;
use kelda_format::rows::{EntryRow, Retention};
use kelda_format::{StreamId, StreamName};
use kelda_meta::ProposeError;

use crate::caller::{Caller, Operation};
use crate::head::HeadError;
use crate::info::StreamInfo;
use crate::lookup::LookupError;
use crate::service::Service;
use crate::stream_config::{ConfigError, check_retention};
use crate::{Fault, Field, NodeFault, Problem};

/// How often an update is based on a newer entry after another one came between.
const UPDATE_ATTEMPTS: u32 = 8;

/// What to do with one bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Patch {
    /// Leave it as it is.
    #[default]
    Keep,
    /// Remove it: no bound.
    Clear,
    /// Put this one.
    Set(u64),
}

impl Patch {
    fn apply(self, value: Option<u64>) -> Option<u64> {
        match self {
            Patch::Keep => value,
            Patch::Clear => None,
            Patch::Set(value) => Some(value),
        }
    }
}

/// A change of retention.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RetentionPatch {
    /// Milliseconds that records are kept.
    pub max_age_ms: Patch,
    /// Bytes that are kept.
    pub max_bytes: Patch,
    /// Bytes of a segment.
    pub segment_bytes: Patch,
}

impl RetentionPatch {
    fn apply(self, retention: Retention) -> Retention {
        Retention {
            max_age_ms: self.max_age_ms.apply(retention.max_age_ms),
            max_bytes: self.max_bytes.apply(retention.max_bytes),
            segment_bytes: self.segment_bytes.apply(retention.segment_bytes),
        }
    }
}

/// Why retention was not changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UpdateError {
    /// The name gave no stream.
    #[error(transparent)]
    Lookup(#[from] LookupError),
    /// A bound that cannot be.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The node cannot now.
    #[error(transparent)]
    Node(#[from] NodeFault),
}

impl From<HeadError> for UpdateError {
    fn from(error: HeadError) -> UpdateError {
        match error {
            HeadError::Lookup(error) => error.into(),
            HeadError::Node(error) => error.into(),
        }
    }
}

impl Fault for UpdateError {
    fn problem(&self) -> Problem {
        match self {
            UpdateError::Lookup(error) => error.problem(),
            UpdateError::Config(error) => error.problem(),
            UpdateError::Node(error) => error.problem(),
        }
    }

    fn fields(&self) -> Vec<Field> {
        match self {
            UpdateError::Lookup(error) => error.fields(),
            UpdateError::Config(error) => error.fields(),
            UpdateError::Node(error) => error.fields(),
        }
    }
}

impl Service {
    /// Changes the retention in force and returns what the stream is then.
    ///
    /// # Errors
    /// [`UpdateError`].
    pub async fn update(
        &self,
        caller: &Caller,
        name: &StreamName,
        patch: RetentionPatch,
        if_stream: Option<StreamId>,
    ) -> Result<StreamInfo, UpdateError> {
        self.change(caller, name, if_stream, |entry| {
            let retention = patch.apply(entry.retention);
            check_retention(&retention)?;
            let changed = retention != entry.retention;
            Ok(changed.then_some(Change { retention: Some(retention), arguments: None }))
        })
        .await
    }

    /// Gives a stream that has no declared arguments those that `spell` makes of its retention in force, and returns what the
    /// stream is then. One that has some keeps them. From then on a change of retention leaves its arguments as they are.
    ///
    /// # Errors
    /// [`UpdateError`].
    pub async fn pin_arguments(
        &self,
        caller: &Caller,
        name: &StreamName,
        stream: StreamId,
        spell: impl Fn(&Retention) -> Vec<(String, String)> + Send + Sync,
    ) -> Result<StreamInfo, UpdateError> {
        self.change(caller, name, Some(stream), |entry| {
            let free = entry.arguments.is_empty();
            Ok(free.then(|| Change { retention: None, arguments: Some(spell(&entry.retention)) }))
        })
        .await
    }

    /// Changes an entry as `plan` says, which is asked again when another change came between.
    async fn change(
        &self,
        caller: &Caller,
        name: &StreamName,
        if_stream: Option<StreamId>,
        plan: impl Fn(&EntryRow) -> Result<Option<Change>, UpdateError> + Send,
    ) -> Result<StreamInfo, UpdateError> {
        let inner = &self.inner;
        for _ in 0..UPDATE_ATTEMPTS {
            let command = {
                let view = inner.meta.view();
                let entry = inner.find(&view, (caller, Operation::Update), name, if_stream)?;
                plan(entry)?.map(|Change { retention, arguments }| PutEntry {
                    name: name.clone(),
                    stream: entry.stream,
                    expected_version: entry.version,
                    state: None,
                    expiry: None,
                    retention,
                    arguments,
                    at: inner.now(),
                })
            };
            let Some(command) = command else { return Ok(self.head(caller, name, if_stream)?) };
            let (stream, limits) = (command.stream, command.retention.is_some());
            match inner.meta.propose(command.into()).await {
                Ok(_) => {
                    if limits && let Err(error) = inner.engine.retain(stream).await {
                        tracing::debug!(%stream, %error, "changed limits were not applied at once");
                    }
                    return Ok(self.head(caller, name, if_stream)?);
                }
                Err(ProposeError::Rejected(_)) => {}
                Err(ProposeError::Unavailable(reason)) => {
                    return Err(NodeFault::Unavailable { reason }.into());
                }
                Err(ProposeError::Full(_)) => return Err(NodeFault::DiskFull.into()),
                Err(ProposeError::Unknown(_)) => return Err(NodeFault::OutcomeUnknown.into()),
            }
        }
        let reason = format!("updating {name} was overtaken {UPDATE_ATTEMPTS} times");
        Err(NodeFault::Unavailable { reason }.into())
    }
}

/// What of an entry changes; what is `None` stays.
struct Change {
    retention: Option<Retention>,
    arguments: Option<Vec<(String, String)>>,
}
