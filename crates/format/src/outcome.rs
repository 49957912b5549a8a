//! What an accepted metadata command came to. Owns the outcomes, which are kept per session (P21) and so are
//! stored. Never repeats what the state says.

use crate::wire::wire_enum;
use crate::{Epoch, ObjectId, SessionId, StreamId, TransferId};

wire_enum! {
    /// What an accepted command came to. Everything else about it is in the state.
    #[derive(Copy)]
    pub enum Outcome {
        /// It took effect.
        1 => Applied,
        /// Its effect was there before: it is a repeat, or another proposer did the same.
        2 => AlreadyApplied,
        /// The node has a new session.
        3 => Registered {
            /// The session.
            session: SessionId,
        },
        /// The name and its stream are new.
        4 => Created {
            /// The stream.
            stream: StreamId,
            /// The epoch, when it was opened in the same step.
            epoch: Option<Epoch>,
        },
        /// The name existed; nothing changed, and nothing was compared.
        5 => Exists {
            /// The stream that the name stands for.
            stream: StreamId,
        },
        /// The stream is held by the session at this epoch.
        6 => Opened {
            /// Who holds it.
            session: SessionId,
            /// Its epoch.
            epoch: Epoch,
        },
        /// Object ids were handed out.
        7 => Reserved {
            /// The first.
            first: ObjectId,
            /// How many, consecutive.
            count: u32,
        },
        /// A commit took effect; parts of deleted streams were dropped (P10).
        8 => Committed {
            /// How many parts were dropped.
            dropped: u32,
        },
        /// A transfer is pending.
        9 => TransferStarted {
            /// Its id.
            transfer: TransferId,
        },
        /// An entry or key was stored.
        10 => Stored {
            /// Its version from now on.
            version: u64,
        },
    }
}
