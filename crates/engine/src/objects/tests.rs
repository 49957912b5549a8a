//! The object reader over a simulated store.
