//! What an endpoint may be: owns the check of `http://HOST:PORT` and `https://HOST:PORT`, guarantees that whatever is refused would have been
//! ignored or misread, and that nothing secret in it is shown. Never connects.

use std::net::IpAddr;

use hyper::Uri;

use crate::error::Error;

/// The endpoint without slashes at its end.
///
/// # Errors
/// [`Error::Endpoint`] when it is not `http://HOST` or `http://HOST:PORT`, or the same with `https`, with a port from 1 to 65535:
/// user info, a path, a query and a fragment are refused.
pub fn check(text: &str) -> Result<&str, Error> {
    let trimmed = text.trim_end_matches('/');
    let uri: Option<Uri> = trimmed.parse().ok().filter(|_| !trimmed.contains(['@', '?', '#']));
    let usable = uri.is_some_and(|uri| {
        let authority = uri.authority().map(|it| (it.host().len(), it.as_str()));
        let port = authority.filter(|(host, _)| *host > 0).map(|(host, all)| &all[host..]);
        matches!(uri.scheme_str(), Some("http" | "https")) && uri.path() == "/" && port.is_some_and(is_port)
    });
    if usable { Ok(trimmed) } else { Err(Error::Endpoint(shown(text))) }
}

/// Whether what goes to this endpoint can be read on the way: it is not encrypted, and leaves the machine.
pub(crate) fn is_open(endpoint: &str) -> bool {
    let uri: Option<Uri> = endpoint.parse().ok();
    uri.filter(|uri| uri.scheme_str() != Some("https")).is_some_and(|uri| {
        let host = uri.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
        let loopback = host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
        !loopback && !host.eq_ignore_ascii_case("localhost")
    })
}

/// Whether what stands behind the host is nothing, or a port.
fn is_port(text: &str) -> bool {
    text.is_empty()
        || text.strip_prefix(':').is_some_and(|port| port.parse::<u16>().is_ok_and(|port| port > 0))
}

/// The endpoint as it may be shown: without what stands before an `@` or behind a `?`, which may be secret.
#[must_use]
pub fn shown(text: &str) -> String {
    let (before, query) = text.split_once('?').map_or((text, ""), |(before, _)| (before, "?..."));
    match text.rfind('@') {
        // A password may hold any of the characters that end one.
        Some(at) => format!("...{}", text[at..].split(['?', '#']).next().unwrap_or_default()),
        None => format!("{before}{query}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_and_a_port_are_an_endpoint() {
        for text in [
            "http://h",
            "http://h/",
            "http://h:1",
            "http://127.0.0.1:65535//",
            "http://[::1]:4437",
            "https://h",
            "https://h:1/",
        ] {
            assert!(check(text).is_ok_and(|endpoint| endpoint == text.trim_end_matches('/')), "{text}");
        }
    }

    #[test]
    fn what_leaves_the_machine_without_tls_is_open() {
        for text in ["http://h", "http://10.0.0.1:4437", "http://[2001:db8::1]:1", "http://localhost.example"]
        {
            assert!(is_open(text), "{text}");
        }
        for text in ["https://h", "http://127.0.0.1:4437", "http://[::1]:1", "http://localhost:4437"] {
            assert!(!is_open(text), "{text}");
        }
    }

    #[test]
    fn what_would_be_ignored_is_refused_and_no_secret_is_shown() {
        for text in [
            "",
            "h",
            "127.0.0.1:4437",
            "ftp://h",
            "https://",
            "https://h:0",
            "https://h/path",
            "http://",
            "http://:1",
            "http://h:",
            "http://h:0",
            "http://h:65536",
            "http://h:70000",
            "http://h:x",
            "http://h/path",
            "http://h?secret",
            "http://h:1/?secret",
            "http://h#f",
            "http://user:secret@h:1",
            "http://user:sec?secret@h:1",
            "http://secret@h",
            "http://user:a@secret@h",
        ] {
            let error = check(text).map_err(|error| error.to_string());
            let expected =
                |error: &String| error.contains("expected http://HOST:PORT") && !error.contains("secret");
            assert!(error.as_ref().is_err_and(expected), "{text}: {error:?}");
        }
    }
}
