//! Summaries: they never deny what is there, and cost next to nothing where no record has a value.

use kelda_format::block::Block;
use kelda_format::fuzzing::CLUSTER;
use kelda_format::object::{
    FOOTER_BYTES, Footer, INDEX_EXTENT_MAX_BYTES, INDEX_FIXED_MAX_BYTES, INDEX_STREAM_MAX_BYTES,
    IndexBuilder, ObjectIndex, ObjectSource, PackedWriter, Summaries,
};
use kelda_format::summary::{Selection, Summary, value};
use kelda_format::{Codec, StreamId};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use crate::samples::{self, STREAM, valued};

const VALUES: [&str; 6] = ["", "eu", "us", "asia", "eu2", "e"];

fn wants(block: &Block, values: &[&str], plain: bool) -> bool {
    block.records().any(|stored| match value(&stored.record.headers) {
        Some(value) => values.iter().any(|wanted| value == wanted.as_bytes()),
        None => plain,
    })
}

fn selection(values: &[&str], plain: bool) -> Selection {
    Selection::new(values.iter().map(|value| value.as_bytes()), plain)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever is joined to an extent: yes to all that is there. With values this few no hash meets another, so that it is
    /// also no to all that is not.
    #[test]
    fn what_is_there_is_never_denied(
        blocks in vec(vec(option::of(0..VALUES.len()), 1..5), 1..6),
        wanted in vec(0..VALUES.len(), 0..3),
        plain in any::<bool>(),
    ) {
        let mut writer = PackedWriter::new(CLUSTER, Codec::None);
        let mut placed: Vec<Block> = Vec::new();
        for values in &blocks {
            let values: Vec<_> = values.iter().map(|value| value.map(|at| VALUES[at])).collect();
            let block = valued(&values, STREAM, placed.last().map_or(0, |block| block.end().0));
            writer.push(&block);
            placed.push(block);
        }
        let (bytes, index) = writer.finish();
        let footer = Footer::decode(&bytes, bytes.len() as u64).unwrap();
        let start = footer.index_position as usize;
        prop_assert_eq!(&ObjectIndex::decode(&bytes[start..bytes.len() - FOOTER_BYTES], &footer).unwrap(), &index);
        prop_assert_eq!(index.extents(STREAM).len(), 1);
        let wanted: Vec<&str> = wanted.into_iter().map(|at| VALUES[at]).collect();
        let there = placed.iter().any(|block| wants(block, &wanted, plain));
        let summary = index.summaries(STREAM).of(0);
        prop_assert!(summary.is_some());
        prop_assert_eq!(selection(&wanted, plain).may_want(summary.as_ref()), there);
    }
}

#[test]
fn no_summary_denies_nothing() {
    assert!(selection(&["eu"], false).may_want(None));
    assert!(selection(&[], false).may_want(Summaries::Unknown.of(0).as_ref()));
    assert!(!selection(&["eu"], false).may_want(Summaries::Plain.of(3).as_ref()));
    assert!(selection(&["eu"], true).may_want(Summaries::Plain.of(3).as_ref()));
}

#[test]
fn too_many_values_are_none_known() {
    let names: Vec<String> = (0..10_000).map(|number| number.to_string()).collect();
    let values: Vec<_> = names.iter().map(|name| Some(name.as_str())).collect();
    assert_eq!(Summary::of(&valued(&values, STREAM, 0)), None);
    let few = Summary::of(&valued(&values[..1000], STREAM, 0)).unwrap();
    assert!(names[..1000].iter().all(|name| selection(&[name], false).may_want(Some(&few))));
    let wrong = names[1000..].iter().filter(|name| selection(&[name], false).may_want(Some(&few))).count();
    assert!(wrong < 9000 / 40, "{wrong} of 9000 values that are not there are taken for there");
}

#[test]
fn what_is_joined_to_something_unknown_is_unknown() {
    let many: Vec<String> = (0..6000).map(|number| number.to_string()).collect();
    let many: Vec<_> = many.iter().map(|name| Some(name.as_str())).collect();
    let few = [Some("us"), None];
    let (_, index) = PackedWriter::new(CLUSTER, Codec::None).finish();
    for parts in [[&many[..], &few], [&few, &many], [&many[..3000], &many[3000..]]] {
        let mut builder = IndexBuilder::new();
        let mut base = 0;
        // A third part must not be taken for all there is.
        for (at, values) in parts.into_iter().chain([&few[..]]).enumerate() {
            // As short as compressed blocks may be, so that they share an extent.
            builder.add(&valued(values, STREAM, base), at as u64 * 64, 64);
            base += values.len() as u64;
        }
        let joined = builder.finish(index.source);
        assert_eq!(joined.extents(STREAM).len(), 1);
        assert_eq!(joined.summaries(STREAM).of(0), None);
    }
}

fn index_len(index: &ObjectIndex) -> usize {
    index.encode_trailer(1 << 30).len() - FOOTER_BYTES
}

#[test]
fn a_stream_without_values_pays_one_byte_in_an_object() {
    let mut writer = PackedWriter::new(CLUSTER, Codec::None);
    for stream in 1..=20 {
        (0..50).for_each(|at| writer.push(&valued(&[None, None], StreamId(stream), at * 2)));
    }
    let (_, index) = writer.finish();
    let without = index.clone().without_summaries();
    assert_eq!(index_len(&index) - index_len(&without), 20);
}

#[test]
fn values_take_about_a_byte_or_two_each() {
    let names: Vec<String> = (0..640).map(|number| format!("customer-{number}")).collect();
    let values: Vec<_> = names.iter().map(|name| Some(name.as_str())).collect();
    for (count, most) in [(1, 5), (64, 140), (640, 960)] {
        let mut writer = PackedWriter::new(CLUSTER, Codec::None);
        writer.push(&valued(&values[..count], STREAM, 0));
        let (_, index) = writer.finish();
        let without = index.clone().without_summaries();
        let more = index_len(&index) - index_len(&without);
        assert!(more <= most, "{more} bytes for {count} values");
    }
}

/// A segment has room for its index before it is there.
#[test]
fn summaries_are_never_longer_than_promised() {
    let names: Vec<String> = (0..5000).map(|number| number.to_string()).collect();
    let values: Vec<_> = names.iter().map(|name| Some(name.as_str())).collect();
    for parts in [
        &[&[None][..], &[Some("eu")], &[None, Some("us")]][..],
        &[&values[..1], &values[1..2], &values[2..3]],
        &[&values[..4096]],
        &[&values, &values[..9], &[None]],
    ] {
        for stride in [64, 1 << 20] {
            let mut builder = IndexBuilder::new();
            let (mut base, mut promised) = (0, INDEX_FIXED_MAX_BYTES + INDEX_STREAM_MAX_BYTES);
            for (at, values) in parts.iter().enumerate() {
                let block = valued(values, STREAM, base);
                builder.add(&block, at as u64 * stride, 64);
                base += values.len() as u64;
                promised += INDEX_EXTENT_MAX_BYTES + Summary::max_bytes(&block);
            }
            let index = builder.finish(ObjectSource::Packed(CLUSTER));
            let found = index.encode_trailer(1 << 40).len() as u64;
            // What the varints of the extents leave over hides nothing.
            let spare = INDEX_EXTENT_MAX_BYTES * (parts.len() - index.extents(STREAM).len()) as u64;
            assert!(found + spare <= promised, "{found} of {promised}");
        }
    }
    let blocks = [valued(&[None], STREAM, 0), valued(&values[..2], STREAM, 0), valued(&values, STREAM, 0)];
    assert_eq!(blocks.map(|block| Summary::max_bytes(&block)), [2, 8, 2 + 3 * 4096]);
}

#[test]
fn an_object_says_what_its_extents_hold() {
    let (_, index) = samples::summarised_object();
    assert_eq!(index.summaries(StreamId(9)), &Summaries::Plain);
    let of = |extent| index.summaries(STREAM).of(extent);
    assert_eq!(index.extents(STREAM).len(), 3);
    assert!(
        selection(&[""], false).may_want(of(0).as_ref()) && selection(&[], true).may_want(of(0).as_ref())
    );
    assert!(selection(&["us"], false).may_want(of(2).as_ref()));
    assert!(!selection(&["us", "asia"], false).may_want(of(0).as_ref()));
    assert!(!selection(&["eu", ""], false).may_want(of(1).as_ref()), "no record there has a value");
    assert!(!selection(&[""], true).may_want(of(2).as_ref()), "every record there has a value");
}
