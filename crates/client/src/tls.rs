//! TLS: owns which authorities are trusted and how a refusal is said, guarantees that no connection is made to a server
//! that does not prove its name. Never reads the system's authorities when some were given.

use std::fmt;
use std::io;
use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{AlertDescription, CertificateError, ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt;

use crate::error::Error;

/// What a certificate had to be, for those who are told that it was not.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trust {
    /// Whether authorities were given, so that the system's do not count.
    pub(crate) given: bool,
    pub(crate) http2: bool,
}

/// Adds the certificates of PEM text; how many there were, or why they are none.
pub(crate) fn add_roots(roots: &mut RootCertStore, pem: &[u8]) -> Result<usize, String> {
    let mut added = 0;
    for (index, certificate) in CertificateDer::pem_slice_iter(pem).enumerate() {
        let certificate = certificate.map_err(|error| format!("(certificate {}: {error:?})", index + 1))?;
        roots.add(certificate).map_err(|error| format!("(certificate {}: {error})", index + 1))?;
        added += 1;
    }
    if added == 0 { Err(format!("({} bytes without a certificate)", pem.len())) } else { Ok(added) }
}

/// Trusts these authorities, or the system's when none were given.
pub(crate) fn config(roots: Option<&RootCertStore>, http2: bool) -> Result<ClientConfig, Error> {
    let unusable = |error: rustls::Error| Error::Invalid {
        what: "the system's certificate store",
        value: format!("({error})"),
        expected: "one that can be read, or authorities with tls_roots_pem or tls_roots_file",
    };
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions().map_err(unusable)?;
    let builder = match roots {
        Some(roots) => builder.with_root_certificates(roots.clone()),
        None => builder.with_platform_verifier().map_err(unusable)?,
    };
    let mut config = builder.with_no_client_auth();
    config.alpn_protocols = vec![if http2 { b"h2".to_vec() } else { b"http/1.1".to_vec() }];
    Ok(config)
}

/// TLS is not possible with this server, whatever happens to the connection.
#[derive(Debug)]
pub(crate) struct Refused(String);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}

/// What is said of an error of connecting: a [`Refused`] when TLS is the cause, else the error itself.
pub(crate) fn told(
    error: Box<dyn std::error::Error + Send + Sync>,
    host: &str,
    trust: Trust,
) -> Box<dyn std::error::Error + Send + Sync> {
    match cause(&*error) {
        Some(cause) => Box::new(Refused(said(cause, host, trust))),
        None => error,
    }
}

/// The refusal that an error of the transport is, if it is one.
pub(crate) fn refused<'a>(error: &'a (dyn std::error::Error + 'static)) -> Option<&'a Refused> {
    std::iter::successors(Some(error), |error| error.source()).find_map(|error| error.downcast_ref())
}

/// The error of TLS inside; one of I/O hides what it holds from `source`.
fn cause<'a>(mut error: &'a (dyn std::error::Error + 'static)) -> Option<&'a rustls::Error> {
    loop {
        if let Some(cause) = error.downcast_ref() {
            return Some(cause);
        }
        let held = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        error = match held {
            Some(held) => held,
            None => error.source()?,
        };
    }
}

fn said(error: &rustls::Error, host: &str, trust: Trust) -> String {
    use rustls::Error::{AlertReceived, InvalidCertificate, InvalidMessage, NoApplicationProtocol};
    match error {
        InvalidCertificate(error) => certificate(error, host, trust),
        InvalidMessage(_) => "what answers there speaks no TLS; expected an https server".to_owned(),
        AlertReceived(AlertDescription::NoApplicationProtocol) | NoApplicationProtocol => {
            let (lacks, advice) = if trust.http2 { ("HTTP/2", "without") } else { ("HTTP/1.1", "with") };
            format!("the server speaks no {lacks} over TLS; connect {advice} http2()")
        }
        error => format!("TLS failed: {error}"),
    }
}

fn certificate(error: &CertificateError, host: &str, trust: Trust) -> String {
    match error {
        // The latter: an authority of the same name, with another key.
        CertificateError::UnknownIssuer | CertificateError::BadSignature if trust.given => format!(
            "the certificate of {host} is not trusted: none of the authorities given with tls_roots_pem or \
             tls_roots_file signed it; expected one of them, or give the one that did"
        ),
        CertificateError::UnknownIssuer | CertificateError::BadSignature => format!(
            "the certificate of {host} is not trusted: no authority of this system signed it; give the one that did \
             with tls_roots_pem or tls_roots_file, or add it to the system's"
        ),
        CertificateError::NotValidForNameContext { presented, .. } => format!(
            "the certificate is for {}, not for {host}; expected one of those names in the endpoint, or a certificate \
             for {host}",
            if presented.is_empty() { "no name".to_owned() } else { presented.join(", ") }
        ),
        CertificateError::NotValidForName => {
            format!("the certificate is not for {host}; expected a name that is in it")
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => format!(
            "the certificate of {host} has expired; expected a renewed one, or the right time on this machine{}",
            match error {
                CertificateError::ExpiredContext { time, not_after } =>
                    format!(" (it ended {} s ago)", time.as_secs().saturating_sub(not_after.as_secs())),
                _ => String::new(),
            }
        ),
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            format!("the certificate of {host} is not valid yet; expected the right time on both machines")
        }
        error => format!("the certificate of {host} is not valid: {error}"),
    }
}

#[cfg(test)]
mod tests;
