//! Stream names: owns the rules of what a name may be, guarantees that a [`StreamName`] keeps them, never
//! knows what a name is bound to.

use std::fmt;
use std::sync::Arc;

use crate::limits::MAX_NAME_BYTES;

/// A valid stream name: a path such as `logs/api/prod`. Cheap to clone; ordered by bytes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamName(Arc<str>);

/// Why a text is not a stream name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// Nothing at all.
    #[error("a stream name has 1 to {MAX_NAME_BYTES} bytes, this one is empty")]
    Empty,
    /// Too many bytes.
    #[error("a stream name has at most {MAX_NAME_BYTES} bytes, this one has {bytes}")]
    TooLong {
        /// Length of the rejected name in bytes.
        bytes: usize,
    },
    /// Two slashes in a row, or one at either end.
    #[error("stream name {name:?} has an empty segment; write one '/' between segments and none at the ends")]
    EmptySegment {
        /// The rejected name.
        name: String,
    },
    /// A segment that paths give another meaning.
    #[error("stream name {name:?} has the segment {segment:?}, which is not allowed")]
    DotSegment {
        /// The rejected name.
        name: String,
        /// `.` or `..`.
        segment: String,
    },
    /// A control character (C0, DEL or C1).
    #[error("stream name {name:?} has the control character U+{code:04X} at byte {at}")]
    Control {
        /// The rejected name.
        name: String,
        /// Where the character begins, in bytes.
        at: usize,
        /// Its code point.
        code: u32,
    },
}

impl StreamName {
    /// Checks the rules: 1 to 1024 bytes, no empty, `.` or `..` segment, no control character. Reserved names
    /// are valid; who may use them is for [`StreamName::is_reserved`]'s callers to decide.
    ///
    /// # Errors
    /// The first rule that `name` breaks.
    pub fn parse(name: &str) -> Result<StreamName, NameError> {
        if name.is_empty() {
            return Err(NameError::Empty);
        }
        if name.len() > MAX_NAME_BYTES {
            return Err(NameError::TooLong { bytes: name.len() });
        }
        if let Some((at, found)) = name.char_indices().find(|(_, c)| c.is_control()) {
            return Err(NameError::Control { name: name.to_owned(), at, code: u32::from(found) });
        }
        for segment in name.split('/') {
            match segment {
                "" => return Err(NameError::EmptySegment { name: name.to_owned() }),
                "." | ".." => {
                    return Err(NameError::DotSegment { name: name.to_owned(), segment: segment.to_owned() });
                }
                _ => {}
            }
        }
        Ok(StreamName(name.into()))
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the first segment begins with `__`: such names belong to Kelda itself.
    #[must_use]
    pub fn is_reserved(&self) -> bool {
        self.0.starts_with("__")
    }
}

impl AsRef<str> for StreamName {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl std::borrow::Borrow<str> for StreamName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl std::str::FromStr for StreamName {
    type Err = NameError;

    fn from_str(name: &str) -> Result<StreamName, NameError> {
        StreamName::parse(name)
    }
}

impl fmt::Display for StreamName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for StreamName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}
