//! WAL entries: nothing else passes for one, and a later one is found behind damage (P11).

use bytes::Bytes;
use kelda_format::fuzzing::CONTEXT;
use kelda_format::ids::{NodeId, SessionEpoch};
use kelda_format::limits::MAX_PRODUCER_ID_BYTES;
use kelda_format::wal::{
    BadKind, Grouping, Section, decode_entry, encode_entry, find_valid_after, headers_after,
};
use kelda_format::wire::crc_with;
use kelda_format::{ClusterId, StreamId};

use crate::samples::{self, STREAM};

#[test]
fn bodies_are_handed_on_without_a_copy() {
    let block = samples::block();
    let section = samples::section(STREAM, Section::Records(block.clone()));
    let parts = encode_entry(&CONTEXT, Grouping { group: 1, synced_group: 0, in_group: 0 }, &[section]);
    assert!(parts.bufs.iter().any(|part| part.as_ptr() == block.body().as_ptr()));
    assert!(parts.bufs.iter().all(|part| !part.is_empty()));
    assert!(parts.bufs.len() <= 5);
    assert_eq!(parts.len % 8, 0);
}

#[test]
fn an_entry_of_any_other_context_is_refused() {
    let bytes = Bytes::from(samples::entry(1, 0, 0, &samples::sections()));
    assert!(decode_entry(&bytes, 0, &CONTEXT).is_ok());
    let mut others = [CONTEXT; 4];
    others[0].cluster = ClusterId([1; 16]);
    others[1].session.node = NodeId(8);
    others[2].session.epoch = SessionEpoch(4);
    others[3].salt ^= 1;
    for other in others {
        let bad = decode_entry(&bytes, 0, &other).unwrap_err();
        assert_eq!((bad.kind, bad.header), (BadKind::Damaged, None));
    }
}

#[test]
fn a_body_that_is_an_entry_of_another_segment_is_not_found() {
    let mut elsewhere = CONTEXT;
    elsewhere.salt ^= 0xff;
    let grouping = Grouping { group: 99, synced_group: 98, in_group: 0 };
    let forged = encode_entry(&elsewhere, grouping, &samples::sections()).bufs.concat();
    let mut padded = Vec::new();
    for shift in 0..8 {
        padded.resize(padded.len() + shift, 0);
        padded.extend_from_slice(&forged);
    }
    let batch = kelda_format::Batch::single(padded.into()).unwrap();
    let block = kelda_format::Block::place(&batch, STREAM, kelda_format::Offset(0), samples::TIME);
    let mut bytes = samples::entry(1, 0, 0, &[samples::section(STREAM, Section::Records(block))]);
    assert!(decode_entry(&bytes.clone().into(), 0, &CONTEXT).is_ok());
    bytes[0] ^= 1;
    assert_eq!(headers_after(&bytes, 0, &CONTEXT).count(), 0);
}

#[test]
fn the_end_blank_space_and_damage_are_told_apart() {
    let kind = |bytes: Vec<u8>, at| decode_entry(&bytes.into(), at, &CONTEXT).unwrap_err().kind;
    let entry = samples::entry(5, 4, 0, &samples::sections());
    assert_eq!(kind(vec![], 0), BadKind::End);
    assert_eq!(kind(entry.clone(), entry.len()), BadKind::End);
    assert_eq!(kind(entry.clone(), usize::MAX), BadKind::End);
    assert_eq!(kind(vec![0; 4096], 0), BadKind::Blank);
    assert_eq!(kind(vec![0; 8], 0), BadKind::Blank);
    assert_eq!(kind(vec![1; 4096], 0), BadKind::Damaged);
    assert_eq!(kind(entry[..63].to_vec(), 0), BadKind::Damaged);
    // With the fixed header intact, the group is known although the rest is not.
    let bad = decode_entry(&entry[..entry.len() - 8].to_vec().into(), 0, &CONTEXT).unwrap_err();
    assert_eq!((bad.kind, bad.header.unwrap().group), (BadKind::Damaged, 5));
    let mut torn = entry.clone();
    let last = torn.len() - 20;
    torn[last] ^= 1;
    let bad = decode_entry(&torn.into(), 0, &CONTEXT).unwrap_err();
    assert_eq!((bad.kind, bad.header.unwrap().synced_group), (BadKind::Damaged, 4));
}

/// Changes a byte of an entry and makes the checksums right again.
fn resign(mut entry: Vec<u8>, at: usize, value: u8) -> Vec<u8> {
    entry[at] = value;
    let mut seed = CONTEXT.cluster.0.to_vec();
    for field in [CONTEXT.session.node.0, CONTEXT.session.epoch.0, CONTEXT.salt] {
        seed.extend(field.to_le_bytes());
    }
    let seed = kelda_format::wire::crc(&seed);
    let area_len = u32::from_le_bytes(entry[48..52].try_into().unwrap()) as usize;
    let area = crc_with(seed, &entry[64..64 + area_len]);
    entry[52..56].copy_from_slice(&area.to_le_bytes());
    let header = crc_with(seed, &entry[..60]);
    entry[60..64].copy_from_slice(&header.to_le_bytes());
    entry
}

#[test]
fn the_salt_itself_is_compared_and_not_only_a_checksum_that_may_collide() {
    let entry = samples::entry(5, 4, 0, &[samples::section(STREAM, Section::Seal)]);
    let salt = entry[8];
    assert!(decode_entry(&resign(entry.clone(), 8, salt).into(), 0, &CONTEXT).is_ok());
    let bad = decode_entry(&resign(entry, 8, salt ^ 1).into(), 0, &CONTEXT).unwrap_err();
    assert!(bad.to_string().contains("another segment"), "{bad}");
}

#[test]
fn data_that_no_section_claims_is_refused() {
    let mut entry = samples::entry(5, 4, 0, &[samples::records_section(STREAM, 1, "body")]);
    let data_len = entry[40];
    entry.extend([0; 8]);
    assert!(decode_entry(&resign(entry.clone(), 40, data_len).into(), 0, &CONTEXT).is_ok());
    let bad = decode_entry(&resign(entry, 40, data_len + 8).into(), 0, &CONTEXT).unwrap_err();
    assert!(bad.to_string().contains("no section claims"), "{bad}");
}

#[test]
fn what_is_not_known_is_never_skipped() {
    let entry = samples::entry(5, 4, 0, &[samples::section(STREAM, Section::Seal)]);
    let decode = |bytes: Vec<u8>| decode_entry(&bytes.into(), 0, &CONTEXT);
    assert!(decode(resign(entry.clone(), 64, 3)).is_ok(), "the same type is read");
    let bad = decode(resign(entry.clone(), 64, 7)).unwrap_err();
    assert_eq!(bad.kind, BadKind::Unsupported);
    assert!(bad.to_string().contains("unknown section type 7"), "{bad}");
    assert_eq!(decode(resign(entry.clone(), 4, 2)).unwrap_err().kind, BadKind::Unsupported);
    assert_eq!(decode(resign(entry.clone(), 5, 1)).unwrap_err().kind, BadKind::Unsupported);
    assert_eq!(decode(resign(entry, 65, 1)).unwrap_err().kind, BadKind::Damaged);
}

#[test]
fn a_later_group_is_found_behind_damage() {
    let (mut bytes, starts) = samples::segment();
    bytes[starts[0] + 64] ^= 1;
    let found = find_valid_after(&bytes, starts[0], &CONTEXT);
    assert_eq!(found.map(|(at, header)| (at, header.group)), Some((starts[1], 35)));
    // Entries of the same group prove nothing; the synced mark of the next one does.
    bytes[starts[1] + 64] ^= 1;
    let found = find_valid_after(&bytes, starts[1], &CONTEXT);
    assert_eq!(found.map(|(at, header)| (at, header.group)), Some((starts[3], 36)));
    assert_eq!(find_valid_after(&bytes[..starts[3]], starts[1], &CONTEXT), None);
    let later: Vec<usize> = headers_after(&bytes, starts[1], &CONTEXT).map(|(at, _)| at).collect();
    assert_eq!(later, [starts[2], starts[3]]);
}

#[test]
fn an_entry_of_the_next_group_convicts_only_what_lies_before_that_group() {
    // The bad bytes at `at` may be the beginning of the group that the later entry is in: torn, not corrupt.
    let first = samples::entry(8, 7, 0, &[samples::records_section(STREAM, 1, "lost page")]);
    let second =
        samples::entry(8, 7, first.len() as u64, &[samples::records_section(STREAM, 2, "kept page")]);
    let mut bytes = vec![0; first.len()];
    bytes.extend(second);
    assert_eq!(find_valid_after(&bytes, 0, &CONTEXT), None);
    assert_eq!(headers_after(&bytes, 0, &CONTEXT).count(), 1);
    // The same two entries in two groups: now the blank one was synced.
    let second = samples::entry(9, 8, 0, &[samples::records_section(STREAM, 2, "kept page")]);
    bytes.truncate(first.len());
    bytes.extend(second);
    assert_eq!(find_valid_after(&bytes, 0, &CONTEXT).unwrap().0, first.len());
}

#[test]
fn sections_keep_to_their_limits() {
    let id = "p".repeat(MAX_PRODUCER_ID_BYTES);
    let forget = [samples::section(StreamId(1), Section::ForgetProducer(id.clone()))];
    let bytes = samples::entry(1, 0, 0, &forget).into();
    assert_eq!(decode_entry(&bytes, 0, &CONTEXT).unwrap().0.sections, forget);
    let mut change = samples::producer_change();
    change.id = id + "p";
    let section = samples::section(StreamId(1), Section::Producer(change));
    let place = Grouping { group: 1, synced_group: 0, in_group: 0 };
    assert!(std::panic::catch_unwind(|| encode_entry(&CONTEXT, place, &[section])).is_err());
}
