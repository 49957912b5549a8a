//! What a service answered: owns the look at status and headers that the client library does not hand on. Guarantees that
//! what is seen is that of the last request of the call that asks. Never changes a request or an answer.

use std::cell::Cell;
use std::future::Future;
use std::time::Duration;

use async_trait::async_trait;
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpRequest, HttpResponse, HttpService, SpawnedReqwestConnector,
};
use tokio::runtime::Handle;

/// What was seen of an answer that is an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    /// The HTTP status.
    pub(crate) status: u16,
    /// How long the service wants to be left alone.
    pub(crate) retry_after: Option<Duration>,
}

tokio::task_local! {
    static SEEN: Cell<Option<Seen>>;
}

/// Runs one call and tells what the last answer was, when that was an error.
pub(crate) async fn watched<T>(call: impl Future<Output = T>) -> (T, Option<Seen>) {
    SEEN.scope(Cell::new(None), async {
        let value = call.await;
        (value, SEEN.with(Cell::get))
    })
    .await
}

/// Makes clients that are watched. Their sockets belong to this runtime, so that a thread with a runtime of its own, which
/// waits for no sockets, can ask too.
#[derive(Clone, Debug)]
pub(crate) struct Watching(pub(crate) Handle);

impl HttpConnector for Watching {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let sockets = SpawnedReqwestConnector::new(self.0.clone());
        Ok(HttpClient::new(Watched(sockets.connect(options)?)))
    }
}

#[derive(Debug)]
struct Watched(HttpClient);

#[async_trait]
impl HttpService for Watched {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let answer = self.0.execute(request).await;
        let seen = answer.as_ref().ok().filter(|answer| !answer.status().is_success()).map(|answer| Seen {
            status: answer.status().as_u16(),
            retry_after: answer
                .headers()
                .get("retry-after")
                .and_then(|value| value.to_str().ok()?.trim().parse().ok())
                .map(Duration::from_secs),
        });
        // Outside of a call nobody asks.
        let _ = SEEN.try_with(|cell| cell.set(seen));
        answer
    }
}
