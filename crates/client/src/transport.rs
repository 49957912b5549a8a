//! Which protocol a connection speaks: owns the choice by the URL's scheme, guarantees that what a protocol cannot do is a
//! typed error. Never sends anything itself.

use bytes::Bytes;
use hyper::Method;

#[cfg(feature = "amqp")]
use crate::amqp::Amqp;
use crate::connect::Settings;
use crate::diagnostic::Sender;
use crate::error::Error;
use crate::http::Http;
use crate::retry::RetryPolicy;

/// A protocol, and a server that speaks it.
#[derive(Clone)]
pub(crate) enum Transport {
    /// Kelda's own.
    Http(Http),
    /// AMQP 0-9-1, of Kelda or RabbitMQ.
    #[cfg(feature = "amqp")]
    Amqp(Amqp),
}

impl Transport {
    /// The transport of this URL; nothing is sent.
    pub(crate) fn new(endpoint: &str, settings: Settings, diagnostics: Sender) -> Result<Transport, Error> {
        let scheme = endpoint.split_once("://").map_or("", |(scheme, _)| scheme);
        match scheme {
            #[cfg(feature = "amqp")]
            "amqp" => Amqp::new(endpoint, &settings).map(Transport::Amqp),
            #[cfg(not(feature = "amqp"))]
            "amqp" => {
                Err(Error::Unsupported { what: "connect", transport: "a library without its feature `amqp`" })
            }
            "amqps" => Err(Error::Unsupported { what: "connect", transport: "AMQP over TLS" }),
            _ => Http::new(endpoint, settings, diagnostics).map(Transport::Http),
        }
    }

    /// HTTP, for what only that can do; `what` completes "has no way to".
    ///
    /// # Errors
    /// [`Error::Unsupported`] over another protocol.
    #[cfg_attr(not(feature = "amqp"), expect(unused_variables, reason = "there is no other protocol"))]
    pub(crate) fn http(&self, what: &'static str) -> Result<&Http, Error> {
        match self {
            Transport::Http(http) => Ok(http),
            #[cfg(feature = "amqp")]
            Transport::Amqp(_) => Err(Error::Unsupported { what, transport: "AMQP" }),
        }
    }

    /// How single calls are tried again.
    pub(crate) fn calls(&self) -> RetryPolicy {
        match self {
            Transport::Http(http) => http.calls(),
            #[cfg(feature = "amqp")]
            Transport::Amqp(amqp) => amqp.calls(),
        }
    }

    /// The server, as it may be shown.
    pub(crate) fn endpoint(&self) -> &str {
        match self {
            Transport::Http(http) => http.endpoint(),
            #[cfg(feature = "amqp")]
            Transport::Amqp(amqp) => amqp.endpoint(),
        }
    }

    /// Sees that something answers, again after failures that pass.
    pub(crate) async fn connect(&self) -> Result<(), Error> {
        match self {
            Transport::Http(http) => http.call(Method::OPTIONS, "/", &[], Bytes::new()).await.map(drop),
            #[cfg(feature = "amqp")]
            Transport::Amqp(amqp) => amqp.connect().await,
        }
    }
}
