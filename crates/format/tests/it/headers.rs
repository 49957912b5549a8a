//! Header lists: order, repeats, types and limits.

use bytes::Bytes;
use kelda_format::limits::{MAX_HEADER_BLOCK_BYTES, MAX_HEADER_DEPTH};
use kelda_format::{Header, Headers, LimitError, Value};

use crate::samples::header_list;

#[test]
fn order_and_repeats_are_kept() {
    let headers = Headers::new(&header_list()).unwrap();
    assert_eq!(headers.iter().collect::<Vec<_>>(), header_list());
    assert_eq!(headers.iter().filter(|header| header.name == "twice").count(), 2);
    assert_eq!(headers.get("h17"), Some(Value::Void));
    assert_eq!(headers.get("absent"), None);
}

#[test]
fn none_costs_nothing() {
    assert!(Headers::none().is_empty());
    assert_eq!(Headers::new(&[]).unwrap(), Headers::none());
    assert_eq!(Headers::decode(Bytes::new()).unwrap().iter().count(), 0);
}

#[test]
fn byte_values_share_the_encoding() {
    let headers = Headers::new(&[Header::new("b", Value::Bytes(Bytes::from_static(b"shared")))]).unwrap();
    let Some(Value::Bytes(value)) = headers.get("b") else { panic!("no bytes") };
    let range = headers.encoded().as_ptr_range();
    assert!(range.contains(&value.as_ptr()));
}

#[test]
fn limits() {
    let of = |bytes: usize| Headers::new(&[Header::new("b", Value::Bytes(vec![0; bytes].into()))]);
    let overhead = of(MAX_HEADER_BLOCK_BYTES - 10).unwrap().encoded().len() - (MAX_HEADER_BLOCK_BYTES - 10);
    let fits = of(MAX_HEADER_BLOCK_BYTES - overhead).unwrap();
    assert_eq!(fits.encoded().len(), MAX_HEADER_BLOCK_BYTES);
    assert!(Headers::decode(fits.encoded().clone()).is_ok());
    let too_long = [&fits.encoded()[..], &[0, 18]].concat();
    assert!(Headers::decode(too_long.into()).unwrap_err().to_string().contains("at most 65536 allowed"));
    let found = MAX_HEADER_BLOCK_BYTES as u64 + 1;
    assert_eq!(of(MAX_HEADER_BLOCK_BYTES - overhead + 1), Err(LimitError::HeaderBlockBytes { found }));
    let named = |bytes: usize| Headers::new(&[Header::new("n".repeat(bytes), Value::Void)]);
    assert!(named(255).is_ok());
    assert_eq!(named(256), Err(LimitError::HeaderNameBytes { found: 256 }));
    let short = |bytes: usize| Headers::new(&[Header::new("s", Value::ShortString("s".repeat(bytes)))]);
    assert!(short(255).is_ok());
    assert_eq!(short(256), Err(LimitError::ShortStringBytes { found: 256 }));
}

#[test]
fn nesting_is_bounded_both_ways() {
    let nested = |depth: usize| {
        let value = (0..depth).fold(Value::Void, |inner, _| Value::Array(vec![inner]));
        Headers::new(&[Header::new("n", value)])
    };
    let deepest = nested(MAX_HEADER_DEPTH).unwrap();
    assert!(Headers::decode(deepest.encoded().clone()).is_ok());
    assert_eq!(nested(MAX_HEADER_DEPTH + 1), Err(LimitError::HeaderDepth));
    // One level more, by hand: an array around the value. Name "n", tag, length, then what was there.
    let inner = &deepest.encoded()[2..];
    let length = u8::try_from(inner.len()).unwrap();
    let deeper = [&[1, b'n', 20, length], inner].concat();
    let error = Headers::decode(deeper.into()).unwrap_err();
    assert!(error.to_string().contains("nested deeper than 16 levels"), "{error}");
}

#[test]
fn what_is_not_a_list_is_refused() {
    for bytes in [&[1][..], &[1, b'n'], &[1, b'n', 0], &[1, b'n', 21], &[1, 0xff, 18], &[1, b'n', 5, 2]] {
        assert!(Headers::decode(Bytes::copy_from_slice(bytes)).is_err(), "{bytes:?}");
    }
}
