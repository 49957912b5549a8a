//! Making connections: owns the choice between plain and secure ones, guarantees that both are there within the limit for
//! connecting or fail, and that a refused certificate is told from a server that is not there. Never sends a request.

use std::task::{Context, Poll};
use std::time::Duration;

use futures::future::BoxFuture;
use hyper::Uri;
use hyper_rustls::{HttpsConnector, MaybeHttpsStream};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tower_service::Service;

use crate::connect::Settings;
use crate::error::Error;
use crate::{timer, tls};

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Connects to one address after the other, all with the same scheme.
#[derive(Clone)]
pub(super) struct Connector {
    kind: Kind,
    limit: Duration,
}

#[derive(Clone)]
enum Kind {
    Plain(HttpConnector),
    Secure { https: HttpsConnector<HttpConnector>, trust: tls::Trust },
}

impl Connector {
    /// A connector for endpoints that are all secure, or all not.
    pub(super) fn new(secure: bool, settings: &Settings) -> Result<Connector, Error> {
        let limit = settings.connect_limit;
        let mut http = HttpConnector::new();
        http.set_nodelay(true);
        http.set_connect_timeout(Some(limit));
        let kind = if secure {
            http.enforce_http(false);
            let config = tls::config(settings.roots.as_ref(), settings.http2)?;
            let trust = tls::Trust { given: settings.roots.is_some(), http2: settings.http2 };
            Kind::Secure { https: HttpsConnector::from((http, config)), trust }
        } else {
            Kind::Plain(http)
        };
        Ok(Connector { kind, limit })
    }
}

impl Service<Uri> for Connector {
    type Response = MaybeHttpsStream<TokioIo<TcpStream>>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Self::Response, BoxError>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        // Neither of the two ever has to wait before a call.
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        match &mut self.kind {
            Kind::Plain(http) => {
                let connecting = http.call(uri);
                Box::pin(async move { Ok(MaybeHttpsStream::Http(connecting.await?)) })
            }
            Kind::Secure { https, trust } => {
                let host = uri.host().unwrap_or_default().to_owned();
                let (connecting, trust, limit) = (https.call(uri), *trust, self.limit);
                Box::pin(async move {
                    match timer::within(limit, connecting).await {
                        Some(connected) => connected.map_err(|error| tls::told(error, &host, trust)),
                        None => Err(super::silence(limit).into()),
                    }
                })
            }
        }
    }
}
