//! Whether a call comes from within a handler: owns the mark that a handler's future carries, so that a handler can end its
//! own reader without waiting for itself. Sees the handler's own task only, not those that it starts.

use std::sync::Arc;

use super::shared::Shared;

tokio::task_local! {
    /// Where the reader lies whose handler this is. Its worker holds it, so no other reader can lie there meanwhile.
    static READER: usize;
}

fn place(shared: &Arc<Shared>) -> usize {
    Arc::as_ptr(shared).addr()
}

/// Runs a handler of this reader.
pub(super) async fn run<F: Future>(shared: &Arc<Shared>, handled: F) -> F::Output {
    READER.scope(place(shared), handled).await
}

/// Whether this is called by a handler of this reader.
pub(super) fn is_handler_of(shared: &Arc<Shared>) -> bool {
    READER.try_with(|reader| *reader == place(shared)).unwrap_or(false)
}
