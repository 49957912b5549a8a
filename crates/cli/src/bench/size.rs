//! Sizes, rates and lengths of time as people write them: owns the grammar `<decimal digits><unit>` with the units `B KiB MiB GiB TiB` and
//! `kB MB GB TB`, or no unit for bytes. Guarantees an error that says what would be right. Never takes zero.

use std::time::Duration;

use kelda_client::limits::MAX_RECORD_BYTES;

use super::payload::STAMP_BYTES;

/// What a server gives in one reply at most.
const MAX_PAGE_BYTES: u64 = 16 << 20;

const UNITS: [(&str, u64); 10] = [
    ("", 1),
    ("B", 1),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
    ("kB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
];

/// A size in bytes.
pub fn parse(text: &str) -> Result<u64, String> {
    let wrong = || {
        format!(
            "`{text}` is not a size: write digits and perhaps a unit (KiB, MiB, GiB, TiB, kB, MB, GB, TB)"
        )
    };
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let (_, factor) = UNITS.into_iter().find(|(name, _)| *name == unit).ok_or_else(wrong)?;
    let number: u64 = number.parse().map_err(|_| wrong())?;
    match number.checked_mul(factor) {
        None => Err(format!("`{text}` is too large a size")),
        Some(0) => Err(format!("`{text}` is nothing: it has to be at least 1")),
        Some(bytes) => Ok(bytes),
    }
}

/// The size of a record.
pub fn parse_record(text: &str) -> Result<u64, String> {
    within(text, 1)
}

/// The size of a record that says when it was sent.
pub fn parse_stamped(text: &str) -> Result<u64, String> {
    within(text, STAMP_BYTES as u64)
}

fn within(text: &str, least: u64) -> Result<u64, String> {
    let bytes = parse(text)?;
    let most = MAX_RECORD_BYTES as u64;
    if (least..=most).contains(&bytes) {
        Ok(bytes)
    } else {
        Err(format!("`{text}` is {bytes} bytes: a record has {least} to {most}"))
    }
}

/// The size of a page.
pub fn parse_page(text: &str) -> Result<u64, String> {
    match parse(text)? {
        bytes if bytes > MAX_PAGE_BYTES => {
            Err(format!("`{text}` is {bytes} bytes: a page has at most 16MiB"))
        }
        bytes => Ok(bytes),
    }
}

/// How long something is measured.
pub fn parse_time(text: &str) -> Result<Duration, String> {
    match kelda_server::duration::parse(text)? {
        Duration::ZERO => Err(format!("`{text}` is no time: it has to be at least 1ms")),
        time => Ok(time),
    }
}

/// A rate per second.
pub fn parse_rate(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(rate) if (0.001..=1e7).contains(&rate) => Ok(rate),
        _ => Err(format!("`{text}` is not a rate: write a number a second, from 0.001 to 10000000")),
    }
}

/// A size in the largest binary unit that holds it exactly.
pub fn format(bytes: u64) -> String {
    let exact = UNITS[2..6].iter().rev().find(|(_, factor)| bytes > 0 && bytes.is_multiple_of(*factor));
    match exact {
        Some((unit, factor)) => format!("{} {unit}", bytes / factor),
        None => format!("{bytes} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_with_their_unit() {
        let good =
            [("1", 1), ("1024", 1024), ("4KiB", 4096), ("20GiB", 20 << 30), ("3MB", 3_000_000), ("7B", 7)];
        for (text, bytes) in good {
            assert_eq!(parse(text), Ok(bytes), "{text}");
        }
        for text in ["", "GiB", "-1", "1.5GiB", "1 GiB", "1gib", "0", "0MiB", "99999999TiB"] {
            assert!(parse(text).is_err_and(|error| error.contains(&format!("`{text}`"))), "{text}");
        }
    }

    #[test]
    fn a_record_has_room_for_what_it_says() {
        assert_eq!(parse_record("1"), Ok(1));
        assert_eq!(parse_stamped("20"), Ok(20));
        assert!(parse_stamped("19").is_err());
        assert!(parse_record("129MiB").is_err());
    }

    #[test]
    fn pages_and_times_have_bounds() {
        assert_eq!(parse_page("16MiB"), Ok(16 << 20));
        assert!(parse_page("16777217").is_err_and(|error| error.contains("at most 16MiB")));
        assert_eq!(parse_time("1ms"), Ok(Duration::from_millis(1)));
        assert!(parse_time("0s").is_err_and(|error| error.contains("at least 1ms")));
    }

    #[test]
    fn rates_are_positive_numbers() {
        assert_eq!(parse_rate("0.5"), Ok(0.5));
        for text in ["0", "-1", "nan", "inf", "x"] {
            assert!(parse_rate(text).is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_are_written_exactly() {
        assert_eq!(format(1), "1 B");
        assert_eq!(format(1025), "1025 B");
        assert_eq!(format(4096), "4 KiB");
        assert_eq!(format(20 << 30), "20 GiB");
    }
}
