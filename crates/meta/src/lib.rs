//! The deterministic metadata machine of Kelda: commands, state, queries, invariants.
