//! From a URL to a store: owns the settings of each service's client. Guarantees that the client sends a request once and
//! waits as long as it is let; retries and limits are somebody else's. Credentials come from the environment as the
//! service's own tools take them. Never sends a request itself.

use std::time::Duration;

use kelda_env::Env;
use kelda_env::layers::Patience;
use object_store::aws::{AmazonS3Builder, S3ConditionalPut};
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::{BackoffConfig, ClientOptions, RetryConfig};
use tokio::runtime::Handle;

use crate::http::Watching;
use crate::remote::{Client, Remote};
use crate::url::{RemoteUrl, Service};

/// How long a connection may take to come about.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a connection is kept that nobody uses.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);

/// A store that cannot be opened with the settings that there are.
#[derive(Debug, thiserror::Error)]
#[error("the store {url} cannot be opened: {detail}")]
pub struct OpenError {
    url: String,
    detail: String,
}

/// Opens the store that `url` names. `patience` is for the pieces of uploads, which no layer sees.
///
/// # Errors
/// The settings and the environment do not go together, the certificates of the system cannot be read, or the caller is in
/// no runtime, whose sockets the requests take.
pub fn open(url: &RemoteUrl, env: &Env, patience: Patience) -> Result<Remote, OpenError> {
    // Whoever was first decides for the whole process, and there is but one choice.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let failed = |detail: String| OpenError { url: url.to_string(), detail };
    let runtime = Handle::try_current().map_err(|error| failed(error.to_string()))?;
    let client = client(url, Watching(runtime)).map_err(|error| failed(error.to_string()))?;
    Ok(Remote::new(url.clone(), client, env, patience))
}

fn client(url: &RemoteUrl, http: Watching) -> object_store::Result<Client> {
    let option = |key: &str| url.options.get(key).map(String::as_str);
    let is = |key: &str| option(key).map(|value| value == "true");
    let retry =
        RetryConfig { backoff: BackoffConfig::default(), max_retries: 0, retry_timeout: CONNECT_TIMEOUT };
    let options = |http: Option<bool>| {
        ClientOptions::new()
            .with_timeout_disabled()
            .with_connect_timeout(CONNECT_TIMEOUT)
            .with_pool_idle_timeout(IDLE_TIMEOUT)
            .with_allow_http(http.unwrap_or(false))
    };
    match url.service {
        Service::S3 => {
            let mut builder = AmazonS3Builder::from_env()
                .with_client_options(options(is("allow_http")))
                .with_http_connector(http)
                .with_retry(retry)
                .with_bucket_name(&url.bucket)
                .with_conditional_put(S3ConditionalPut::ETagMatch);
            if let Some(region) = option("region") {
                builder = builder.with_region(region);
            }
            if let Some(endpoint) = option("endpoint") {
                builder = builder.with_endpoint(endpoint);
            }
            if let Some(virtual_hosted) = is("virtual_hosted") {
                builder = builder.with_virtual_hosted_style_request(virtual_hosted);
            }
            let bulk = is("bulk_delete").unwrap_or(true);
            let builder = builder.with_disable_bulk_delete(!bulk);
            Ok(Client::of(builder.build()?, if bulk { 1000 } else { 1 }))
        }
        Service::Google => {
            let plain = option("endpoint").map(|endpoint| endpoint.starts_with("http://"));
            let mut builder = GoogleCloudStorageBuilder::from_env()
                .with_client_options(options(plain))
                .with_http_connector(http)
                .with_retry(retry)
                .with_bucket_name(&url.bucket);
            if let Some(endpoint) = option("endpoint") {
                builder = builder.with_base_url(endpoint);
            }
            Ok(Client::of(builder.build()?, 1))
        }
        Service::Azure => {
            let mut builder = MicrosoftAzureBuilder::from_env()
                .with_client_options(options(is("allow_http")))
                .with_http_connector(http)
                .with_retry(retry)
                .with_container_name(&url.bucket);
            if let Some(account) = option("account") {
                builder = builder.with_account(account);
            }
            if let Some(endpoint) = option("endpoint") {
                builder = builder.with_endpoint(endpoint.to_owned());
            }
            Ok(Client::of(builder.build()?, 256))
        }
    }
}
