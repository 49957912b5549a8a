//! Accepting connections.
//!
//! Owns the loop of one listener and the count of its connections. Guarantees that there are never more than the bound:
//! one more is answered 503 and closed. Never gives up because the system is short of something for a while.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use kelda_env::Env;
use kelda_service::Problem;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::{Site, connection};
use crate::http::refusal::Refusal;

/// How long to wait when the system has no descriptor or memory left for another connection.
const SHORTAGE_PAUSE: Duration = Duration::from_millis(100);

/// What a listener serves and within which bounds.
#[derive(Clone)]
pub struct Front {
    /// The world.
    pub env: Env,
    /// What answers requests; a request is answered by the one of its moment.
    pub site: Arc<ArcSwap<Box<dyn Site>>>,
    /// Connections at once.
    pub max_connections: usize,
    /// Cancelled when the listener is to close and connections are to finish.
    pub stopping: CancellationToken,
    /// Cancelled when connections are to be dropped as they are.
    pub killing: CancellationToken,
    /// Counts connections until they are gone.
    pub tracker: TaskTracker,
}

/// Accepts connections until the front stops; the listener closes then.
pub async fn run(front: Front, listener: TcpListener) {
    let seats = Arc::new(Semaphore::new(front.max_connections));
    loop {
        let accepted = tokio::select! {
            biased;
            () = front.stopping.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) if is_of_one_connection(&error) => continue,
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection; trying again");
                front.env.clock.sleep(SHORTAGE_PAUSE).await;
                continue;
            }
        };
        let Ok(seat) = Arc::clone(&seats).try_acquire_owned() else {
            turn_away(&stream, front.max_connections);
            continue;
        };
        let (env, site) = (front.env.clone(), Arc::clone(&front.site));
        let ends = connection::Ends { stopping: front.stopping.clone(), killing: front.killing.clone() };
        let serving = async move {
            connection::serve(env, stream, site, ends).await;
            drop(seat);
        };
        front.env.spawn("connection", front.tracker.track_future(serving));
    }
}

/// Whether an error is about the connection that was to be accepted, and not about accepting.
fn is_of_one_connection(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted)
}

/// Answers a connection that has no seat, in one write that never waits.
fn turn_away(stream: &TcpStream, max: usize) {
    let refusal =
        Refusal::new(Problem::Overloaded, format!("{max} connections are served, which is the most"));
    let body = refusal.json().to_string();
    let answer = format!(
        "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/problem+json\r\ncontent-length: {}\r\n\
         retry-after: 1\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    // A peer that cannot even take this learns it by the connection being closed.
    let _ = stream.try_write(answer.as_bytes());
}
