//! What a server's refusals mean: owns the way from reply codes and texts to the library's errors. Guarantees that a closed
//! connection is a lost one and that a contradicted declaration says both sides. Never loses the server's words.

use lapin::{Error as AmqpError, ErrorKind};

use crate::error::{Difference, Error, Problem, StreamMismatch};
use crate::stream_limits::StreamArguments;

/// The reply codes with a meaning of their own.
mod code {
    pub(super) const CONNECTION_FORCED: u16 = 320;
    pub(super) const ACCESS_REFUSED: u16 = 403;
    pub(super) const NOT_FOUND: u16 = 404;
    pub(super) const PRECONDITION_FAILED: u16 = 406;
    pub(super) const RESOURCE_ERROR: u16 = 506;
    pub(super) const INTERNAL_ERROR: u16 = 541;
}

/// An error of the transport in the library's kinds.
pub(super) fn error(endpoint: &str, error: &AmqpError) -> Error {
    match error.kind() {
        ErrorKind::ProtocolError(said) => refusal(endpoint, said.get_id(), said.get_message().as_str()),
        _ => Error::Unreachable { endpoint: endpoint.to_owned(), cause: error.to_string() },
    }
}

fn refusal(endpoint: &str, code: u16, text: &str) -> Error {
    let lost = || Error::Unreachable { endpoint: endpoint.to_owned(), cause: format!("{code} {text}") };
    match code {
        code::CONNECTION_FORCED | code::INTERNAL_ERROR => lost(),
        // The server gave a slow reader up; it may come back.
        code::PRECONDITION_FAILED
            if text.contains("delivery acknowledgement") && text.contains("timed out") =>
        {
            lost()
        }
        code::PRECONDITION_FAILED => mismatch(text).unwrap_or_else(|| said(code, text)),
        code::RESOURCE_ERROR => said(code, text),
        _ => problem(code, text),
    }
}

fn problem(code: u16, text: &str) -> Error {
    let (kind, status) = match code {
        code::NOT_FOUND => ("not-found".to_owned(), 404),
        code::ACCESS_REFUSED => ("forbidden".to_owned(), 403),
        // A 5xx of AMQP is about what was sent, not about the server, so it is none of HTTP's.
        other => (format!("amqp-{other}"), 400),
    };
    of(&kind, status, text)
}

/// A problem with this code.
pub(super) fn of(code: &str, status: u16, detail: &str) -> Error {
    let r#type = format!("urn:kelda:problem:{code}");
    let (title, detail) = (code.to_owned(), detail.to_owned());
    Error::Problem(Box::new(Problem { r#type, title, status, detail, ..Problem::default() }))
}

/// What Kelda says in its own words, as the problems of HTTP: the code, the status there, and the field whose number the text
/// tells.
const SAID: &[(&str, u16, Option<&str>)] = &[
    ("stale-epoch", 403, Some("producer_epoch")),
    ("sequence-gap", 409, Some("expected_seq")),
    ("producer-start", 400, None),
    ("epoch-in-use", 409, None),
    ("stream-id-mismatch", 412, Some("stream_id")),
    ("overloaded", 503, None),
    ("unavailable", 503, None),
    ("owned-elsewhere", 503, None),
    ("disk-full", 507, None),
    ("outcome-unknown", 500, None),
];

/// Such a problem, of a text as `PRECONDITION_FAILED - CODE: ...`; any other keeps its reply code.
fn said(reply: u16, text: &str) -> Error {
    let code = text.split_once(" - ").and_then(|(_, said)| Some(said.split_once(": ")?.0));
    let Some((code, status, field)) = SAID.iter().find(|(known, ..)| Some(*known) == code) else {
        return problem(reply, text);
    };
    let number = |name: &str| {
        let (_, digits) = text.split_once(&format!("{name} "))?;
        let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        digits[..end].parse::<u64>().ok()
    };
    match (of(code, *status, text), field) {
        (Error::Problem(mut problem), Some(field)) => {
            // Over HTTP the id of a stream is a text.
            let value = |number: u64| match *field {
                "stream_id" => number.to_string().into(),
                _ => serde_json::Value::from(number),
            };
            problem.fields.extend(number(field).map(|number| ((*field).to_owned(), value(number))));
            Error::Problem(problem)
        }
        (error, _) => error,
    }
}

/// A declaration that contradicts what is there:
/// `PRECONDITION_FAILED - inequivalent arg 'A' for queue 'Q' in vhost 'V': received R but current is C`.
fn mismatch(text: &str) -> Option<Error> {
    let (argument, rest) = text.split_once("inequivalent arg '")?.1.split_once('\'')?;
    let (name, rest) = rest.split_once(" for queue '")?.1.split_once("' in vhost '")?;
    let (requested, existing) = rest.split_once("': received ")?.1.split_once(" but current is ")?;
    let field = match argument {
        StreamArguments::MAX_AGE => "max_age",
        StreamArguments::MAX_LENGTH_BYTES => "max_bytes",
        StreamArguments::SEGMENT_BYTES => "segment_bytes",
        other => other,
    };
    let difference =
        Difference { field: field.to_owned(), existing: value(existing), requested: value(requested) };
    let (stream, differences) = (name.to_owned(), vec![difference]);
    Some(Error::Mismatch(Box::new(StreamMismatch { stream, differences })))
}

/// `none`, `'V'` or `the value 'V' of type 'T'`.
fn value(said: &str) -> Option<String> {
    if said == "none" {
        return None;
    }
    let quoted = said
        .strip_prefix("the value ")
        .map_or(said, |rest| rest.rsplit_once(" of type ").map_or(rest, |(value, _)| value));
    let inner = quoted.strip_prefix('\'').and_then(|inner| inner.strip_suffix('\''));
    Some(inner.unwrap_or(quoted).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_contradiction_says_both_sides() {
        for (text, expected) in [
            (
                "PRECONDITION_FAILED - inequivalent arg 'x-max-age' for queue 'q' in vhost '/': received '3600s' but current is '1h'",
                "\"q\" exists with other limits: max_age is 1h, asked for was 3600s",
            ),
            (
                "PRECONDITION_FAILED - inequivalent arg 'x-max-length-bytes' for queue 'a b' in vhost 'v': received none but current is the value '5' of type 'long'",
                "\"a b\" exists with other limits: max_bytes is 5, asked for was none",
            ),
            (
                "PRECONDITION_FAILED - inequivalent arg 'x-stream-max-segment-size-bytes' for queue 'q' in vhost '/': received the value '7' of type 'signedint' but current is none",
                "\"q\" exists with other limits: segment_bytes is none, asked for was 7",
            ),
            (
                "PRECONDITION_FAILED - inequivalent arg 'x-queue-type' for queue 'q' in vhost '/': received the value 'stream' of type 'longstr' but current is none",
                "\"q\" exists with other limits: x-queue-type is none, asked for was stream",
            ),
        ] {
            let error = refusal("amqp://h", 406, text);
            assert!(matches!(error, Error::Mismatch(_)));
            assert_eq!(error.to_string(), expected);
        }
    }

    #[test]
    fn each_reply_code_has_its_kind() {
        let of = |code, text| refusal("amqp://h", code, text);
        assert_eq!(of(404, "NOT_FOUND - no queue 'q' in vhost '/'").code(), Some("not-found"));
        assert_eq!(of(403, "ACCESS_REFUSED - ...").code(), Some("forbidden"));
        assert!(of(320, "CONNECTION_FORCED - bye").is_lost_connection());
        assert!(of(541, "INTERNAL_ERROR").is_lost_connection());
        let slow = "PRECONDITION_FAILED - delivery acknowledgement on channel 1 timed out. Timeout value used: 1 ms.";
        assert!(of(406, slow).is_lost_connection());
        for code in [405, 406, 501, 502, 503, 504, 505, 530, 540] {
            let error = of(code, "SOMETHING - else");
            let kept =
                !error.is_retryable() && !error.is_outcome_unknown() && error.to_string().contains("else");
            assert!(kept, "{code}: {error}");
        }
    }

    #[test]
    fn what_a_kelda_says_is_as_over_http() {
        for (reply, text, code, status, told) in [
            (
                406,
                "stale-epoch: producer_epoch 7 is in force, the message has 5",
                "stale-epoch",
                403,
                Some(7),
            ),
            (406, "sequence-gap: expected_seq 0, the message has 5", "sequence-gap", 409, Some(0)),
            (406, "producer-start: an epoch begins with sequence 0", "producer-start", 400, None),
            (406, "epoch-in-use: another run has used it", "epoch-in-use", 409, None),
            (406, "stream-id-mismatch: stream_id 9 has the name now", "stream-id-mismatch", 412, Some(9)),
            (506, "disk-full: no space is left", "disk-full", 507, None),
            (506, "overloaded: too much", "overloaded", 503, None),
            (506, "unavailable: stopping", "unavailable", 503, None),
            (506, "outcome-unknown: it is unknown", "outcome-unknown", 500, None),
        ] {
            let error = refusal("h", reply, &format!("SOMETHING - {text}"));
            let Error::Problem(problem) = &error else { panic!("{error}") };
            assert_eq!((problem.code(), problem.status), (code, status));
            let number = problem.fields.values().next();
            let number = number.and_then(|it| it.as_u64().or_else(|| it.as_str()?.parse().ok()));
            assert_eq!(number, told, "{text}");
            assert_eq!(error.is_retryable(), status >= 500, "{text}");
            assert!(error.to_string().contains(text), "{error}");
        }
        // Of others it is what it was: that a word of a Kelda is in it says nothing.
        for text in ["RESOURCE_ERROR - no room", "PRECONDITION_FAILED - queue 'sequence-gap: expected_seq 0'"]
        {
            assert!(!refusal("h", 506, text).is_retryable(), "{text}");
        }
    }
}
