//! What a stream may be created with: owns validation of a configuration and its comparison with an existing
//! stream, by meaning. Pure. Never decides what an absent HTTP header means; `None` here is no opinion.

use kelda_format::limits::{MAX_ARGUMENT_BYTES, MAX_ARGUMENTS, MAX_CONTENT_TYPE_BYTES, MAX_INTEGER};
use kelda_format::rows::{EntryRow, Expiry, Retention, StreamKind};

use crate::{Fact, Fault, Field, Problem, content_type};

/// The configuration a caller asks for. What is `None` is no opinion: a new stream gets the default, an
/// existing one matches whatever it has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamConfig {
    /// Stream or queue; both share one name space.
    pub kind: StreamKind,
    /// Content type; `application/octet-stream` for a new stream when absent.
    pub content_type: Option<String>,
    /// Expiry; a new stream never expires when absent. HTTP always has an opinion here: without a TTL header
    /// it asks for [`Expiry::Never`].
    pub expiry: Option<Expiry>,
    /// Bounds on what is kept; each field on its own.
    pub retention: Retention,
    /// Declare arguments as AMQP gave them, kept and compared as strings.
    pub arguments: Option<Vec<(String, String)>>,
}

impl Default for StreamConfig {
    fn default() -> StreamConfig {
        StreamConfig {
            kind: StreamKind::Stream,
            content_type: None,
            expiry: None,
            retention: Retention::default(),
            arguments: None,
        }
    }
}

/// A configuration value that cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field} is {value}: {expected}")]
pub struct ConfigError {
    /// Which field.
    pub field: &'static str,
    /// The value, shortened when long.
    pub value: String,
    /// What would be right.
    pub expected: String,
}

impl Fault for ConfigError {
    fn problem(&self) -> Problem {
        Problem::InvalidConfig
    }

    fn fields(&self) -> Vec<Field> {
        vec![("field", Fact::Text(self.field.to_owned()))]
    }
}

/// One field in which an existing stream differs from what was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Which field: `kind`, `content_type`, `expiry`, `max_age`, `max_bytes`, `segment_bytes`, `sealed` or
    /// `arguments.<name>`.
    pub field: String,
    /// What the stream has.
    pub existing: String,
    /// What was asked for.
    pub requested: String,
}

fn refuse(field: &'static str, value: impl ToString, expected: impl ToString) -> ConfigError {
    let value: String = value.to_string().chars().take(64).collect();
    ConfigError { field, value, expected: expected.to_string() }
}

impl StreamConfig {
    /// Checks every value on its own and against the others.
    ///
    /// # Errors
    /// The first value that cannot be.
    pub fn validate(&self) -> Result<(), ConfigError> {
        if let Some(content_type) = &self.content_type {
            check_content_type(content_type)?;
        }
        if let Some(Expiry::Sliding { ttl_ms }) = self.expiry
            && ttl_ms > MAX_INTEGER
        {
            return Err(refuse("ttl", ttl_ms, format!("at most {MAX_INTEGER} milliseconds are allowed")));
        }
        check_retention(&self.retention)?;
        let arguments = self.arguments.as_deref().unwrap_or_default();
        if arguments.len() > MAX_ARGUMENTS {
            return Err(refuse("arguments", arguments.len(), format!("at most {MAX_ARGUMENTS} are allowed")));
        }
        match arguments.iter().find(|(k, v)| k.len().max(v.len()) > MAX_ARGUMENT_BYTES) {
            Some((name, _)) => {
                Err(refuse("arguments", name, format!("at most {MAX_ARGUMENT_BYTES} bytes are allowed")))
            }
            None => Ok(()),
        }
    }

    /// Brings values that mean the same to one spelling: a TTL of nothing is the shortest there is.
    pub(crate) fn normalise(&mut self) {
        if let Some(Expiry::Sliding { ttl_ms }) = &mut self.expiry {
            *ttl_ms = (*ttl_ms).max(1);
        }
    }

    /// The fields in which `existing` differs from this request, empty when it matches.
    #[must_use]
    pub fn differences(&self, existing: &EntryRow) -> Vec<Difference> {
        let mut found = Vec::new();
        let mut note = |field: &str, existing: String, requested: String| {
            found.push(Difference { field: field.to_owned(), existing, requested });
        };
        if self.kind != existing.kind {
            note("kind", kind_text(existing.kind).to_owned(), kind_text(self.kind).to_owned());
        }
        if let Some(wanted) = &self.content_type
            && !content_type::same(wanted, &existing.content_type)
        {
            note("content_type", existing.content_type.clone(), wanted.clone());
        }
        if let Some(wanted) = &self.expiry
            && *wanted != existing.expiry
        {
            note("expiry", expiry_text(&existing.expiry), expiry_text(wanted));
        }
        let bounds = [
            ("max_age", self.retention.max_age_ms, existing.retention.max_age_ms),
            ("max_bytes", self.retention.max_bytes, existing.retention.max_bytes),
            ("segment_bytes", self.retention.segment_bytes, existing.retention.segment_bytes),
        ];
        for (field, wanted, has) in bounds {
            if let Some(wanted) = wanted
                && Some(wanted) != has
            {
                let has = has.map_or_else(|| "none".to_owned(), |value| bound_text(field, value));
                note(field, has, bound_text(field, wanted));
            }
        }
        if let Some(wanted) = &self.arguments {
            argument_differences(&existing.arguments, wanted, &mut note);
        }
        found
    }
}

fn argument_differences(
    existing: &[(String, String)],
    wanted: &[(String, String)],
    note: &mut impl FnMut(&str, String, String),
) {
    let get = |list: &[(String, String)], name: &str| {
        list.iter().find(|(key, _)| key == name).map_or_else(|| "none".to_owned(), |(_, value)| value.clone())
    };
    let mut names: Vec<&str> = existing.iter().chain(wanted).map(|(name, _)| name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    for name in names {
        let (has, wants) = (get(existing, name), get(wanted, name));
        if has != wants {
            note(&format!("arguments.{name}"), has, wants);
        }
    }
}

fn check_content_type(content_type: &str) -> Result<(), ConfigError> {
    if content_type.len() > MAX_CONTENT_TYPE_BYTES {
        let expected = format!("at most {MAX_CONTENT_TYPE_BYTES} bytes are allowed");
        return Err(refuse("content_type", content_type, expected));
    }
    let essence = content_type::essence(content_type);
    let shaped = essence.split_once('/').is_some_and(|(a, b)| !a.is_empty() && !b.is_empty());
    // It goes back to clients as a header value, which only visible ASCII survives everywhere.
    if !shaped || !content_type.bytes().all(|b| matches!(b, b' '..=b'~')) {
        return Err(refuse("content_type", content_type, "type/subtype in visible ASCII is right"));
    }
    Ok(())
}

/// Checks the bounds of a retention, which PATCH sets as well.
pub(crate) fn check_retention(retention: &Retention) -> Result<(), ConfigError> {
    let bounds = [
        ("max_age", retention.max_age_ms),
        ("max_bytes", retention.max_bytes),
        ("segment_bytes", retention.segment_bytes),
    ];
    for (field, value) in bounds {
        if let Some(value) = value
            && !(1..=MAX_INTEGER).contains(&value)
        {
            return Err(refuse(field, value, format!("1 to {MAX_INTEGER} is allowed")));
        }
    }
    Ok(())
}

fn kind_text(kind: StreamKind) -> &'static str {
    match kind {
        StreamKind::Stream => "stream",
        StreamKind::Queue => "queue",
    }
}

fn bound_text(field: &str, value: u64) -> String {
    if field == "max_age" { duration_text(value) } else { value.to_string() }
}

fn expiry_text(expiry: &Expiry) -> String {
    match expiry {
        Expiry::Never => "none".to_owned(),
        Expiry::Sliding { ttl_ms } => format!("ttl {}", duration_text(*ttl_ms)),
        Expiry::At(at) => {
            let ms = i64::try_from(at.0).unwrap_or(i64::MAX);
            let time = jiff::Timestamp::from_millisecond(ms).unwrap_or(jiff::Timestamp::MAX);
            format!("at {time}")
        }
    }
}

/// Milliseconds in the largest unit that holds them exactly.
fn duration_text(ms: u64) -> String {
    let units = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000)];
    let (unit, size) = units.into_iter().find(|(_, size)| ms.is_multiple_of(*size)).unwrap_or(("ms", 1));
    if ms == 0 { "0s".to_owned() } else { format!("{}{unit}", ms / size) }
}

#[cfg(test)]
mod tests;
