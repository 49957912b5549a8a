//! Binding listeners.
//!
//! Owns the sockets that wait for connections. Guarantees that the address which is reported is the real one. Never
//! accepts.

use std::net::SocketAddr;

use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::TcpListener;

/// Connections that the system holds for us before they are accepted.
const BACKLOG: i32 = 1_024;

/// A listener and where it listens.
pub struct Bound {
    /// The socket.
    pub listener: TcpListener,
    /// Its real address.
    pub address: SocketAddr,
}

/// An address that cannot be listened on.
#[derive(Debug, thiserror::Error)]
#[error(
    "cannot listen on {address} (--{setting}): {source}; is it in use, or not an address of this machine? Stop what \
     listens there, or give --{setting} another address, or `off`"
)]
pub struct BindError {
    /// The setting that named it.
    pub setting: &'static str,
    /// The address.
    pub address: SocketAddr,
    /// The system's words.
    pub source: std::io::Error,
}

/// Binds a listener; port 0 picks a free one.
///
/// # Errors
/// [`BindError`].
pub fn bind(setting: &'static str, address: SocketAddr) -> Result<Bound, BindError> {
    let failed = |source| BindError { setting, address, source };
    let open = || -> std::io::Result<TcpListener> {
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
        // A restarted node has to get the address of the one before while its connections linger.
        socket.set_reuse_address(true)?;
        socket.set_nonblocking(true)?;
        socket.bind(&address.into())?;
        socket.listen(BACKLOG)?;
        TcpListener::from_std(socket.into())
    };
    let listener = open().map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    Ok(Bound { listener, address })
}
