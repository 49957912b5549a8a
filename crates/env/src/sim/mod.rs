//! The simulated world: owns virtual time, seeded randomness, and disks and a store that delay, fail and lose what was not
//! synced. Guarantees that a run is a function of its seed. Never touches the host.

/// A file of a simulated disk as a store holds it.
#[derive(Clone, Debug)]
pub struct SimLink {}
