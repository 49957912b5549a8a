//! Virtual hosts.
//!
//! Owns which there are: `/`, and those that an operator declared. Guarantees that one which was declared stays. Never says what
//! is in one: its queues are streams under a prefix of their own.

use bytes::Bytes;
use kelda_format::command::PutKey;
use kelda_format::rows::KeySpace;
use kelda_meta::{Meta, ProposeError, State};

/// The one that always is.
const ROOT: &[u8] = b"/";
/// Most bytes of a name: AMQP's short strings have no more.
pub const MAX_NAME_BYTES: usize = 255;

/// Whether there is one of this name.
pub fn exists(view: &State, name: &[u8]) -> bool {
    name == ROOT || view.key(KeySpace::VirtualHost, name).is_some()
}

/// The names of all, `/` first.
pub fn all(view: &State) -> Vec<String> {
    let declared = view.keys(KeySpace::VirtualHost).map(|row| String::from_utf8_lossy(&row.key).into_owned());
    std::iter::once("/".to_owned()).chain(declared).collect()
}

/// Declares one; whether it is new.
///
/// # Errors
/// The metadata cannot be changed now.
pub async fn declare(meta: &dyn Meta, name: &str) -> Result<bool, ProposeError> {
    if exists(&meta.view(), name.as_bytes()) {
        return Ok(false);
    }
    let key = Bytes::copy_from_slice(name.as_bytes());
    let put = PutKey { space: KeySpace::VirtualHost, key, value: Bytes::new(), expected_version: None };
    match meta.propose(put.into()).await {
        Ok(_) => Ok(true),
        // Somebody else was faster.
        Err(ProposeError::Rejected(_)) if exists(&meta.view(), name.as_bytes()) => Ok(false),
        Err(error) => Err(error),
    }
}
