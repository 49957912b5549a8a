//! Create: owns the one operation that makes a name stand for a stream, with content and seal when the caller
//! gives them.
//!
//! Guarantees that an existing name is answered with its stream unchanged; that the body of a request that did
//! not create is never appended; that an entry with content is *initialising*, and so not found by anybody,
//! until content and seal are durable, in one WAL entry (P16), so that a repeat after a crash either finds all
//! of it or nothing. Requests for one name take turns here; two nodes settle through the log.

use kelda_engine::AppendError as EngineError;
use kelda_format::command::{CreateStream, PutEntry};
use kelda_format::rows::{EntryRow, EntryState, Expiry};
use kelda_format::{Batch, Offset, StreamId, StreamName, Timestamp};
use kelda_meta::{Outcome, ProposeError};

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
struct Wanted {
    name: StreamName,
    config: StreamConfig,
    batch: Option<Batch>,
    seal: Option<bool>,
}

impl Wanted {
    /// Whether something has to be durable before the entry may be live.
    fn has_content(&self) -> bool {
        self.batch.is_some() || self.seal == Some(true)
    }
}

/// What one look at the name found.
enum Found {
    /// An answer.
    Answer(Created),
    /// Nothing, or something that has to go first.
    Free,
    /// A stream that has expired.
    Expired(StreamId),
    /// A creation that did not finish.
    Unfinished(EntryRow),
}

/// What one attempt came to; `None` when something came between, so that the name has to be looked at again.
type Attempt = Option<Created>;

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
        wanted.batch = content.into_batch(content_type::is_json(content_type))?;
        let _flight = inner.flights.enter(&wanted.name).await?;
        for _ in 0..CREATE_ATTEMPTS {
            if let Some(created) = inner.attempt(&wanted).await? {
                return Ok(created);
            }
        }
        let reason = format!("creating {} was overtaken {CREATE_ATTEMPTS} times", wanted.name);
        Err(NodeFault::Unavailable { reason }.into())
    }
}

impl Inner {
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

    async fn attempt(&self, wanted: &Wanted) -> Result<Attempt, CreateError> {
        match self.look(wanted)? {
            Found::Answer(existing) => Ok(Some(existing)),
            Found::Expired(stream) => {
                self.expire(stream).await?;
                Ok(None)
            }
            Found::Unfinished(entry) => self.settle(wanted, &entry).await,
            Found::Free => self.propose(wanted).await,
        }
    }

    /// Proposes the entry; whoever loses a race finds the winner's at the next look.
    async fn propose(&self, wanted: &Wanted) -> Result<Attempt, CreateError> {
        let config = &wanted.config;
        let expiry = config.expiry.unwrap_or(Expiry::Never);
        let command = CreateStream {
            name: wanted.name.clone(),
            kind: config.kind,
            content_type: config.content_type.clone().unwrap_or_else(|| content_type::DEFAULT.to_owned()),
            expiry,
            retention: config.retention,
            arguments: config.arguments.clone().unwrap_or_default(),
            parent: None,
            initialising: wanted.has_content(),
            at: Timestamp(self.env.clock.now()),
            open: None,
        };
        match self.meta.propose(command.into()).await {
            Ok(Outcome::Created { stream, .. }) => {
                self.follow(stream, expiry);
                if wanted.has_content() {
                    self.fill(wanted, stream).await
                } else {
                    self.created(wanted, None)
                }
            }
            // Exists, or unknown: the view tells.
            Ok(_) | Err(ProposeError::Rejected(_) | ProposeError::Unknown(_)) => Ok(None),
            Err(ProposeError::Unavailable(reason)) => Err(NodeFault::Unavailable { reason }.into()),
        }
    }

    /// Completes or clears away a creation that did not finish. Nobody else is at it: one node has one lane
    /// per name, and another node's stream is not ours to open.
    async fn settle(&self, wanted: &Wanted, entry: &EntryRow) -> Result<Attempt, CreateError> {
        match self.is_durable(entry.stream).await? {
            None => return Ok(None),
            Some(true) => {
                self.enliven(&wanted.name, entry.stream).await?;
                return Ok(None);
            }
            Some(false) => {}
        }
        if wanted.config.differences(entry).is_empty() {
            return self.fill(wanted, entry.stream).await;
        }
        // Nothing of it was ever acknowledged or durable, so it is as if it had never been asked for.
        self.discard(entry.stream).await?;
        Ok(None)
    }

    /// Finishes what a crash left of a creation that nobody repeated: live if its content is durable, else
    /// removed, for then nobody was ever told of it.
    pub(crate) async fn clear_up(&self, name: &StreamName, stream: StreamId) {
        let Ok(_flight) = self.flights.enter(name).await else { return };
        let unfinished = {
            let view = self.meta.view();
            view.entry(name).is_some_and(|e| e.stream == stream && e.state == EntryState::Initialising)
        };
        if !unfinished {
            return;
        }
        let done = match self.is_durable(stream).await {
            Ok(None) => return,
            Ok(Some(true)) => self.enliven(name, stream).await,
            Ok(Some(false)) => self.discard(stream).await,
            Err(fault) => Err(fault),
        };
        match done {
            Ok(()) => tracing::info!(%name, %stream, "finished what was left of a creation"),
            Err(error) => tracing::warn!(%name, %stream, %error, "a creation is left unfinished"),
        }
    }

    /// Whether content or seal of an unfinished creation is durable; `None` when the stream is gone.
    async fn is_durable(&self, stream: StreamId) -> Result<Option<bool>, NodeFault> {
        let durable = |inner: &Inner| {
            inner.engine.status(stream).map(|status| status.tail > Offset::ZERO || status.sealed)
        };
        // What is there stays there. What is not may still be on its way until the stream is open here: then
        // the WAL of an earlier session is recovered, and nobody else may write.
        match durable(self) {
            Some(false) => match self.open(stream).await {
                Ok(_) => Ok(durable(self)),
                Err(None) => Ok(None),
                Err(Some(fault)) => Err(fault),
            },
            known => Ok(known),
        }
    }

    /// Makes content and seal durable, then the entry live.
    async fn fill(&self, wanted: &Wanted, stream: StreamId) -> Result<Attempt, CreateError> {
        let mut receipt = None;
        if wanted.has_content() {
            let mut request =
                kelda_engine::AppendRequest::new(wanted.batch.clone().unwrap_or_else(Batch::empty));
            request.seal = wanted.seal == Some(true);
            // Whatever happened before, the content is the first of the stream or is not written.
            request.match_offset = Some(Offset::ZERO);
            match self.append_to(stream, &request).await {
                Ok(appended) => receipt = Some(appended),
                Err(Refused::Engine(EngineError::OutcomeUnknown | EngineError::Gone)) => {
                    return Ok(None);
                }
                Err(Refused::Engine(EngineError::MatchOffset { .. } | EngineError::Sealed { .. })) => {}
                Err(refused) => {
                    let fault = refused.into_create();
                    // When this fails too, the next request for the name clears it away.
                    let _ = self.discard(stream).await;
                    return Err(fault);
                }
            }
        }
        self.enliven(&wanted.name, stream).await?;
        self.created(wanted, receipt)
    }

    /// The answer to the request that created.
    fn created(&self, wanted: &Wanted, receipt: Option<Receipt>) -> Result<Attempt, CreateError> {
        let view = self.meta.view();
        let entry = view.entry(&wanted.name).filter(|entry| entry.state == EntryState::Live);
        let info = entry.and_then(|entry| self.info(&view, entry));
        Ok(info.map(|info| Created { new: true, info, receipt }))
    }

    /// Makes an initialising entry live; one that is gone or live already is left alone.
    async fn enliven(&self, name: &StreamName, stream: StreamId) -> Result<(), NodeFault> {
        let command = {
            let view = self.meta.view();
            let entry =
                view.entry(name).filter(|e| e.stream == stream && e.state == EntryState::Initialising);
            entry.map(|entry| PutEntry {
                name: name.clone(),
                stream,
                expected_version: entry.version,
                state: Some(EntryState::Live),
                expiry: None,
                retention: None,
                arguments: None,
                at: Timestamp(self.env.clock.now()),
            })
        };
        let Some(command) = command else { return Ok(()) };
        match self.meta.propose(command.into()).await {
            // Rejected: the entry changed since the view; the caller looks again.
            Ok(_) | Err(ProposeError::Rejected(_)) => Ok(()),
            Err(ProposeError::Unavailable(reason)) => Err(NodeFault::Unavailable { reason }),
            Err(ProposeError::Unknown(_)) => Err(NodeFault::OutcomeUnknown),
        }
    }

    /// Removes a stream that was never live.
    async fn discard(&self, stream: StreamId) -> Result<(), NodeFault> {
        self.deadlines.forget(stream);
        match self.engine.delete(stream).await {
            Ok(()) => Ok(()),
            Err(error) => self.end_fault(error).map_or(Ok(()), Err),
        }
    }
}

impl Refused {
    /// What a refused first append means for a creation.
    fn into_create(self) -> CreateError {
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
