//! One slot on its way into the store: owns the tries until its fate is known. Guarantees P8: after "exists already" or an
//! unknown outcome the slot is read, its own bytes are success, other bytes or a seal mean that it is lost, and when nothing
//! is there the same bytes are sent again, never others. Never acknowledges.

use std::sync::Arc;

use bytes::Bytes;
use kelda_env::StoreError;

use crate::retry::Backoff;
use crate::session::Session;

/// Why a slot is not this session's, or never will be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Lost {
    /// The session ended.
    Ended,
    /// Something else lies there, or the store takes nothing more. Ends the session.
    For(String),
}

/// What lies in a slot, as far as its writer cares.
enum Found {
    Own,
    Other,
    Nothing,
}

/// Creates the object `key` with `body`. Tries until it is there, is lost, or the session ends.
pub(crate) async fn upload(session: Arc<Session>, key: String, body: Bytes) -> Result<(), Lost> {
    let tried = async {
        let mut backoff = Backoff::new(&session.shared.config);
        loop {
            let error = match session.shared.store.put_if_absent(&key, body.clone()).await {
                Ok(()) => return Ok(()),
                Err(error @ (StoreError::BadKey { .. } | StoreError::SyncFailed { .. })) => {
                    return Err(Lost::For(error.to_string()));
                }
                Err(error) => error,
            };
            if error.is_already_exists() || error.is_outcome_unknown() {
                match look(&session, &key, &body).await {
                    Found::Own => return Ok(()),
                    Found::Other => return Err(Lost::For(format!("slot {key} is taken or sealed"))),
                    Found::Nothing => {}
                }
            }
            tracing::warn!(%error, "the store did not take a group of the write-ahead log, trying again");
            session.shared.env.clock.sleep(backoff.jittered(&*session.shared.env.random)).await;
        }
    };
    tokio::select! {
        biased;
        () = session.until_ended() => Err(Lost::Ended),
        result = tried => result,
    }
}

/// Reads the slot until it is known what lies there.
async fn look(session: &Session, key: &str, body: &Bytes) -> Found {
    let mut backoff = Backoff::new(&session.shared.config);
    loop {
        match session.shared.store.get(key).await {
            Ok(found) if found == *body => return Found::Own,
            Ok(_) => return Found::Other,
            Err(error) if error.is_not_found() => return Found::Nothing,
            Err(error) => tracing::warn!(%error, "what lies in a slot is not known yet, trying again"),
        }
        session.shared.env.clock.sleep(backoff.jittered(&*session.shared.env.random)).await;
    }
}
