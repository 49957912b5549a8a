//! The primitives: one encoding per value, and no way past the end.

use bytes::Bytes;
use kelda_format::wire::{Reader, Wire, put_varint, unzigzag, varint_len, zigzag};
use kelda_format::{wire_enum, wire_struct};

wire_struct! {
    struct Pair {
        left: u64,
        right: Option<String>,
    }
}

wire_enum! {
    enum Shape {
        1 => Dot,
        2 => Line { from: u32, to: u32 },
        7 => Text(text: String),
    }
}

#[test]
fn declared_types_encode_as_documented() {
    assert_eq!(Pair { left: 300, right: Some("ab".to_owned()) }.encoded(), [0xac, 0x02, 1, 2, b'a', b'b']);
    assert_eq!(Shape::Dot.encoded(), [1]);
    assert_eq!(Shape::Line { from: 1, to: 128 }.encoded(), [2, 1, 0x80, 1]);
    assert_eq!(Shape::Text("x".to_owned()).encoded(), [7, 1, b'x']);
    assert_eq!(vec![Shape::Dot, Shape::Dot].encoded(), [2, 1, 1]);
}

#[test]
fn declared_types_refuse_what_they_are_not() {
    for bytes in [&[][..], &[2, 1], &[3], &[7, 2, b'x'], &[7, 1, 0xff], &[1, 0]] {
        assert!(Shape::decode_all(bytes, "shape").is_err(), "{bytes:?}");
    }
    let error = Shape::decode_all(&[9], "shape").unwrap_err();
    assert_eq!(error.to_string(), "shape does not decode at byte 1: unknown tag 9 of Shape");
}

#[test]
fn varints_have_one_form() {
    for value in [0, 1, 127, 128, 16_383, 16_384, u64::from(u32::MAX), u64::MAX - 1, u64::MAX] {
        let mut bytes = Vec::new();
        put_varint(&mut bytes, value);
        assert_eq!(bytes.len(), varint_len(value));
        assert_eq!(u64::decode_all(&bytes, "varint"), Ok(value));
    }
    for bytes in
        [&[0x80, 0][..], &[0xff; 10], &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2], &[0x80]]
    {
        assert!(u64::decode_all(bytes, "varint").is_err(), "{bytes:?}");
    }
    assert!(u16::decode_all(&[0x80, 0x80, 4], "u16").is_err());
}

#[test]
fn zigzag_is_its_own_inverse() {
    for (signed, unsigned) in [(0, 0), (-1, 1), (1, 2), (i64::MAX, u64::MAX - 1), (i64::MIN, u64::MAX)] {
        assert_eq!((zigzag(signed), unzigzag(unsigned)), (unsigned, signed));
    }
}

#[test]
fn a_false_length_costs_nothing() {
    let mut bytes = Vec::new();
    put_varint(&mut bytes, u64::MAX);
    assert!(Vec::<u64>::decode_all(&bytes, "list").is_err());
    assert!(Bytes::decode_all(&bytes, "bytes").is_err());
    let mut reader = Reader::new(&bytes, "reader");
    assert!(reader.take(usize::MAX).is_err());
    assert_eq!(reader.at(), 0);
}

#[test]
fn shared_bytes_are_not_copied() {
    let bytes = Bytes::from(vec![3, b'a', b'b', b'c']);
    let value = Bytes::get(&mut Reader::of_shared(&bytes, "bytes")).unwrap();
    assert_eq!((&value[..], value.as_ptr()), (&b"abc"[..], bytes[1..].as_ptr()));
}
