//! The listener.
//!
//! Owns the loop that accepts connections and the count of them. Guarantees that there are never more than the bound: one more
//! is closed at once. Never gives up because the system is short of something for a while.

use std::sync::Arc;
use std::time::Duration;

use kelda_env::Env;
use kelda_meta::Meta;
use kelda_service::Service;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::connection;
use super::counts::Counts;
use crate::http::budget::Budget;

/// How long to wait when the system has no descriptor or memory left for another connection.
const SHORTAGE_PAUSE: Duration = Duration::from_millis(100);

/// What all connections share.
#[derive(Clone)]
pub struct Amqp {
    /// The world.
    pub env: Env,
    /// Named streams.
    pub service: Service,
    /// Exchanges and bindings.
    pub meta: Arc<dyn Meta>,
    /// What is counted of all connections.
    pub counts: Arc<Counts>,
    /// How long a delivery may wait for its acknowledgement.
    pub consumer_timeout: Duration,
    /// Room for the bodies of all requests of the node.
    pub room: Budget,
    /// Connections at once.
    pub max_connections: usize,
    /// Cancelled when connections are to be closed.
    pub stopping: CancellationToken,
    /// Cancelled when connections are to be dropped as they are.
    pub killing: CancellationToken,
    /// Counts connections until they are gone.
    pub tracker: TaskTracker,
}

/// Accepts connections until the node stops; the listener closes then.
pub async fn run(amqp: Arc<Amqp>, listener: TcpListener) {
    let seats = Arc::new(Semaphore::new(amqp.max_connections));
    loop {
        let accepted = tokio::select! {
            biased;
            () = amqp.stopping.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "cannot accept an AMQP connection; trying again");
                amqp.env.clock.sleep(SHORTAGE_PAUSE).await;
                continue;
            }
        };
        let Ok(seat) = Arc::clone(&seats).try_acquire_owned() else {
            tracing::warn!(%peer, most = amqp.max_connections, "an AMQP connection is refused: there are too many");
            continue;
        };
        // Frames are written whole; waiting for more to send with them only delays them.
        let _ = stream.set_nodelay(true);
        let one = Arc::clone(&amqp);
        let serving = async move {
            connection::serve(one, stream, peer.ip()).await;
            drop(seat);
        };
        amqp.env.spawn("amqp-connection", amqp.tracker.track_future(serving));
    }
}
