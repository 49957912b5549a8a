//! Protocol errors.
//!
//! Owns every reply code and the words around it: each error is a value with the text that RabbitMQ's clients know. Pure.

use kelda_format::limits::MAX_HEADER_DEPTH;
use kelda_service::{Fault, Problem};

use super::wire::Short;

/// Bytes of a text that fit into a reply.
const MOST_TEXT: usize = 255;
/// What stands for the rest of a text.
const DOTS: &str = "...";

/// What ends: the channel or the whole connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The channel.
    Channel,
    /// The connection.
    Connection,
}

/// An error that is told to the peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// What ends by it.
    pub scope: Scope,
    /// The reply code.
    pub code: u16,
    /// The reply text.
    pub text: String,
    /// Whether the method that caused it is named.
    pub of_method: bool,
}

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $fn:ident = $code:literal $name:literal $scope:ident;)+) => {
        $($(#[doc = $doc])+
        pub fn $fn(text: impl AsRef<str>) -> Refusal {
            let text = format!(concat!($name, " - {}"), text.as_ref());
            Refusal { scope: Scope::$scope, code: $code, text, of_method: true }
        })+
    };
}

codes! {
    /// The node or an operator ends the connection.
    connection_forced = 320 "CONNECTION_FORCED" Connection;
    /// The caller may not.
    access_refused = 403 "ACCESS_REFUSED" Channel;
    /// There is no such thing.
    not_found = 404 "NOT_FOUND" Channel;
    /// Somebody else has it alone.
    resource_locked = 405 "RESOURCE_LOCKED" Channel;
    /// It is there, and otherwise than asked for; or the request cannot be.
    precondition_failed = 406 "PRECONDITION_FAILED" Channel;
    /// Not a frame.
    frame_error = 501 "FRAME_ERROR" Connection;
    /// A method that a client does not send.
    command_invalid = 503 "COMMAND_INVALID" Connection;
    /// A method where it has no place.
    channel_error = 504 "CHANNEL_ERROR" Connection;
    /// A frame where it has no place.
    unexpected_frame = 505 "UNEXPECTED_FRAME" Connection;
    /// The node has no room for it.
    resource_error = 506 "RESOURCE_ERROR" Channel;
    /// Not allowed by what was agreed.
    not_allowed = 530 "NOT_ALLOWED" Connection;
    /// Not done for streams, or not at all.
    not_implemented = 540 "NOT_IMPLEMENTED" Connection;
    /// The node failed.
    internal_error = 541 "INTERNAL_ERROR" Channel;
}

impl Refusal {
    /// The same without the method that caused it.
    pub fn of_nothing(self) -> Refusal {
        Refusal { of_method: false, ..self }
    }

    /// The text as it is sent; one that is too long ends in dots.
    pub fn told(&self) -> Short {
        if self.text.len() <= MOST_TEXT {
            return Short::from(self.text.as_str());
        }
        let mut end = MOST_TEXT - DOTS.len();
        while !self.text.is_char_boundary(end) {
            end -= 1;
        }
        Short::from(format!("{}{DOTS}", &self.text[..end]).as_str())
    }
}

/// A table with more levels than are kept.
pub fn too_deep() -> Refusal {
    precondition_failed(format!("tables may nest {MAX_HEADER_DEPTH} levels deep, and one is deeper"))
}

/// What the service said, with the problem's code in front.
pub fn of_fault(fault: &(impl Fault + std::fmt::Display)) -> Refusal {
    let problem = fault.problem();
    let text = format!("{}: {fault}", problem.code());
    match problem {
        Problem::Forbidden => access_refused(text),
        Problem::NotFound | Problem::Gone => not_found(text),
        Problem::Overloaded | Problem::DiskFull => resource_error(text),
        Problem::Unavailable | Problem::Internal | Problem::Damaged => internal_error(text),
        _ => precondition_failed(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_is_too_long_ends_in_dots() {
        let text = |length: usize| not_found("x".repeat(length - "NOT_FOUND - ".len())).told().text();
        assert_eq!(text(255), format!("NOT_FOUND - {}", "x".repeat(243)));
        assert_eq!(text(256), format!("NOT_FOUND - {}...", "x".repeat(240)));
        let wide = not_found("\u{20ac}".repeat(200)).told().text();
        assert_eq!(wide, format!("NOT_FOUND - {}...", "\u{20ac}".repeat(80)));
    }
}
