//! Slots and seals of the object write-ahead log: hands the input to the body that the tests run too.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| kelda_format::fuzzing::wal_slot(input));
