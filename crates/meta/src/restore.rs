//! The state of a cluster that goes on from a copy: owns what the original may go on with without it. Guarantees that all
//! sessions of the copy have ended and hold nothing, that no id which the original may have given out since is given out
//! again, and that every invariant of the copy still holds. Never touches a name, an offset, a time or a producer.

use kelda_format::StreamId;
use kelda_format::Timestamp;
use kelda_format::rows::{Expiry, NodeRow, SessionRow, SessionState};

use crate::State;

impl State {
    /// This state as the beginning of a log of its own, at index 1, where everything that its sessions had acknowledged
    /// is committed or given up.
    ///
    /// - Sessions that had not ended are recovered, their streams held by nobody, their transfers gone (P1, P4).
    /// - Nodes are out of service until they register again, so that any node may take their place (P12).
    /// - Reservations and the destroy queue are empty: their objects are not in the copy.
    /// - Ids of objects and streams go on `ids_ahead` further on, since the original gave out some after the copy was made
    ///   (P13): objects of both may lie beside each other in one place of backups.
    /// - Sliding deadlines begin anew at `at`, as after any recovery (P5).
    #[must_use]
    pub fn restored(&self, ids_ahead: u64, at: Timestamp) -> State {
        let mut state = self.clone();
        state.applied = 1;
        state.numbers.next_object = state.numbers.next_object.saturating_add(ids_ahead);
        state.numbers.next_stream = state.numbers.next_stream.saturating_add(ids_ahead);
        state.transfers.clear();
        state.reservations.clear();
        state.destroy.clear();
        let streams: Vec<StreamId> = state.streams().map(|row| row.id).collect();
        for stream in streams {
            let sliding = match state.entry_of(stream).map(|entry| &entry.expiry) {
                Some(Expiry::Sliding { ttl_ms }) => Some(at.plus_ms(*ttl_ms)),
                _ => None,
            };
            let row = state.stream(stream);
            if row.is_some_and(|row| row.owner.is_some() || row.deadline < sliding) {
                state.change_stream(stream, |row| {
                    row.owner = None;
                    row.deadline = row.deadline.max(sliding);
                });
            }
        }
        let unended = |row: &&SessionRow| matches!(row.state, SessionState::Live | SessionState::Fenced);
        let sessions: Vec<SessionRow> = state.sessions().filter(unended).cloned().collect();
        for row in sessions {
            state.put_session(SessionRow { state: SessionState::Recovered, ..row });
        }
        let nodes: Vec<NodeRow> = state.nodes().filter(|row| !row.retired).cloned().collect();
        for row in nodes {
            state.put_node(NodeRow { retired: true, version: row.version + 1, ..row });
        }
        state
    }
}
