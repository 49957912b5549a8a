//! The numbers that name things: owns the newtypes, guarantees that one cannot be taken for another,
//! never holds a sentinel (an absent epoch is an `Option`).

use std::fmt;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u64);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

id! {
    /// An internal stream; never reused, so it is also the incarnation of a name.
    StreamId
}
id! {
    /// Counts the opens of one internal stream; the first open is epoch 0.
    Epoch
}
id! {
    /// The position of a record in its stream; the first is 0, consecutive, never reassigned.
    Offset
}
id! {
    /// An immutable file in the object store; ids are reserved through the metadata log and never reused.
    ObjectId
}
id! {
    /// A node of the cluster, chosen by the operator (`--node-id`).
    NodeId
}
id! {
    /// Counts the sessions of one node; the first is 1.
    SessionEpoch
}
id! {
    /// A transfer of ownership; never reused.
    TransferId
}
id! {
    /// Milliseconds since the Unix epoch.
    Timestamp
}

impl Offset {
    /// The first offset of every stream.
    pub const ZERO: Offset = Offset(0);

    /// The offset `count` records further on.
    ///
    /// # Panics
    /// When the sum leaves the range of `u64`; limits keep real streams far below.
    #[must_use]
    pub fn plus(self, count: u64) -> Offset {
        Offset(self.0.checked_add(count).expect("offset overflow"))
    }

    /// How many records lie in `earlier..self`; 0 when `earlier` is not earlier.
    #[must_use]
    pub fn since(self, earlier: Offset) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

impl Timestamp {
    /// This time moved `ms` milliseconds on, at most to the end of the range.
    #[must_use]
    pub fn plus_ms(self, ms: u64) -> Timestamp {
        Timestamp(self.0.saturating_add(ms))
    }
}

/// One run of one node: who owns a write-ahead log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId {
    /// The node.
    pub node: NodeId,
    /// Which run of it.
    pub epoch: SessionEpoch,
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.node, self.epoch)
    }
}

/// The random identity of a cluster, in every stored header; two clusters never mix.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ClusterId(pub [u8; 16]);

impl fmt::Display for ClusterId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ClusterId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ClusterId({self})")
    }
}
