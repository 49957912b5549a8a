//! Taking over what another session held: owns the order of fence and recovery. Guarantees that a session whose log lies on
//! another machine's disk is left alone (P12). Never decides that a session is dead: whoever calls does.

use std::sync::Arc;

use kelda_format::SessionId;
use kelda_format::command::FenceSession;
use kelda_format::rows::{SessionState, WalKind};

use crate::engine::Engine;
use crate::error::StartError;
use crate::propose::propose;
use crate::recovery::{self, run::proposed};

impl Engine {
    /// Fences a session of another node and recovers its log from the store, so that its streams can be opened here. Several
    /// nodes may do so at once; a session that was recovered already is success.
    ///
    /// # Errors
    /// `Meta` when it is this engine's own session or its log is not in the store; otherwise see [`StartError`].
    pub async fn take_over(&self, session: SessionId) -> Result<(), StartError> {
        let shared = Arc::clone(&self.inner.shared);
        let by = self.session();
        let row = shared.meta.view().session(session).cloned();
        match row.as_ref().map(|row| row.wal) {
            Some(_) if row.as_ref().is_some_and(|row| row.state == SessionState::Closed) => return Ok(()),
            None => return Err(StartError::Meta(format!("session {session} has no row"))),
            Some(_) if by == session => {
                return Err(StartError::Meta(format!("session {session} is the one that runs here")));
            }
            Some(WalKind::Local) => {
                return Err(StartError::Meta(format!(
                    "the write-ahead log of session {session} lies on its own disk: only the process that holds that \
                     data directory recovers it"
                )));
            }
            Some(WalKind::Object) => {}
        }
        // P6: fenced first, then its WAL start is read.
        proposed(propose(&shared, FenceSession { session, by }).await)?;
        recovery::store::recover(&shared, session, by, None).await
    }
}
