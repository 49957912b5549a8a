//! One flush: owns the way of up to 256 commands into one entry and of their outcomes back, guarantees that an
//! entry is applied at most once and that no index is tried with different bytes (P8, P21), never answers
//! "refused" for an entry that may still be applied.

use bytes::Bytes;
use kelda_format::rows::Nonce;
use kelda_format::{Command, LogEntry, SessionId};
use kelda_meta::ProposeError;

use super::Driver;
use super::retry::Retry;
use crate::proposal::{Answer, Proposal};
use crate::replica::{Outcomes, Stop};
use crate::store::AppendError;

/// What became of an entry.
enum Fate {
    Applied(Outcomes),
    Refused(String),
    Unknown(String),
}

impl Driver {
    pub(super) async fn flush(&mut self, batch: Vec<Proposal>) -> Result<(), Stop> {
        let (commands, answers): (Vec<Command>, Vec<Answer>) =
            batch.into_iter().filter_map(Proposal::take).unzip();
        if commands.is_empty() {
            return Ok(());
        }
        let session = self.shared.session();
        let entry = LogEntry {
            cluster: self.replica.cluster(),
            session,
            flush: session.map_or(0, |_| self.next_flush()),
            nonce: Nonce(self.env.random.nonce()),
            commands,
        };
        // On an error the answers are dropped, and a dropped answer means "unknown" to who waits for it.
        let fate = self.place(&entry, entry.encode()).await?;
        deliver(fate, answers);
        Ok(())
    }

    /// Finds the entry its place in the log.
    async fn place(&mut self, entry: &LogEntry, bytes: Bytes) -> Result<Fate, Stop> {
        let mut retry = Retry::new();
        // The index at which the entry may be, or may still come to be.
        let mut doubtful = None;
        loop {
            let index = self.replica.applied() + 1;
            match self.store.append(index, bytes.clone()).await {
                Ok(()) => {
                    let (_, outcomes) = self.replica.apply(index, &bytes)?;
                    self.publish();
                    retry.done(Some(&self.shared));
                    return Ok(Fate::Applied(outcomes));
                }
                Err(AppendError::Taken { .. }) => {
                    if let Some(outcomes) = self.catch_up(Some(entry.nonce)).await? {
                        return Ok(Fate::Applied(outcomes));
                    }
                }
                Err(error @ AppendError::Truncated { .. }) => {
                    if let Some(fate) = self.look_up(entry, &error).await? {
                        return Ok(fate);
                    }
                }
                Err(AppendError::Failed(reason)) if doubtful != Some(index) => {
                    return Ok(Fate::Refused(reason));
                }
                Err(error @ (AppendError::Failed(_) | AppendError::Unknown(_))) => {
                    doubtful = Some(index);
                    retry.wait(&self.env, Some(&self.shared), &error.to_string()).await;
                }
                Err(error @ (AppendError::Broken(_) | AppendError::Hole { .. })) => {
                    return Err(Stop::Log(error.to_string()));
                }
            }
        }
    }

    /// P21: the log was truncated past the entry, so whether it was applied is read from the state. `None` when
    /// it certainly was not and may be placed again.
    async fn look_up(&mut self, entry: &LogEntry, error: &AppendError) -> Result<Option<Fate>, Stop> {
        if let Some(outcomes) = self.catch_up(Some(entry.nonce)).await? {
            return Ok(Some(Fate::Applied(outcomes)));
        }
        let Some(session) = entry.session else {
            return Ok(Some(Fate::Unknown(error.to_string())));
        };
        Ok(self.recorded(session, entry.flush).map(Fate::Applied))
    }

    fn next_flush(&mut self) -> u64 {
        self.last_flush += 1;
        self.last_flush
    }

    fn recorded(&self, session: SessionId, flush: u64) -> Option<Outcomes> {
        let last = self.replica.state().session(session)?.last_flush.as_ref()?;
        (last.flush == flush).then(|| last.results.to_vec())
    }
}

fn deliver(fate: Fate, answers: Vec<Answer>) {
    match fate {
        Fate::Applied(outcomes) => {
            assert_eq!(outcomes.len(), answers.len(), "every command of an entry has an outcome");
            for (outcome, answer) in outcomes.into_iter().zip(answers) {
                let _ = answer.send(outcome.map_err(ProposeError::Rejected));
            }
        }
        Fate::Refused(reason) => {
            for answer in answers {
                let _ = answer.send(Err(ProposeError::Unavailable(reason.clone())));
            }
        }
        Fate::Unknown(reason) => {
            for answer in answers {
                let _ = answer.send(Err(ProposeError::Unknown(reason.clone())));
            }
        }
    }
}
