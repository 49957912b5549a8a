//! The metadata commands: own the complete list of what can happen to a cluster.
//!
//! Guarantee that a command carries everything its effect depends on besides the state: times, nonces and
//! expectations are in it. Never say what a command does; that is `apply` in `kelda_meta`.

mod key;
mod node;
mod object;
mod stream;

pub use key::{DeleteKey, PutKey};
pub use node::{CloseSession, CompleteRecovery, FenceSession, RaiseFeatureLevel, RegisterNode, UpdateNode};
pub use object::{
    CleanObjects, CommitObjects, CommitPart, CompactInput, CompactObjects, CompactPart, ExpireReservations,
    NewObject, ObjectRef, ReserveObjects,
};
pub use stream::{
    AbortTransfer, CloseStream, CompleteTransfer, CreateStream, DeleteEntry, DeleteStream, ExpireStream,
    OpenStream, PlaceStream, PutEntry, StartTransfer, TrimStream,
};

use crate::wire::{DecodeError, Reader, Wire};

macro_rules! commands {
    ($($name:ident = $tag:literal),* $(,)?) => {
        /// Everything that can happen to a cluster.
        #[derive(Clone, Debug, PartialEq, Eq)]
        #[allow(missing_docs, reason = "each variant is documented at the struct of its name")]
        pub enum Command {
            $($name($name),)*
        }

        $(
            impl From<$name> for Command {
                fn from(command: $name) -> Command {
                    Command::$name(command)
                }
            }
        )*

        impl Command {
            /// The names of all commands, in the order of their tags.
            pub const NAMES: &'static [&'static str] = &[$(stringify!($name)),*];

            /// The name of this command.
            #[must_use]
            pub fn name(&self) -> &'static str {
                match self {
                    $(Command::$name(_) => stringify!($name),)*
                }
            }

        }

        impl Wire for Command {
            fn put(&self, out: &mut Vec<u8>) {
                match self {
                    $(Command::$name(command) => {
                        out.push($tag);
                        command.put(out);
                    })*
                }
            }

            fn get(reader: &mut Reader<'_>) -> Result<Command, DecodeError> {
                Ok(match reader.u8()? {
                    $($tag => Command::$name($name::get(reader)?),)*
                    tag => return Err(reader.error(format!("unknown command tag {tag}"))),
                })
            }
        }
    };
}

commands! {
    RegisterNode = 1, UpdateNode = 2, FenceSession = 3, CloseSession = 4, CompleteRecovery = 5,
    RaiseFeatureLevel = 6,
    CreateStream = 16, OpenStream = 17, PlaceStream = 18, CloseStream = 19, TrimStream = 20, DeleteStream = 21,
    ExpireStream = 22, PutEntry = 23, DeleteEntry = 24,
    ReserveObjects = 32, CommitObjects = 33, CompactObjects = 34, CleanObjects = 35, ExpireReservations = 36,
    StartTransfer = 48, CompleteTransfer = 49, AbortTransfer = 50,
    PutKey = 64, DeleteKey = 65,
}

impl Command {
    /// The lowest feature level at which this command may be proposed.
    #[must_use]
    pub fn feature_level(&self) -> u16 {
        1
    }
}
