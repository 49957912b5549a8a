//! The query part of a URL, split and typed.
//!
//! Owns which parameters exist and what their values may be. Guarantees that an unknown parameter is ignored and
//! that a known one which is wrong, empty or given twice is refused with its name and what would be right. Never
//! looks at a stream.

pub mod list;
pub mod read;

use percent_encoding::percent_decode_str;

pub use list::ListQuery;
pub use read::{Live, ReadQuery, Start, Until};

/// Most parameters that a query may have; anything longer is a mistake or an attack.
const MAX_PARAMETERS: usize = 64;

/// A query parameter that is wrong: its name and a sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("query parameter `{name}`: {detail}")]
pub struct QueryError {
    /// The parameter.
    pub name: String,
    /// What is wrong with it and what would be right.
    pub detail: String,
}

impl QueryError {
    fn new(name: &str, detail: impl Into<String>) -> QueryError {
        QueryError { name: name.to_owned(), detail: detail.into() }
    }
}

/// The parameters of a query, decoded, in order.
#[derive(Clone, Debug, Default)]
pub struct Parameters(Vec<(String, String)>);

impl Parameters {
    /// Splits and decodes a query (the part after `?`); `+` stands for a space, as browsers write it.
    ///
    /// # Errors
    /// More than [`MAX_PARAMETERS`] of them, broken escapes, or bytes that are not UTF-8.
    pub fn parse(query: Option<&str>) -> Result<Parameters, QueryError> {
        let mut found = Vec::new();
        for part in query.unwrap_or_default().split('&').filter(|part| !part.is_empty()) {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            let name = decode(name).map_err(|why| {
                QueryError::new(&crate::http::offset::excerpt(name), format!("its name {why}"))
            })?;
            let value = decode(value).map_err(|why| QueryError::new(&name, format!("its value {why}")))?;
            if found.len() == MAX_PARAMETERS {
                return Err(QueryError::new(
                    &name,
                    format!("there are more than {MAX_PARAMETERS} parameters"),
                ));
            }
            found.push((name, value));
        }
        Ok(Parameters(found))
    }

    /// The value of a parameter that may be given once.
    ///
    /// # Errors
    /// It is given more than once, or with an empty value.
    pub fn one(&self, name: &str) -> Result<Option<&str>, QueryError> {
        match self.text(name)? {
            Some("") => Err(QueryError::new(name, "it is empty: give a value or leave it out")),
            value => Ok(value),
        }
    }

    /// The value of a parameter that may be given once and may be empty.
    ///
    /// # Errors
    /// It is given more than once.
    pub fn text(&self, name: &str) -> Result<Option<&str>, QueryError> {
        let mut values = self.0.iter().filter(|(n, _)| n == name).map(|(_, value)| value.as_str());
        let value = values.next();
        if values.next().is_some() {
            return Err(QueryError::new(name, "it is given more than once: give it once"));
        }
        Ok(value)
    }

    /// The value of a parameter, parsed.
    ///
    /// # Errors
    /// As [`Parameters::one`], or what the parser says.
    pub fn parsed<T>(
        &self,
        name: &str,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<Option<T>, QueryError> {
        self.one(name)?.map(parse).transpose().map_err(|detail| QueryError::new(name, detail))
    }
}

/// A whole number in plain decimal digits between two bounds.
fn number(text: &str, least: u64, most: u64) -> Result<u64, String> {
    let value = if text.bytes().all(|b| b.is_ascii_digit()) { text.parse().ok() } else { None };
    value.filter(|n| (least..=most).contains(n)).ok_or_else(|| {
        format!("`{}` is not a whole number from {least} to {most}", crate::http::offset::excerpt(text))
    })
}

fn decode(text: &str) -> Result<String, &'static str> {
    if !crate::http::name::escapes_are_whole(text) {
        return Err("has a `%` without two hexadecimal digits");
    }
    let spaced = text.replace('+', " ");
    let decoded = percent_decode_str(&spaced).decode_utf8();
    decoded.map(std::borrow::Cow::into_owned).map_err(|_| "is not UTF-8")
}

#[cfg(test)]
mod tests;
