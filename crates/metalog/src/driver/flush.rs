//! One flush: owns the way of up to 256 commands into one entry and of their outcomes back, guarantees that an
//! entry is applied at most once and that no index is tried with different bytes (P8, P21), never answers
//! "refused" for an entry that may still be applied.

use bytes::Bytes;
use kelda_format::limits::MAX_LOG_ENTRY_BYTES;
use kelda_format::rows::Nonce;
use kelda_format::{Command, LogEntry};
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
    /// Certainly not applied, for want of space.
    Full(String),
    Unknown(String),
}

impl Driver {
    /// Writes the proposals, as one entry unless they are too long for one.
    pub(super) async fn flush(&mut self, batch: Vec<Proposal>) -> Result<(), Stop> {
        let mut parts = vec![batch.into_iter().filter_map(Proposal::take).collect::<Vec<_>>()];
        // On an error the answers are dropped, and a dropped answer means "unknown" to who waits for it.
        while let Some(part) = parts.pop() {
            if part.is_empty() {
                continue;
            }
            let (commands, answers): (Vec<Command>, Vec<Answer>) = part.into_iter().unzip();
            let (entry, bytes) = self.entry(commands);
            let fate = if bytes.len() <= MAX_LOG_ENTRY_BYTES {
                self.place(&entry, bytes).await?
            } else if answers.len() == 1 {
                Fate::Refused(format!("the command takes {} bytes, {MAX_LOG_ENTRY_BYTES} fit", bytes.len()))
            } else {
                let mut first: Vec<_> = entry.commands.into_iter().zip(answers).collect();
                let rest = first.split_off(first.len() / 2);
                parts.extend([rest, first]);
                continue;
            };
            deliver(fate, answers);
        }
        Ok(())
    }

    fn entry(&mut self, commands: Vec<Command>) -> (LogEntry, Bytes) {
        let session = self.shared.session();
        let entry = LogEntry {
            cluster: self.replica.cluster(),
            session,
            flush: session.map_or(0, |_| self.next_flush()),
            nonce: Nonce(self.env.random.nonce()),
            commands,
        };
        let bytes = entry.encode();
        (entry, bytes)
    }

    async fn place(&mut self, entry: &LogEntry, bytes: Bytes) -> Result<Fate, Stop> {
        let mut retry = Retry::new();
        let fate = self.find_place(entry, bytes, &mut retry).await?;
        retry.done(Some(&self.shared));
        Ok(fate)
    }

    /// Finds the entry its place in the log.
    async fn find_place(&mut self, entry: &LogEntry, bytes: Bytes, retry: &mut Retry) -> Result<Fate, Stop> {
        // The index at which the entry may be, or may still come to be.
        let mut doubtful = None;
        loop {
            let index = self.replica.applied() + 1;
            match self.store.append(index, bytes.clone()).await {
                Ok(()) => {
                    let (_, outcomes) = self.replica.apply(index, &bytes)?;
                    self.publish();
                    return Ok(Fate::Applied(outcomes));
                }
                Err(AppendError::Taken { .. }) => {
                    if let Some(outcomes) = self.catch_up(Some(entry.nonce)).await? {
                        return Ok(Fate::Applied(outcomes));
                    }
                    if self.replica.applied() < index {
                        retry.wait(&self.env, Some(&self.shared), "a taken entry cannot be read yet").await;
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
                Err(error @ AppendError::Full(_)) if doubtful != Some(index) => {
                    return Ok(Fate::Full(error.to_string()));
                }
                Err(error @ (AppendError::Failed(_) | AppendError::Full(_) | AppendError::Unknown(_))) => {
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
        let state = self.replica.state();
        // Without a row of the session nothing was recorded, or it is forgotten.
        let Some(session) = entry.session.filter(|session| state.session(*session).is_some()) else {
            return Ok(Some(Fate::Unknown(error.to_string())));
        };
        let recorded = state.flush_outcome(session, entry.flush);
        Ok(recorded.map(|outcomes| Fate::Applied(outcomes.to_vec())))
    }

    fn next_flush(&mut self) -> u64 {
        self.last_flush += 1;
        self.last_flush
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
        Fate::Full(reason) => {
            for answer in answers {
                let _ = answer.send(Err(ProposeError::Full(reason.clone())));
            }
        }
        Fate::Unknown(reason) => {
            for answer in answers {
                let _ = answer.send(Err(ProposeError::Unknown(reason.clone())));
            }
        }
    }
}
