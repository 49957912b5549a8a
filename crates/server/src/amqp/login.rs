//! Logging in.
//!
//! Owns the mechanisms PLAIN and AMQPLAIN. Guarantees that until access tokens exist only guest/guest is let in, and only
//! from this machine. Pure.

use std::net::IpAddr;

use bytes::{BufMut, Bytes, BytesMut};
use kelda_format::Value;

use super::wire::{Method, Short, Table};

/// The mechanisms, as they are announced.
pub const MECHANISMS: &str = "PLAIN AMQPLAIN";

/// Who may log in without access tokens.
const GUEST: &[u8] = b"guest";

/// How a login went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Login {
    /// As this user.
    In(String),
    /// Wrong user or password.
    Refused,
    /// The mechanism is none of ours, or its response is none.
    Malformed,
}

/// Judges a response.
pub fn judge(mechanism: &Short, response: &Bytes, peer: IpAddr) -> Login {
    let (user, password) = match mechanism.bytes().as_ref() {
        b"PLAIN" => match plain(response) {
            Some(pair) => pair,
            None => return Login::Malformed,
        },
        b"AMQPLAIN" => match amqplain(response) {
            Some(pair) => pair,
            None => return Login::Malformed,
        },
        _ => return Login::Malformed,
    };
    if user == GUEST && password == GUEST && peer.to_canonical().is_loopback() {
        Login::In("guest".to_owned())
    } else {
        Login::Refused
    }
}

fn plain(response: &Bytes) -> Option<(Vec<u8>, Vec<u8>)> {
    let mut parts = response.split(|byte| *byte == 0);
    let (authorise_as, user, password) = (parts.next()?, parts.next()?, parts.next()?);
    // To act as another user is not offered.
    (authorise_as.is_empty() && parts.next().is_none()).then(|| (user.to_vec(), password.to_vec()))
}

/// A table without its length.
fn amqplain(response: &Bytes) -> Option<(Vec<u8>, Vec<u8>)> {
    let table = table_of(response)?;
    let text = |name: &str| match table.value(name)? {
        Value::Text(text) => Some(text.clone().into_bytes()),
        Value::LongString(bytes) => Some(bytes.to_vec()),
        _ => None,
    };
    Some((text("LOGIN")?, text("PASSWORD")?))
}

/// Reads a table that has no length of its own, as the table of a method that has nothing else around it.
fn table_of(response: &Bytes) -> Option<Table> {
    let mut payload = BytesMut::with_capacity(response.len() + 20);
    payload.put_u16(10);
    payload.put_u16(11);
    payload.put_u32(u32::try_from(response.len()).ok()?);
    payload.put_slice(response);
    payload.put_slice(&[0; 6]);
    match Method::get(payload.freeze()) {
        Ok(Some(Method::StartOk { properties, .. })) => Some(properties),
        _ => None,
    }
}
