//! The corpus of the fuzz targets (`fuzz/corpus/<target>/*`) as ordinary tests: every file is run through the
//! body that the fuzzer runs. `KELDA_BLESS=1` writes the files that come from samples; what a fuzzer found may
//! be added beside them by hand.

use std::path::PathBuf;

use kelda_format::{Codec, Headers, fuzzing, keys};

use crate::golden::blessing;
use crate::samples;

fn directory(target: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target)
}

/// A sample as it is, cut short, and with a byte changed in its first and second half.
fn variants(name: &str, bytes: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut early = bytes.to_vec();
    let mut late = bytes.to_vec();
    if let Some(byte) = early.get_mut(bytes.len() / 4) {
        *byte ^= 0x41;
    }
    if let Some(byte) = late.get_mut(bytes.len() * 3 / 4) {
        *byte ^= 0x82;
    }
    vec![
        (name.to_owned(), bytes.to_vec()),
        (format!("{name}-cut"), bytes[..bytes.len() * 2 / 3].to_vec()),
        (format!("{name}-early"), early),
        (format!("{name}-late"), late),
    ]
}

pub fn run(target: &str, body: fn(&[u8]), samples: &[(&str, Vec<u8>)]) {
    let directory = directory(target);
    if blessing() {
        std::fs::create_dir_all(&directory).unwrap();
        for (name, bytes) in samples.iter().flat_map(|(name, bytes)| variants(name, bytes)) {
            std::fs::write(directory.join(name), bytes).unwrap();
        }
    }
    body(&[]);
    let mut seen = 0;
    for file in
        std::fs::read_dir(&directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()))
    {
        body(&std::fs::read(file.unwrap().path()).unwrap());
        seen += 1;
    }
    assert!(seen >= samples.len(), "{target}: {seen} files");
    for (_, bytes) in samples.iter().flat_map(|(name, bytes)| variants(name, bytes)) {
        body(&bytes);
    }
}

#[test]
fn name() {
    let names = ["logs/api/prod", "a", "../b", "a//b", "größe/\u{1}"];
    let mut samples: Vec<_> = names.iter().map(|name| (*name, name.as_bytes().to_vec())).collect();
    samples
        .iter_mut()
        .zip(["path", "one", "dots", "empty", "control"])
        .for_each(|(sample, name)| sample.0 = name);
    samples.push(("encoded", [&[13], &b"logs/api/prod"[..]].concat()));
    run("name", fuzzing::name, &samples);
}

#[test]
fn headers() {
    let all = Headers::new(&samples::header_list()).unwrap().encoded().to_vec();
    run("headers", fuzzing::headers, &[("all", all)]);
}

#[test]
fn codec() {
    let raw = b"line 1 of a log\n".repeat(200);
    let announce = |codec: u8, stored: Vec<u8>| {
        let length = u32::try_from(raw.len()).unwrap().to_le_bytes();
        [vec![codec, length[0], length[1], length[2]], stored].concat()
    };
    let samples = [
        ("lz4", announce(1, lz4_flex::block::compress(&raw))),
        ("zstd", announce(2, zstd::bulk::compress(&raw, 3).unwrap())),
        ("lz4-bomb", [&[1, 255, 255, 255], &[255; 100][..]].concat()),
    ];
    run("codec", fuzzing::codec, &samples);
}

#[test]
fn block() {
    let compressible = samples::compressible_block();
    let samples = [
        ("none", samples::encode_block(&samples::block(), Codec::None)),
        ("lz4", samples::encode_block(&compressible, Codec::Lz4)),
        ("zstd", samples::encode_block(&compressible, Codec::Zstd)),
    ];
    run("block", fuzzing::block, &samples);
}

#[test]
fn wal_entry() {
    let samples =
        [("all", samples::entry(34, 33, 0, &samples::sections())), ("mark", samples::entry(3, 2, 8, &[]))];
    run("wal_entry", fuzzing::wal_entry, &samples);
}

#[test]
fn wal_segment() {
    run("wal_segment", fuzzing::wal_segment, &[("segment", samples::segment().0)]);
}

#[test]
fn wal_slot() {
    let samples = [("slot", samples::slot().to_vec()), ("seal", samples::seal().encode().to_vec())];
    run("wal_slot", fuzzing::wal_slot, &samples);
}

#[test]
fn object() {
    let samples = [
        ("segment", samples::segment_object().0),
        ("packed", samples::packed_object(Codec::None).0.to_vec()),
        ("zstd", samples::packed_object(Codec::Zstd).0.to_vec()),
        ("summarised", samples::summarised_object().0.to_vec()),
    ];
    run("object", fuzzing::object, &samples);
}

#[test]
fn object_index() {
    let (object, index) = samples::segment_object();
    let trailer = index.encode_trailer(0);
    let index = trailer[..trailer.len() - kelda_format::object::FOOTER_BYTES].to_vec();
    assert!(object.len() > index.len());
    let summarised = samples::summarised_object().1.encode_trailer(0);
    let summarised = summarised[..summarised.len() - kelda_format::object::FOOTER_BYTES].to_vec();
    run("object_index", fuzzing::object_index, &[("segment", index), ("summarised", summarised)]);
}

#[test]
fn marker() {
    let key = keys::data_key(fuzzing::CLUSTER, kelda_format::ObjectId(42)).into_bytes();
    run(
        "marker",
        fuzzing::marker,
        &[
            ("marker", keys::encode_marker(fuzzing::CLUSTER).to_vec()),
            ("backups", keys::encode_backup_marker(fuzzing::CLUSTER).to_vec()),
            ("key", key),
        ],
    );
}

#[test]
fn backup_manifest() {
    let sample = samples::manifest().encode(fuzzing::CLUSTER).to_vec();
    run("backup_manifest", fuzzing::backup_manifest, &[("manifest", sample)]);
}

#[test]
fn records_read() {
    run("records_read", fuzzing::records_read, &[("two", samples::read_frames())]);
}

#[test]
fn records_write() {
    let samples = [("one", samples::write_frame()), ("unsummed", samples::write_frame_without_checksums())];
    run("records_write", fuzzing::records_write, &samples);
}
