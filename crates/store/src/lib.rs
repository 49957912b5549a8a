//! Object stores of the network behind the store port.
//!
//! Owns the URLs that name stores and the one client for each service. Guarantees that a request is sent once: retries and
//! time limits are layers of `kelda-env`. Only what assembles a node or a command uses this crate, so that nothing else
//! waits for its dependencies (`docs/decisions/remote-stores-in-a-leaf-crate.md`). Never keeps credentials in a URL.

mod error;
mod http;
mod open;
mod remote;
mod upload;
mod url;

pub use open::{OpenError, open};
pub use remote::Remote;
pub use url::{RemoteUrl, Service, StoreUrl, UrlError};
