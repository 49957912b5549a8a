//! Round trips of everything that travels, and bytes that are nothing.

#![allow(clippy::unwrap_used)]

use bytes::{BufMut, Bytes, BytesMut};
use kelda_format::limits::MAX_HEADER_DEPTH;
use kelda_format::{Header, Value};
use proptest::prelude::*;

use super::codec::{Field, Reader, Writer};
use super::*;

fn table_bytes(table: &Table) -> Bytes {
    let mut out = BytesMut::new();
    table.put(&mut Writer::new(&mut out));
    out.freeze()
}

fn value() -> impl Strategy<Value = Value> {
    let text = "[a-zä ]{0,12}";
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::Bool),
        any::<i8>().prop_map(Value::I8),
        any::<u8>().prop_map(Value::U8),
        any::<i16>().prop_map(Value::I16),
        any::<u16>().prop_map(Value::U16),
        any::<i32>().prop_map(Value::I32),
        any::<u32>().prop_map(Value::U32),
        any::<i64>().prop_map(Value::I64),
        (-1e9_f32..1e9).prop_map(Value::F32),
        (-1e9_f64..1e9).prop_map(Value::F64),
        (any::<u8>(), any::<u32>()).prop_map(|(scale, value)| Value::Decimal { scale, value }),
        text.prop_map(Value::Text),
        Just(Value::LongString(Bytes::from_static(b"\xff\xfe"))),
        proptest::collection::vec(any::<u8>(), 0..12).prop_map(|bytes| Value::Bytes(bytes.into())),
        any::<u64>().prop_map(Value::Timestamp),
        Just(Value::Void),
    ];
    leaf.prop_recursive(4, 24, 4, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            proptest::collection::vec((text, inner), 0..4).prop_map(|list| Value::Table(
                list.into_iter().map(|(name, value)| Header { name, value }).collect()
            )),
        ]
    })
}

proptest! {
    #[test]
    fn a_table_comes_back_in_order_and_with_repeats(
        list in proptest::collection::vec(("[a-z]{0,3}", value()), 0..6))
    {
        let table = Table(list.into_iter().map(|(name, value)| Header { name, value }).collect());
        let back = Table::get(&mut Reader::new(table_bytes(&table)));
        prop_assert_eq!(back, Ok(table));
    }

    #[test]
    fn any_bytes_are_read_without_harm(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = Properties::get(bytes.clone().into());
        let _ = Method::get(bytes.clone().into());
        let mut buffer = BytesMut::from(&bytes[..]);
        while let Ok(Some(_)) = take_frame(&mut buffer, 100) {}
    }
}

#[test]
fn a_table_that_nests_too_deep_shows_it_and_is_not_followed() {
    // One value that is an array in an array, and so on; by turns with tables.
    let nested = |levels: usize, tables: bool| {
        let mut bytes = BytesMut::from(&b"V"[..]);
        for level in 0..levels {
            let mut outer = BytesMut::with_capacity(bytes.len() + 6);
            let is_table = tables && level % 2 == 0;
            outer.put_u8(if is_table { b'F' } else { b'A' });
            outer.put_u32(u32::try_from(bytes.len() + usize::from(is_table)).unwrap());
            outer.put_slice(if is_table { b"\0" } else { b"" });
            outer.put_slice(&bytes);
            bytes = outer;
        }
        let mut table = BytesMut::new();
        table.put_u32(u32::try_from(bytes.len() + 1).unwrap());
        table.put_u8(0);
        table.put_slice(&bytes);
        table.freeze()
    };
    for tables in [false, true] {
        for levels in [0, 1, MAX_HEADER_DEPTH, MAX_HEADER_DEPTH + 1, MAX_HEADER_DEPTH + 2, 26_000] {
            let bytes = nested(levels, tables);
            let table = Table::get(&mut Reader::new(bytes.clone())).unwrap();
            assert_eq!(table.is_too_deep(), levels > MAX_HEADER_DEPTH, "{levels}");
            assert_eq!(table_bytes(&table) == bytes, levels <= MAX_HEADER_DEPTH, "{levels}");
            assert_eq!(kelda_format::Headers::new(&table.0).is_ok(), levels <= MAX_HEADER_DEPTH, "{levels}");
        }
    }
}

#[test]
fn methods_and_properties_come_back() {
    let method = Method::QueueDeclare {
        ticket: 0,
        queue: "q".into(),
        passive: false,
        durable: true,
        exclusive: false,
        auto_delete: true,
        nowait: true,
        arguments: Table(vec![Header::new("x-queue-type", Value::Text("stream".to_owned()))]),
    };
    let mut out = BytesMut::new();
    method.put(&mut out);
    // Ticket, name, then five bits in one octet.
    assert_eq!(out[..9], [0, 50, 0, 10, 0, 0, 1, b'q', 0b11010]);
    assert_eq!(Method::get(out.freeze()), Ok(Some(method)));

    let properties = Properties {
        content_type: Some("text/plain".into()),
        headers: Some(Table::default()),
        delivery_mode: Some(2),
        timestamp: Some(1_700_000_000),
        cluster_id: Some("c".into()),
        ..Properties::default()
    };
    let mut out = BytesMut::new();
    properties.put(&mut out, 7);
    assert_eq!(out[12..14], [0b1011_0000, 0b0100_0100]);
    assert_eq!(Properties::get(out.freeze()), Ok((7, properties)));
}

#[test]
fn a_frame_is_taken_when_it_is_whole_and_refused_when_it_is_none() {
    let mut out = BytesMut::new();
    put_frame(&mut out, FrameKind::Body, 3, |out| out.extend_from_slice(b"abc"));
    assert_eq!(out[..], [3, 0, 3, 0, 0, 0, 3, b'a', b'b', b'c', 0xce]);
    for cut in 0..out.len() {
        assert_eq!(take_frame(&mut BytesMut::from(&out[..cut]), 4_096), Ok(None), "{cut}");
    }
    let frame = take_frame(&mut out.clone(), 4_096).unwrap().unwrap();
    assert_eq!((frame.kind, frame.channel, &frame.payload[..]), (FrameKind::Body, 3, &b"abc"[..]));
    assert_eq!(take_frame(&mut out.clone(), 2), Err(FrameFault::TooLarge(3, 3, 0)));
    *out.last_mut().unwrap() = 0;
    assert!(matches!(take_frame(&mut out.clone(), 4_096), Err(FrameFault::End(3, _, 0))));
    out[0] = 4;
    *out.last_mut().unwrap() = 0xce;
    assert_eq!(take_frame(&mut out, 4_096), Err(FrameFault::Unknown(4, bytes::Bytes::from_static(b"abc"))));
}
