//! Content types: owns how two of them compare (by their essence: no case, no parameters) and which of them
//! means JSON mode. Never rewrites one: a stream answers with the spelling it was created with.

/// What a stream without a declared content type holds.
pub const DEFAULT: &str = "application/octet-stream";

/// The part before the parameters, without surrounding space.
#[must_use]
pub fn essence(content_type: &str) -> &str {
    content_type.split(';').next().unwrap_or_default().trim()
}

/// Whether two content types mean the same.
#[must_use]
pub fn same(a: &str, b: &str) -> bool {
    essence(a).eq_ignore_ascii_case(essence(b))
}

/// Whether a stream of this type is in JSON mode: each record is one JSON value.
#[must_use]
pub fn is_json(content_type: &str) -> bool {
    essence(content_type).eq_ignore_ascii_case("application/json")
}

#[cfg(test)]
mod tests;
