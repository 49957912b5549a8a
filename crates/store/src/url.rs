//! Which store is meant: owns the grammar of store URLs. Guarantees that what is written reads back and that every error
//! names the part that is wrong and what would be right. Never holds a secret: credentials come from the environment.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use kelda_env::check_key;
use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};

/// The longest prefix in bytes: with the longest key behind it, it is still one that every service takes.
const MAX_PREFIX_BYTES: usize = 256;
/// What a value of a query cannot hold as it is.
const QUERY: &AsciiSet =
    &CONTROLS.add(b' ').add(b'"').add(b'#').add(b'%').add(b'&').add(b'<').add(b'>').add(b'+');
/// What a path cannot hold as it is.
const PATH: &AsciiSet = &QUERY.add(b'?');

/// A store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreUrl {
    /// In the data directory: `local`.
    Local,
    /// A directory of this machine: `file:///path`.
    File(PathBuf),
    /// A service of the network.
    Remote(RemoteUrl),
}

/// A store of the network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteUrl {
    /// Which kind of service.
    pub service: Service,
    /// The bucket, or container.
    pub bucket: String,
    /// What every key begins with, without a slash at its ends; empty for nothing.
    pub prefix: String,
    /// What the query says, by key; only keys that the service knows.
    pub options: BTreeMap<String, String>,
}

/// A kind of service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    /// Amazon S3, and what speaks its protocol.
    S3,
    /// Google Cloud Storage.
    Google,
    /// Azure Blob Storage.
    Azure,
}

impl Service {
    /// The scheme of its URLs.
    #[must_use]
    pub fn scheme(self) -> &'static str {
        match self {
            Service::S3 => "s3",
            Service::Google => "gs",
            Service::Azure => "az",
        }
    }

    /// The keys that a query may have.
    fn options(self) -> &'static [&'static str] {
        match self {
            Service::S3 => &["region", "endpoint", "allow_http", "virtual_hosted", "bulk_delete"],
            Service::Google => &["endpoint"],
            Service::Azure => &["account", "endpoint", "allow_http"],
        }
    }

    /// Where its credentials come from, for texts.
    fn credentials(self) -> &'static str {
        match self {
            Service::S3 => "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
            Service::Google => "GOOGLE_APPLICATION_CREDENTIALS",
            Service::Azure => "AZURE_STORAGE_ACCOUNT_KEY",
        }
    }
}

/// A text that names no store.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct UrlError(String);

fn wrong<T>(text: impl Into<String>) -> Result<T, UrlError> {
    Err(UrlError(text.into()))
}

impl FromStr for StoreUrl {
    type Err = UrlError;

    fn from_str(text: &str) -> Result<StoreUrl, UrlError> {
        if text == "local" {
            return Ok(StoreUrl::Local);
        }
        let Some((scheme, rest)) = text.split_once("://") else {
            return wrong(format!(
                "`{text}` names no store: write local, file:///path, s3://bucket/prefix, gs://bucket/prefix or \
                 az://container/prefix"
            ));
        };
        let service = match scheme {
            "file" => return file(text, rest),
            "s3" => Service::S3,
            "gs" => Service::Google,
            "az" => Service::Azure,
            _ => {
                return wrong(format!(
                    "`{scheme}` in `{text}` is no kind of store: write file, s3, gs or az"
                ));
            }
        };
        remote(service, text, rest).map(StoreUrl::Remote)
    }
}

fn file(text: &str, path: &str) -> Result<StoreUrl, UrlError> {
    if !path.starts_with('/') {
        return wrong(format!(
            "`{text}` names no directory: write file:// and an absolute path, as in file:///var/lib/kelda/objects"
        ));
    }
    if path.contains(['?', '#']) {
        return wrong(format!("`{text}` has a query: a directory has none, and no ? or # in its path"));
    }
    Ok(StoreUrl::File(PathBuf::from(decoded(text, path)?)))
}

fn remote(service: Service, text: &str, rest: &str) -> Result<RemoteUrl, UrlError> {
    let scheme = service.scheme();
    let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (bucket, prefix) = place.split_once('/').unwrap_or((place, ""));
    if bucket.contains('@') {
        return wrong(format!(
            "a store URL holds no credentials: put them in {} of the environment and write {scheme}://bucket/prefix",
            service.credentials()
        ));
    }
    let letters = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    if !(3..=63).contains(&bucket.len()) || !bucket.bytes().all(letters) {
        return wrong(format!(
            "`{bucket}` in `{text}` is no name of a bucket: write {scheme}://bucket/prefix, with 3 to 63 letters, digits, \
             -, _ or . as the bucket"
        ));
    }
    let prefix = prefix.strip_suffix('/').unwrap_or(prefix);
    if prefix.len() > MAX_PREFIX_BYTES {
        return wrong(format!("the prefix `{prefix}` is longer than {MAX_PREFIX_BYTES} bytes"));
    }
    if !prefix.is_empty()
        && let Err(error) = check_key(prefix)
    {
        return wrong(format!("`{prefix}` in `{text}` is no prefix: {error}"));
    }
    let mut options = BTreeMap::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        let value = decoded(text, value)?;
        check_option(service, text, key, &value)?;
        if options.insert(key.to_owned(), value).is_some() {
            return wrong(format!("`{key}` is twice in `{text}`: write it once"));
        }
    }
    let http = options.get("endpoint").is_some_and(|endpoint| endpoint.starts_with("http://"));
    if http && service != Service::Google && options.get("allow_http").is_none_or(|value| value != "true") {
        return wrong(format!(
            "the endpoint of `{text}` is plain HTTP, which anybody on the way can read and change: write https://, or add \
             allow_http=true where that does not matter"
        ));
    }
    Ok(RemoteUrl { service, bucket: bucket.to_owned(), prefix: prefix.to_owned(), options })
}

fn check_option(service: Service, text: &str, key: &str, value: &str) -> Result<(), UrlError> {
    if !service.options().contains(&key) {
        return wrong(format!(
            "`{key}` in the query of `{text}` is not known: {} takes {}; credentials come from {} of the environment",
            service.scheme(),
            service.options().join(", "),
            service.credentials()
        ));
    }
    match key {
        "allow_http" | "virtual_hosted" | "bulk_delete" if !matches!(value, "true" | "false") => {
            wrong(format!("`{key}={value}` in `{text}` is neither true nor false"))
        }
        "endpoint" if !value.starts_with("http://") && !value.starts_with("https://") => wrong(format!(
            "`endpoint={value}` in `{text}` is no address: write https://host or https://host:port"
        )),
        _ if value.is_empty() => {
            wrong(format!("`{key}` in `{text}` has no value: write {key}=… or leave it out"))
        }
        _ => Ok(()),
    }
}

fn decoded(text: &str, part: &str) -> Result<String, UrlError> {
    match percent_decode_str(part).decode_utf8() {
        Ok(value) => Ok(value.into_owned()),
        Err(_) => wrong(format!("`{part}` in `{text}` is not UTF-8 once its %xx are read")),
    }
}

impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoreUrl::Local => f.write_str("local"),
            StoreUrl::File(path) => {
                let path = path.display().to_string();
                write!(f, "file://{}", utf8_percent_encode(&path, PATH))
            }
            StoreUrl::Remote(remote) => remote.fmt(f),
        }
    }
}

impl fmt::Display for RemoteUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.service.scheme(), self.bucket)?;
        if !self.prefix.is_empty() {
            write!(f, "/{}", self.prefix)?;
        }
        for (number, (key, value)) in self.options.iter().enumerate() {
            let mark = if number == 0 { '?' } else { '&' };
            write!(f, "{mark}{key}={}", utf8_percent_encode(value, QUERY))?;
        }
        Ok(())
    }
}
