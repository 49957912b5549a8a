//! From the path of a URL to the name of a stream, and back.
//!
//! Owns the escaping. Guarantees that a name written as a path reads back as the same name. Never knows what a name
//! stands for.

use axum::http::Uri;
use kelda_format::name::StreamName;
use kelda_service::Problem;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use super::refusal::Refusal;

/// What stays as it is in a path: RFC 3986's unreserved characters, and the slash between segments.
const KEPT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/');

/// The name that a URL's path stands for.
///
/// # Errors
/// The path has broken escapes or is not UTF-8, or the name breaks the rules.
pub fn of(uri: &Uri) -> Result<StreamName, Refusal> {
    let path = uri.path().strip_prefix('/').unwrap_or(uri.path());
    if !escapes_are_whole(path) {
        return Err(Refusal::new(Problem::InvalidName, "the path has a `%` without two hexadecimal digits"));
    }
    let name = percent_decode_str(path).decode_utf8();
    let name =
        name.map_err(|_| Refusal::new(Problem::InvalidName, "the path is not UTF-8 when unescaped"))?;
    StreamName::parse(&name).map_err(|error| Refusal::new(Problem::InvalidName, error.to_string()))
}

/// Whether two hexadecimal digits follow every `%`.
pub(super) fn escapes_are_whole(text: &str) -> bool {
    let is_hex = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_hexdigit);
    text.split('%').skip(1).all(|rest| is_hex(rest.as_bytes().first()) && is_hex(rest.as_bytes().get(1)))
}

/// The path of a name's URL.
#[must_use]
pub fn path(name: &StreamName) -> String {
    format!("/{}", utf8_percent_encode(name.as_str(), KEPT))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn name(path: &str) -> Result<String, Refusal> {
        of(&path.parse().unwrap()).map(|name| name.as_str().to_owned())
    }

    #[test]
    fn names_and_paths() {
        for (path, meant) in [
            ("/logs/api", "logs/api"),
            ("/a%20b%2Fc?x=y", "a b/c"),
            ("/%C3%A9%25", "é%"),
            ("/%2e%2e%2e", "..."),
            ("/a+b", "a+b"),
        ] {
            assert_eq!(name(path).unwrap(), meant, "{path}");
            let again = super::path(&StreamName::parse(meant).unwrap());
            assert_eq!(name(&again).unwrap(), meant, "{again}");
        }
    }

    #[test]
    fn paths_that_are_no_names() {
        let long = format!("/{}", "x".repeat(1025));
        for path in [
            "/",
            "//a",
            "/a/",
            "/a//b",
            "/a/../b",
            "/%2e%2e/b",
            "/./b",
            "/a%00",
            "/a%0Ab",
            "/%FF",
            "/a%zz",
            "/a%",
            "/a%4",
            &long,
        ] {
            assert_eq!(name(path).unwrap_err().problem(), Problem::InvalidName, "{path}");
        }
        assert!(name(&format!("/{}", "x".repeat(1024))).is_ok());
    }
}
