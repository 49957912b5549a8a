//! TLS with servers that prove their name, and with servers that do not.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

use std::convert::Infallible;
use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Empty;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use super::*;
use crate::{Builder, Diagnostic, Kelda, RetryPolicy, Text};

const BOTH: [&[u8]; 2] = [b"h2", b"http/1.1"];

/// An authority of the test.
struct Authority {
    pem: String,
    issuer: Issuer<'static, KeyPair>,
}

fn authority() -> Authority {
    authority_named("an authority")
}

fn authority_named(name: &str) -> Authority {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    let pem = params.self_signed(&key).unwrap().pem();
    Authority { pem, issuer: Issuer::new(params, key) }
}

impl Authority {
    /// A server with a certificate for `name` that ends in `year`; it answers every request as a stream with three records,
    /// and says which version of HTTP it was asked in.
    async fn serve(&self, name: &str, year: i32, protocols: &[&[u8]]) -> SocketAddr {
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.not_after = date_time_ymd(year, 1, 1);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let key = PrivateKeyDer::Pkcs8(key.serialize_der().into());
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let config = config.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
        let mut config = config.with_single_cert(vec![certificate.der().clone()], key).unwrap();
        config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            let acceptor = TlsAcceptor::from(Arc::new(config));
            while let Ok((connection, _)) = listener.accept().await {
                let acceptor = acceptor.clone();
                tokio::spawn(async move {
                    let Ok(connection) = acceptor.accept(connection).await else { return };
                    let server = auto::Builder::new(TokioExecutor::new());
                    let _ = server.serve_connection(TokioIo::new(connection), service_fn(answer)).await;
                });
            }
        });
        address
    }
}

async fn answer(request: Request<hyper::body::Incoming>) -> Result<Response<Empty<Bytes>>, Infallible> {
    let answer = Response::builder()
        .header("kelda-asked-in", format!("{:?}", request.version()))
        .header("kelda-stream-id", "5")
        .header("stream-next-offset", "3");
    Ok(answer.body(Empty::new()).unwrap())
}

/// A client that goes to the port of `address` by the name `localhost`, or by its address.
fn client(host: &str, address: SocketAddr) -> Builder {
    // A refusal that were tried again would not come to its end within the test.
    let retry = RetryPolicy::within(Duration::from_secs(3_600));
    Kelda::builder(&format!("https://{host}:{}", address.port())).retry(retry)
}

/// What connecting in vain is told.
async fn refused(builder: Builder) -> String {
    let error = builder.connect().await.unwrap_err();
    assert!(matches!(error, Error::Tls { .. }) && !error.is_retryable(), "{error}");
    error.to_string()
}

#[tokio::test]
async fn both_versions_of_http_are_spoken_over_tls() {
    let authority = authority();
    let address = authority.serve("127.0.0.1", 4000, &BOTH).await;
    for (http2, version) in [(false, "HTTP/1.1"), (true, "HTTP/2.0")] {
        let builder = client("127.0.0.1", address).tls_roots_pem(&authority.pem);
        let kelda = if http2 { builder.http2() } else { builder }.connect().await.unwrap();
        let head = kelda.head("s").await.unwrap();
        assert_eq!(head.next_offset, 3);
        assert_eq!(head.headers.get("kelda-asked-in").map(String::as_str), Some(version));
    }
}

#[tokio::test]
async fn roots_may_come_from_a_file_and_several_are_trusted_together() {
    let (one, two) = (authority(), authority());
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("roots.pem");
    std::fs::write(&path, format!("{}{}", one.pem, authority().pem)).unwrap();
    for authority in [&one, &two] {
        let address = authority.serve("localhost", 4000, &BOTH).await;
        let builder = client("localhost", address).tls_roots_file(&path).tls_roots_pem(&two.pem);
        builder.connect().await.unwrap();
    }
    let missing = Kelda::builder("https://h").tls_roots_file(directory.path().join("nothing.pem"));
    let error = missing.build().unwrap_err();
    assert!(matches!(error, Error::Invalid { what: "tls_roots_file", .. }), "{error}");
    assert!(error.to_string().contains("nothing.pem"), "{error}");
}

#[tokio::test]
async fn a_certificate_that_is_not_trusted_says_so_at_once() {
    let theirs = authority();
    let address = theirs.serve("localhost", 4000, &BOTH).await;
    // One that was made anew has the name of the old one.
    for ours in [authority_named("another"), authority()] {
        let said = refused(client("localhost", address).tls_roots_pem(&ours.pem)).await;
        let endpoint = format!("https://localhost:{}: ", address.port());
        for part in
            [&endpoint, "the certificate of localhost is not trusted", "none of the authorities given"]
        {
            assert!(said.contains(part), "{said}");
        }
    }
    let said = refused(client("localhost", address)).await;
    assert!(said.contains("no authority of this system signed it"), "{said}");
}

#[tokio::test]
async fn a_certificate_for_another_name_or_another_time_says_so() {
    let authority = authority();
    let address = authority.serve("other.example", 4000, &BOTH).await;
    let said = refused(client("localhost", address).tls_roots_pem(&authority.pem)).await;
    assert!(said.contains("other.example") && said.contains("not for localhost"), "{said}");
    let address = authority.serve("localhost", 2020, &BOTH).await;
    let said = refused(client("localhost", address).tls_roots_pem(&authority.pem)).await;
    assert!(said.contains("the certificate of localhost has expired"), "{said}");
}

#[tokio::test]
async fn a_server_that_lacks_the_version_or_tls_says_so() {
    let authority = authority();
    let address = authority.serve("localhost", 4000, &[b"http/1.1"]).await;
    let said = refused(client("localhost", address).tls_roots_pem(&authority.pem).http2()).await;
    assert!(said.contains("speaks no HTTP/2 over TLS"), "{said}");

    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let (connection, _) = listener.accept().await.unwrap();
        connection.readable().await.unwrap();
        let _ = connection.try_write(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        std::future::pending::<()>().await;
    });
    let said = refused(client("localhost", address).tls_roots_pem(&authority.pem)).await;
    assert!(said.contains("speaks no TLS"), "{said}");
}

/// The clock stands still unless all wait, so the limit does not take its time.
#[tokio::test(start_paused = true)]
async fn a_handshake_without_an_answer_ends_and_nothing_was_sent() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let builder = client("localhost", address).tls_roots_pem(authority().pem).retry(RetryPolicy::never());
    let error = builder.build().unwrap().seal("s").await.unwrap_err();
    assert!(matches!(&error, Error::Unreachable { cause, .. } if cause.contains("10 seconds")), "{error:?}");
}

#[tokio::test]
async fn what_starts_is_told_of_a_refusal() {
    let authority = authority();
    let address = authority.serve("localhost", 2020, &BOTH).await;
    let kelda = client("localhost", address).tls_roots_pem(&authority.pem).build().unwrap();
    let reader = kelda.stream::<String>("s").codec(Text).messages().await.map(drop).unwrap_err();
    assert!(matches!(reader, Error::Tls { .. }), "{reader}");
    let producer = kelda.producer::<str>("s").codec(Text).open().await.map(drop).unwrap_err();
    assert!(matches!(producer, Error::Tls { .. }), "{producer}");
}

#[test]
fn pem_without_a_certificate_is_refused() {
    let key = KeyPair::generate().unwrap().serialize_pem();
    let broken = "-----BEGIN CERTIFICATE-----\naGVsbG8=\n-----END CERTIFICATE-----\n";
    for pem in ["", "hello", &key, broken] {
        let error = Kelda::builder("https://h").tls_roots_pem(pem).build().unwrap_err();
        assert!(matches!(error, Error::Invalid { what: "tls_roots_pem", .. }), "{error}");
        assert!(error.to_string().contains("BEGIN CERTIFICATE"), "{error}");
    }
}

/// Nobody answers there; the warning is about what is sent.
#[tokio::test(start_paused = true)]
async fn a_token_without_tls_is_warned_about_once() {
    let warned = |endpoint: &'static str, token: bool| async move {
        let builder = Kelda::builder(endpoint).retry(RetryPolicy::never()).answer_timeout(Duration::ZERO);
        let kelda = if token { builder.token("t") } else { builder }.build().unwrap();
        let mut diagnostics = kelda.diagnostics();
        for _ in 0..2 {
            kelda.head("s").await.unwrap_err();
        }
        std::iter::from_fn(|| diagnostics.try_next()).collect::<Vec<_>>()
    };
    let endpoint = "http://192.0.2.1:1".to_owned();
    assert_eq!(warned("http://192.0.2.1:1", true).await, [Diagnostic::TokenInClear { endpoint }]);
    assert_eq!(warned("http://192.0.2.1:1", false).await, []);
    assert_eq!(warned("https://192.0.2.1:1", true).await, []);
    assert_eq!(warned("http://127.0.0.1:1", true).await, []);
}
