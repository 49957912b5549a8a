//! The forms in which records travel.
//!
//! Owns the media types of the record formats and the choice among the forms of a reply. Guarantees that a client
//! which never heard of records gets plain bodies, whatever it accepts. Never encodes a record.

/// The media type of records as JSON.
pub const RECORDS_JSON: &str = "application/vnd.kelda.records+json";
/// The media type of records in binary.
pub const RECORDS_BINARY: &str = "application/vnd.kelda.records";

/// How the records of a body are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Bodies only, one after the other, or as elements of one JSON array.
    Plain,
    /// [`RECORDS_JSON`].
    Json,
    /// [`RECORDS_BINARY`].
    Binary,
}

impl Form {
    /// A letter that tells entity tags of different forms apart.
    #[must_use]
    pub fn letter(self) -> char {
        match self {
            Form::Plain => 'p',
            Form::Json => 'j',
            Form::Binary => 'b',
        }
    }
}

/// The form that a body of this content type is in; [`Form::Plain`] for any type but the two.
#[must_use]
pub fn of_content_type(content_type: &str) -> Form {
    named(content_type).unwrap_or(Form::Plain)
}

/// The form of a reply to a request with this `Accept` and, perhaps, `?as=records`.
///
/// A record type that is accepted by name wins, the one with the higher quality, the first of equals. Without
/// one the reply is plain, or JSON when the URL asks for records.
#[must_use]
pub fn of_reply(accept: Option<&str>, as_records: bool) -> Form {
    let mut best: Option<(Form, u32)> = None;
    for range in accept.unwrap_or_default().split(',') {
        let Some(form) = named(range) else { continue };
        let quality = quality(range);
        if quality > best.map_or(0, |(_, best)| best) {
            best = Some((form, quality));
        }
    }
    match best {
        Some((form, _)) => form,
        None if as_records => Form::Json,
        None => Form::Plain,
    }
}

fn named(media: &str) -> Option<Form> {
    let essence = media.split(';').next().unwrap_or_default().trim();
    if essence.eq_ignore_ascii_case(RECORDS_JSON) {
        Some(Form::Json)
    } else if essence.eq_ignore_ascii_case(RECORDS_BINARY) {
        Some(Form::Binary)
    } else {
        None
    }
}

/// The quality of a media range in thousandths; a malformed one counts as given.
fn quality(range: &str) -> u32 {
    let value = range.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("q").then(|| value.trim())
    });
    let Some(value) = value else { return 1_000 };
    let (whole, fraction) = value.split_once('.').unwrap_or((value, ""));
    let digits: String = fraction.chars().chain("000".chars()).take(3).collect();
    match (whole.parse::<u32>(), digits.parse::<u32>()) {
        (Ok(whole), Ok(fraction)) => (whole * 1_000 + fraction).min(1_000),
        _ => 1_000,
    }
}

#[cfg(test)]
mod tests;
