//! HEAD: what a stream is. Never opens it and never slides its TTL.

use kelda_format::{StreamId, StreamName};

use crate::caller::{Caller, Operation};
use crate::info::StreamInfo;
use crate::lookup::LookupError;
use crate::service::Service;

impl Service {
    /// What the stream of this name is now.
    ///
    /// # Errors
    /// [`LookupError`].
    pub fn head(
        &self,
        caller: &Caller,
        name: &StreamName,
        if_stream: Option<StreamId>,
    ) -> Result<StreamInfo, LookupError> {
        let view = self.inner.meta.view();
        let entry = self.inner.find(&view, (caller, Operation::Head), name, if_stream)?;
        self.inner.info(&view, entry).ok_or_else(|| LookupError::NotFound { name: name.clone() })
    }
}
