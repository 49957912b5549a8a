//! The only door to the outside: clock, randomness, disk, object store, tasks; real and simulated.
