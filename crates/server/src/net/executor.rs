//! Tasks of HTTP/2 streams, started through the port for tasks.

use futures::FutureExt;
use kelda_env::Env;

/// Starts what hyper wants to run beside a connection.
#[derive(Clone)]
pub(super) struct EnvExecutor(pub(super) Env);

impl<F> hyper::rt::Executor<F> for EnvExecutor
where
    F: Future<Output = ()> + Send + 'static,
{
    fn execute(&self, future: F) {
        self.0.tasks.spawn("http-stream", future.boxed());
    }
}
