//! The manifest of a backup: hands the input to the body that the tests run too.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| kelda_format::fuzzing::backup_manifest(input));
