//! What is an offset, what is not, and that written ones sort.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::*;

#[test]
fn both_spellings_are_read() {
    for (text, offset) in [
        ("0", 0),
        ("7", 7),
        ("00000000000000000007", 7),
        ("18446744073709551615", u64::MAX),
        ("0000000000000000_0000000000000000", 0),
        ("0000000000000000_0000000000000042", 42),
    ] {
        assert_eq!(parse(text), Ok(Offset(offset)), "{text}");
    }
}

#[test]
fn everything_else_is_refused() {
    for text in [
        "",
        "-1",
        "-0",
        "+1",
        " 1",
        "1 ",
        "0,1",
        "0 1",
        "1.0",
        "0x10",
        "1e3",
        "now",
        "١",
        "1_2",
        "_",
        "1_",
        "18446744073709551616",
        "000000000000000000001",
        "99999999999999999999999999999999999",
        "0000000000000001_0000000000000000",
        "0000000000000000_000000000000000",
        "0000000000000000_000000000000000x",
        "0000000000000000_0000000000000000_0000000000000000",
        "../1",
        "1/..",
        "1\0",
        "1\n",
    ] {
        assert!(parse(text).is_err(), "{text:?}");
    }
    assert!(parse(&"9".repeat(1000)).unwrap_err().len() < 300, "an error repeats only the beginning");
}

proptest! {
    #[test]
    fn written_offsets_read_back_and_sort(a: u64, b: u64) {
        let (x, y) = (format(Offset(a)), format(Offset(b)));
        prop_assert_eq!(parse(&x), Ok(Offset(a)));
        prop_assert_eq!(x.cmp(&y), a.cmp(&b));
    }
}

#[test]
fn a_field_says_what_the_text_says() {
    for offset in [0, 7, 1021, u64::MAX].map(Offset) {
        assert_eq!(value(offset).to_str().unwrap(), format(offset));
    }
}
