//! What an AMQP endpoint may be: owns the reading of `amqp://USER:PASSWORD@HOST:PORT/VHOST`, guarantees that whatever is
//! refused would have been ignored, and that no password is shown. Never connects.

use std::time::Duration;

use hyper::Uri;
use lapin::uri::{AMQPAuthority, AMQPQueryString, AMQPScheme, AMQPUri, AMQPUserInfo};
use percent_encoding::percent_decode_str;

use crate::error::Error;

/// Where a server listens unless the URL says otherwise.
const PORT: u16 = 5672;
/// Who logs in unless the URL says otherwise: the user that servers know for loopback.
const GUEST: &str = "guest";
/// Seconds between two heartbeats.
const HEARTBEATS: std::ops::RangeInclusive<u64> = 1..=60;

/// The parts of a URL. A server that was silent for `idle` is taken for gone, within the bounds of heartbeats.
///
/// # Errors
/// [`Error::Endpoint`] for what is none.
pub(super) fn parse(text: &str, idle: Duration) -> Result<AMQPUri, Error> {
    read(text, idle).ok_or_else(|| Error::Endpoint(hidden(text)))
}

fn read(text: &str, idle: Duration) -> Option<AMQPUri> {
    let rest = text.strip_prefix("amqp://").filter(|rest| !rest.contains(['?', '#']))?;
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let (user, address) = authority.rsplit_once('@').map_or((None, authority), |(user, it)| (Some(user), it));
    let address: Uri = format!("http://{address}/").parse().ok()?;
    let host = address.host().filter(|host| !host.is_empty())?;
    let behind = &address.authority()?.as_str()[host.len()..];
    let port = match behind.strip_prefix(':') {
        Some(port) => port.parse().ok().filter(|port| *port > 0)?,
        None => PORT,
    };
    let (username, password) = match user {
        Some(user) => {
            let (name, password) = user.split_once(':').unwrap_or((user, ""));
            (decoded(name)?, decoded(password)?)
        }
        None => (GUEST.to_owned(), GUEST.to_owned()),
    };
    // The root's own name would be `%2f`; nobody means the empty name by a slash at the end.
    let vhost =
        if path.is_empty() { "/".to_owned() } else { decoded(path).filter(|_| !path.contains('/'))? };
    let heartbeat = (idle.as_secs() / 2).clamp(*HEARTBEATS.start(), *HEARTBEATS.end());
    let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
    Some(AMQPUri {
        scheme: AMQPScheme::AMQP,
        authority: AMQPAuthority { userinfo: AMQPUserInfo { username, password }, host, port },
        vhost,
        query: AMQPQueryString { heartbeat: u16::try_from(heartbeat).ok(), ..AMQPQueryString::default() },
    })
}

fn decoded(text: &str) -> Option<String> {
    percent_decode_str(text).decode_utf8().ok().map(Into::into)
}

/// The server without user and password.
pub(super) fn shown(uri: &AMQPUri) -> String {
    let AMQPAuthority { host, port, .. } = &uri.authority;
    let host = if host.contains(':') { format!("[{host}]") } else { host.clone() };
    let vhost = if uri.vhost == "/" { String::new() } else { format!("/{}", uri.vhost) };
    format!("amqp://{host}:{port}{vhost}")
}

/// A URL that is none, without what may be a password.
fn hidden(text: &str) -> String {
    match text.rfind('@') {
        Some(at) => format!("amqp://...{}", &text[at..]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDLE: Duration = Duration::from_secs(30);

    #[test]
    fn a_url_is_read_in_its_parts() {
        for (text, user, password, host, port, vhost) in [
            ("amqp://h", "guest", "guest", "h", 5672, "/"),
            ("amqp://h/", "guest", "guest", "h", 5672, "/"),
            ("amqp://h:1/%2f", "guest", "guest", "h", 1, "/"),
            ("amqp://u:p%40%2F@127.0.0.1:5673/a%20b", "u", "p@/", "127.0.0.1", 5673, "a b"),
            ("amqp://u@[::1]:9/v", "u", "", "::1", 9, "v"),
        ] {
            let uri = read(text, IDLE);
            let parts = uri.map(|uri| (uri.authority, uri.vhost));
            let userinfo = AMQPUserInfo { username: user.to_owned(), password: password.to_owned() };
            let authority = AMQPAuthority { userinfo, host: host.to_owned(), port };
            assert_eq!(parts, Some((authority, vhost.to_owned())), "{text}");
        }
    }

    #[test]
    fn silence_is_bounded_by_heartbeats() {
        for (seconds, heartbeat) in [(30, 15), (1, 1), (0, 1), (1_000, 60)] {
            let uri = read("amqp://h", Duration::from_secs(seconds));
            assert_eq!(uri.and_then(|uri| uri.query.heartbeat), Some(heartbeat));
        }
    }

    #[test]
    fn what_would_be_ignored_is_refused_and_no_password_is_shown() {
        for text in [
            "amqp://",
            "amqp://:1",
            "amqp://u:secret@",
            "amqp://u:secret@h:0",
            "amqp://u:secret@h:70000",
            "amqp://u:secret@h/a/b",
            "amqp://u:secret@h?heartbeat=5",
            "amqp://u:%ffsecret@h",
        ] {
            let error = parse(text, IDLE).map_err(|error| error.to_string());
            assert!(error.is_err_and(|error| !error.contains("secret")), "{text}");
        }
        let uri = read("amqp://u:secret@h/v", IDLE);
        assert_eq!(uri.as_ref().map(shown).as_deref(), Some("amqp://h:5672/v"));
    }
}
