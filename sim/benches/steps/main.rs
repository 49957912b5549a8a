//! What single steps cost: codecs, the metadata machine, and the append path without a real medium. Owns the list of
//! criterion benches (`cargo bench -p kelda-sim`); guarantees that none needs a clock or a disk of its own but the one that
//! times it; never compares with a target, since that depends on the machine.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, missing_docs)]

mod append;
mod apply;
mod formats;

criterion::criterion_group!(benches, formats::all, apply::all, append::all);
criterion::criterion_main!(benches);
