//! Segments of the write-ahead log, with the search behind damage: hands the input to the body that the tests run too.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| kelda_format::fuzzing::wal_segment(input));
