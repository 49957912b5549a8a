//! What commands do: owns the way from a command to the file of its noun, and the feature level. Guarantees
//! that a rejected command changes nothing: every file checks first and acts afterwards. Never asks a clock,
//! never rolls a die.

mod commit;
mod compact;
mod entry;
mod flush;
mod key;
mod limit;
mod node;
mod object;
mod place;
mod remove;
mod session;
mod stream;
mod transfer;

pub(crate) use commit::well_formed as producer_well_formed;
pub use flush::ApplyError;

use crate::{Command, Outcome, Rejection, State};

impl State {
    /// Applies one command. A rejection leaves the state as it was.
    ///
    /// # Errors
    /// The [`Rejection`], which is the same on every replica.
    pub fn apply(&mut self, command: &Command) -> Result<Outcome, Rejection> {
        let needed = command.feature_level();
        if needed > self.numbers.feature_level {
            return Err(Rejection::FeatureLevel { needed, level: self.numbers.feature_level });
        }
        match command {
            Command::RegisterNode(command) => node::register(self, command),
            Command::UpdateNode(command) => node::update(self, command),
            Command::RaiseFeatureLevel(command) => node::raise_feature_level(self, command),
            Command::FenceSession(command) => session::fence(self, command),
            Command::CloseSession(command) => session::close(self, command),
            Command::CompleteRecovery(command) => session::complete_recovery(self, command),
            Command::CreateStream(command) => entry::create(self, command),
            Command::PutEntry(command) => entry::put(self, command),
            Command::DeleteEntry(command) => remove::delete_entry(self, command),
            Command::OpenStream(command) => stream::open(self, command),
            Command::PlaceStream(command) => place::place(self, command),
            Command::CloseStream(command) => stream::close(self, command),
            Command::TrimStream(command) => stream::trim(self, command),
            Command::DeleteStream(command) => remove::delete(self, command),
            Command::ExpireStream(command) => remove::expire(self, command),
            Command::ReserveObjects(command) => object::reserve(self, command),
            Command::CommitObjects(command) => commit::commit(self, command),
            Command::CompactObjects(command) => compact::compact(self, command),
            Command::CleanObjects(command) => object::clean(self, command),
            Command::ExpireReservations(command) => object::expire_reservations(self, command),
            Command::StartTransfer(command) => transfer::start(self, command),
            Command::CompleteTransfer(command) => transfer::complete(self, command),
            Command::AbortTransfer(command) => transfer::abort(self, command),
            Command::PutKey(command) => key::put(self, command),
            Command::DeleteKey(command) => key::delete(self, command),
        }
    }
}
