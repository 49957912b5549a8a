//! Where a reader starts and ends: owns the positions and how HTTP spells them, guarantees that each means the same on every
//! transport. Never resolves one.

use std::time::{Duration, SystemTime};

use kelda_format::Timestamp;

/// Where a reader starts.
///
/// ```
/// use std::time::{Duration, SystemTime};
/// use kelda_client::StartAt;
/// let back = StartAt::Back(Duration::from_secs(3_600));
/// let from = StartAt::time(SystemTime::UNIX_EPOCH + Duration::from_secs(1_796_000_000));
/// assert_ne!(back, from);
/// assert_eq!(StartAt::default(), StartAt::Next);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StartAt {
    /// At the first record held: everything there is, then what comes.
    First,
    /// At the last record that was written, and onward.
    Last,
    /// Behind the last record: only what is written from now on. The default, because it is the only one that does not
    /// replay history the first time a reader starts.
    #[default]
    Next,
    /// At this offset.
    Offset(u64),
    /// At the first record of this time or later.
    Time(Timestamp),
    /// So far back from now.
    Back(Duration),
    /// So many records before the tail, or at the first held. Where that is, is settled when the reader subscribes.
    Tail(u64),
}

/// Where a reader ends by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndAt {
    /// Before this offset.
    Offset(u64),
    /// Before the first record of this time or later. At the tail it is noticed when a record comes, or when the server's
    /// `--long-poll-timeout` is over.
    Time(Timestamp),
}

impl EndAt {
    /// The query that asks for it.
    pub(crate) fn query(self) -> String {
        match self {
            EndAt::Offset(offset) => format!("until={offset}"),
            EndAt::Time(time) => format!("until={}", rfc3339(time.0)),
        }
    }
}

impl StartAt {
    /// A time of the system's clock.
    #[must_use]
    pub fn time(time: SystemTime) -> StartAt {
        let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        StartAt::Time(Timestamp(u64::try_from(since.as_millis()).unwrap_or(u64::MAX)))
    }

    /// The query that asks for it.
    pub(crate) fn query(self) -> String {
        match self {
            StartAt::First => "from=first".to_owned(),
            StartAt::Last => "from=last".to_owned(),
            StartAt::Next => "from=next".to_owned(),
            StartAt::Offset(offset) => format!("offset={offset}"),
            StartAt::Time(time) => format!("from={}", rfc3339(time.0)),
            StartAt::Back(back) => format!("from={}ms", back.as_millis().min(MAX_BACK_MS)),
            StartAt::Tail(records) => format!("tail={records}"),
        }
    }
}

/// A time of the system's clock as RFC 3339, in milliseconds; what is before 1970 is 1970.
pub(crate) fn rfc3339_of(time: SystemTime) -> String {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    rfc3339(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// The longest duration that the server takes: 36,500 days.
const MAX_BACK_MS: u128 = 36_500 * 86_400_000;

/// Milliseconds since 1970 as RFC 3339 in UTC, with what a URL may hold only; at most the end of the year 9999.
fn rfc3339(ms: u64) -> String {
    let ms = ms.min(253_402_300_799_999);
    let (days, of_day) = (ms / 86_400_000, ms % 86_400_000);
    let (year, month, day) = civil(days);
    let (hour, minute) = (of_day / 3_600_000, of_day / 60_000 % 60);
    let (second, milli) = (of_day / 1_000 % 60, of_day % 1_000);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z")
}

/// The day of the Gregorian calendar, of a number of days since 1970.
fn civil(days: u64) -> (u64, u64, u64) {
    // Eras of 400 years that begin in March, so that the leap day is the last of a year.
    let shifted = days + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_start_is_spelled_as_the_server_takes_it() {
        for (start, query) in [
            (StartAt::First, "from=first"),
            (StartAt::Last, "from=last"),
            (StartAt::default(), "from=next"),
            (StartAt::Offset(12_345), "offset=12345"),
            (StartAt::Time(Timestamp(0)), "from=1970-01-01T00:00:00.000Z"),
            (StartAt::Time(Timestamp(951_827_696_789)), "from=2000-02-29T12:34:56.789Z"),
            (StartAt::Time(Timestamp(u64::MAX)), "from=9999-12-31T23:59:59.999Z"),
            (StartAt::Back(Duration::from_secs(90)), "from=90000ms"),
            (StartAt::Back(Duration::MAX), "from=3153600000000ms"),
            (StartAt::Tail(0), "tail=0"),
        ] {
            assert_eq!(start.query(), query);
        }
        assert_eq!(EndAt::Offset(7).query(), "until=7");
        assert_eq!(EndAt::Time(Timestamp(1_500)).query(), "until=1970-01-01T00:00:01.500Z");
    }

    #[test]
    fn a_time_before_1970_is_the_first_there_is() {
        assert_eq!(
            StartAt::time(SystemTime::UNIX_EPOCH - Duration::from_secs(5)),
            StartAt::Time(Timestamp(0))
        );
        let later = SystemTime::UNIX_EPOCH + Duration::from_millis(1_234);
        assert_eq!(StartAt::time(later), StartAt::Time(Timestamp(1_234)));
    }
}
