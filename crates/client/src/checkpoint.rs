//! Where a reader's position is kept between runs: owns the seam to a store of the user's, guarantees that a position says
//! which life of a stream it is of. Never stores anything by itself.

mod file;

use std::fmt;

use futures::future::BoxFuture;
use kelda_format::StreamId;

pub use file::FileCheckpoint;

/// How far a reader has got: everything up to and with `offset` is finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(into = "Fields", from = "Fields")]
pub struct Position {
    /// The stream, as the identity of one life of its name.
    pub stream_id: StreamId,
    /// The last finished offset; a reader goes on at the next.
    pub offset: u64,
}

/// A position as it is written.
#[derive(serde::Serialize, serde::Deserialize)]
struct Fields {
    stream_id: u64,
    offset: u64,
}

impl From<Position> for Fields {
    fn from(position: Position) -> Fields {
        Fields { stream_id: position.stream_id.0, offset: position.offset }
    }
}

impl From<Fields> for Position {
    fn from(fields: Fields) -> Position {
        Position { stream_id: StreamId(fields.stream_id), offset: fields.offset }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "offset {} of stream {}", self.offset, self.stream_id)
    }
}

/// An error of a store.
pub type StoreError = Box<dyn std::error::Error + Send + Sync>;

/// A store of positions, by name. The library has [`FileCheckpoint`]; the examples have one for SQLite and one for
/// PostgreSQL.
///
/// A reader saves after an entry was handled, so a crash between the two hands the entry over again. Where that must not
/// be, save the position in the same transaction as what the handler does, and start from it by hand.
///
/// ```
/// use std::collections::HashMap;
/// use std::sync::Mutex;
/// use kelda_client::{Checkpoint, Position, StoreError};
///
/// #[derive(Default)]
/// struct InMemory(Mutex<HashMap<String, Position>>);
///
/// impl Checkpoint for InMemory {
///     async fn load(&self, name: &str) -> Result<Option<Position>, StoreError> {
///         Ok(self.0.lock().unwrap().get(name).copied())
///     }
///
///     async fn save(&self, name: &str, position: Position) -> Result<(), StoreError> {
///         self.0.lock().unwrap().insert(name.to_owned(), position);
///         Ok(())
///     }
/// }
/// ```
pub trait Checkpoint: Send + Sync + 'static {
    /// The position that was saved last under `name`, if there is one.
    fn load(&self, name: &str) -> impl Future<Output = Result<Option<Position>, StoreError>> + Send;

    /// Saves a position under `name`; when this returns it has to survive a crash. One reader calls it one call at a time.
    fn save(&self, name: &str, position: Position) -> impl Future<Output = Result<(), StoreError>> + Send;
}

/// A store of any type.
pub(crate) trait AnyCheckpoint: Send + Sync + 'static {
    fn load<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<Position>, StoreError>>;
    fn save<'a>(&'a self, name: &'a str, position: Position) -> BoxFuture<'a, Result<(), StoreError>>;
}

impl<C: Checkpoint> AnyCheckpoint for C {
    fn load<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<Position>, StoreError>> {
        Box::pin(Checkpoint::load(self, name))
    }

    fn save<'a>(&'a self, name: &'a str, position: Position) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(Checkpoint::save(self, name, position))
    }
}
