//! Create: owns the one operation that makes a name stand for a stream, with content and seal when the caller
//! gives them.
//!
//! Guarantees that an existing name is answered with its stream unchanged; that the body of a request that did
//! not create is never appended; that an entry with content is *initialising*, and so not found by anybody,
//! until content and seal are durable, in one WAL entry (P16), so that a repeat after a crash either finds all
//! of it or nothing. Requests for one name take turns here; two nodes settle through the log.

use std::sync::Arc;

use kelda_engine::AppendError as EngineError;
use kelda_format::command::CreateStream;
use kelda_format::rows::{EntryRow, EntryState, Expiry};
use kelda_format::{Batch, StreamId, StreamName};
use kelda_meta::{Outcome, ProposeError, Rejection};
use tokio::sync::oneshot;

use crate::append::{Receipt, Refused};
use crate::caller::{Caller, Denied, Operation, authorise};
use crate::info::StreamInfo;
use crate::service::{Inner, Service};
use crate::{
    ConfigError, Content, ContentError, Difference, Fact, Fault, Field, NodeFault, Problem, StreamConfig,
    content_type,
};

/// How often a creation looks again after another one, an expiry or an unknown outcome came between.
const CREATE_ATTEMPTS: u32 = 8;

/// What to create.
#[derive(Clone, Debug)]
pub struct CreateRequest {
    /// The name.
    pub name: StreamName,
    /// The configuration; what is `None` in it is no opinion.
    pub config: StreamConfig,
    /// The first records. An empty JSON array is no record.
    pub content: Content,
    /// Whether the stream is to be sealed; `None` is no opinion, which means not sealed for a new stream.
    pub seal: Option<bool>,
}

impl CreateRequest {
    /// A plain stream of this name without an opinion about anything.
    #[must_use]
    pub fn new(name: StreamName) -> CreateRequest {
        CreateRequest { name, config: StreamConfig::default(), content: Content::Empty, seal: None }
    }
}

/// A stream that exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Created {
    /// Whether this request created it; if not, its content was not appended.
    pub new: bool,
    /// What the stream is.
    pub info: StreamInfo,
    /// What the content got, for a new stream that has some.
    pub receipt: Option<Receipt>,
}

/// Why there is no such stream afterwards, or not the one that was asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CreateError {
    /// The caller may not.
    #[error(transparent)]
    Denied(#[from] Denied),
    /// A reserved name.
    #[error("the name {name} is reserved: its first segment begins with \"__\"")]
    Reserved {
        /// The name.
        name: StreamName,
    },
    /// A configuration that cannot be.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The content cannot be appended.
    #[error(transparent)]
    Content(#[from] ContentError),
    /// The stream exists with another configuration.
    #[error("the stream {} exists with another configuration: {}", info.name, list(differences))]
    Conflict {
        /// The fields that differ, at least one.
        differences: Vec<Difference>,
        /// The stream as it is.
        info: Box<StreamInfo>,
    },
    /// The name is held by a deleted stream whose forks live.
    #[error("the name {name} is not free: its stream was deleted and forks of it live")]
    Held {
        /// The name.
        name: StreamName,
    },
    /// The node cannot now.
    #[error(transparent)]
    Node(#[from] NodeFault),
}

fn list(differences: &[Difference]) -> String {
    let texts = differences.iter().map(|d| format!("{} is {}, not {}", d.field, d.existing, d.requested));
    texts.collect::<Vec<_>>().join("; ")
}

impl Fault for CreateError {
    fn problem(&self) -> Problem {
        match self {
            CreateError::Denied(error) => error.problem(),
            CreateError::Reserved { .. } => Problem::ReservedName,
            CreateError::Config(error) => error.problem(),
            CreateError::Content(error) => error.problem(),
            CreateError::Conflict { .. } => Problem::ConfigConflict,
            CreateError::Held { .. } => Problem::NameHeld,
            CreateError::Node(error) => error.problem(),
        }
    }

    fn fields(&self) -> Vec<Field> {
        match self {
            CreateError::Config(error) => error.fields(),
            CreateError::Content(error) => error.fields(),
            CreateError::Node(error) => error.fields(),
            CreateError::Conflict { differences, info } => vec![
                ("differences", Fact::Differences(differences.clone())),
                ("stream_id", Fact::Stream(info.stream)),
                ("next_offset", Fact::Offset(info.next)),
            ],
            CreateError::Denied(_) | CreateError::Reserved { .. } | CreateError::Held { .. } => Vec::new(),
        }
    }
}

/// A request whose configuration and content passed their checks.
pub(crate) struct Wanted {
    pub(crate) name: StreamName,
    pub(crate) config: StreamConfig,
    pub(crate) batch: Option<Batch>,
    pub(crate) seal: Option<bool>,
}

impl Wanted {
    /// Whether something has to be durable before the entry may be live.
    pub(crate) fn has_content(&self) -> bool {
        self.batch.is_some() || self.seal == Some(true)
    }
}

/// What one look at the name found.
enum Found {
    /// An answer.
    Answer(Created),
    /// Nothing, or something that has to go first.
    Free,
    /// A stream whose tail is not known now.
    Uncertain(StreamId),
    /// A stream that has expired.
    Expired(StreamId),
    /// A creation that did not finish.
    Unfinished(EntryRow),
}

/// What one attempt came to; `None` when something came between, so that the name has to be looked at again.
pub(crate) type Attempt = Option<Created>;

impl Service {
    /// Creates a stream, or answers with the one that exists.
    ///
    /// # Errors
    /// [`CreateError`]. After [`NodeFault::OutcomeUnknown`] the same request, sent again, completes the
    /// creation exactly once.
    pub async fn create(&self, caller: &Caller, request: CreateRequest) -> Result<Created, CreateError> {
        let CreateRequest { name, mut config, content, seal } = request;
        authorise(caller, Operation::Create, &name)?;
        if name.is_reserved() && !caller.may_reserve() {
            return Err(CreateError::Reserved { name });
        }
        config.validate()?;
        config.normalise();
        let inner = &self.inner;
        let mut wanted = Wanted { name, config, batch: None, seal };
        if let Found::Answer(existing) = inner.look(&wanted)? {
            return Ok(existing);
        }
        let content_type = wanted.config.content_type.as_deref().unwrap_or(content_type::DEFAULT);
        let json = content_type::is_json(content_type);
        wanted.batch = inner.cut(content, move |content| content.into_batch(json)).await??;
        if !wanted.has_content() {
            return inner.carry_out(&wanted).await;
        }
        // Runs to its end even when the caller goes away, which must not leave the entry initialising.
        let (answer, result) = oneshot::channel();
        let inner = Arc::clone(inner);
        self.inner.env.spawn("create-stream", async move {
            // A caller that went away does not want the result.
            let _ = answer.send(inner.carry_out(&wanted).await);
        });
        result.await.unwrap_or(Err(NodeFault::OutcomeUnknown.into()))
    }
}

impl Inner {
    /// Creates, one request per name at a time.
    async fn carry_out(&self, wanted: &Wanted) -> Result<Created, CreateError> {
        let _flight = self.flights.enter(&wanted.name).await?;
        let mut outcome = Ok(None);
        for _ in 0..CREATE_ATTEMPTS {
            outcome = self.attempt(wanted).await;
            if !matches!(outcome, Ok(None)) {
                break;
            }
        }
        let reason = || format!("creating {} was overtaken {CREATE_ATTEMPTS} times", wanted.name);
        let outcome = outcome
            .and_then(|created| created.ok_or_else(|| NodeFault::Unavailable { reason: reason() }.into()));
        match &outcome {
            Ok(created) => self.follow_new(created.info.stream, created.info.expiry),
            Err(_) => self.leave(&wanted.name),
        }
        outcome
    }

    /// Looks at the name in the current view and compares.
    fn look(&self, wanted: &Wanted) -> Result<Found, CreateError> {
        let view = self.meta.view();
        let Some(entry) = view.entry(&wanted.name) else { return Ok(Found::Free) };
        match entry.state {
            EntryState::SoftDeleted => return Err(CreateError::Held { name: wanted.name.clone() }),
            EntryState::Initialising => return Ok(Found::Unfinished(entry.clone())),
            EntryState::Live if self.is_expired(entry) => return Ok(Found::Expired(entry.stream)),
            EntryState::Live => {}
        }
        let Some(info) = self.info(&view, entry) else { return Ok(Found::Free) };
        if !info.tail_known {
            return Ok(Found::Uncertain(entry.stream));
        }
        let mut differences = wanted.config.differences(entry);
        if let Some(seal) = wanted.seal
            && seal != info.sealed
        {
            let (existing, requested) = (info.sealed.to_string(), seal.to_string());
            differences.push(Difference { field: "sealed".to_owned(), existing, requested });
        }
        if differences.is_empty() {
            Ok(Found::Answer(Created { new: false, info, receipt: None }))
        } else {
            Err(CreateError::Conflict { differences, info: Box::new(info) })
        }
    }

    /// Does what the state of the name asks for.
    async fn attempt(&self, wanted: &Wanted) -> Result<Attempt, CreateError> {
        match self.look(wanted)? {
            Found::Answer(existing) => Ok(Some(existing)),
            Found::Expired(stream) => {
                self.expire(stream).await?;
                Ok(None)
            }
            Found::Uncertain(stream) => match self.certain_info(&wanted.name, stream).await {
                Err(Some(fault)) => Err(fault.into()),
                Ok(_) | Err(None) => Ok(None),
            },
            Found::Unfinished(entry) => self.settle(wanted, &entry).await,
            Found::Free => self.propose(wanted).await,
        }
    }

    /// Proposes the entry; whoever loses a race finds the winner's at the next look.
    async fn propose(&self, wanted: &Wanted) -> Result<Attempt, CreateError> {
        let config = &wanted.config;
        let mut command = CreateStream {
            name: wanted.name.clone(),
            kind: config.kind,
            content_type: config.content_type.clone().unwrap_or_else(|| content_type::DEFAULT.to_owned()),
            expiry: config.expiry.unwrap_or(Expiry::Never),
            retention: config.retention,
            arguments: config.arguments.clone().unwrap_or_default(),
            parent: None,
            initialising: wanted.has_content(),
            at: self.now(),
            // With content it is needed open at once.
            open: wanted.has_content().then(|| self.engine.session()),
        };
        let mut outcome = self.meta.propose(command.clone().into()).await;
        if let Err(ProposeError::Rejected(Rejection::SessionEnded { .. })) = outcome {
            // The session is being replaced; the append waits for the next one.
            command.open = None;
            outcome = self.meta.propose(command.into()).await;
        }
        match outcome {
            Ok(Outcome::Created { stream, .. }) => {
                if wanted.has_content() {
                    self.fill(wanted, stream).await
                } else {
                    Ok(self.created(wanted, stream, None))
                }
            }
            // The name was taken meanwhile, or the outcome is unknown: the view tells.
            Ok(_) | Err(ProposeError::Rejected(Rejection::SoftDeleted { .. }) | ProposeError::Unknown(_)) => {
                Ok(None)
            }
            Err(ProposeError::Rejected(rejection)) => {
                Err(NodeFault::Unavailable { reason: rejection.to_string() }.into())
            }
            Err(ProposeError::Unavailable(reason)) => Err(NodeFault::Unavailable { reason }.into()),
            Err(ProposeError::Full(_)) => Err(NodeFault::DiskFull.into()),
        }
    }
}

impl Refused {
    /// What a refused first append means for a creation.
    pub(crate) fn into_create(self) -> CreateError {
        match self {
            Refused::Node(fault) => fault.into(),
            Refused::Engine(EngineError::Overloaded(what)) => {
                NodeFault::Overloaded { what: what.to_owned() }.into()
            }
            Refused::Engine(EngineError::DiskFull) => NodeFault::DiskFull.into(),
            Refused::Engine(EngineError::TooLarge { bytes, max }) => {
                ContentError::TooLarge { bytes, max }.into()
            }
            Refused::Engine(error) => NodeFault::Unavailable { reason: error.to_string() }.into(),
        }
    }
}
