//! The `kelda` binary.

fn main() {}
