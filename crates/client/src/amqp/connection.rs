//! Connections: owns how one is made, guarantees that many who need one make it once, and that one which is lost is made
//! anew for the next who needs it. Never keeps the bytes of a dead one.

use std::sync::Arc;

use futures::FutureExt;
use futures::future::{BoxFuture, Shared as SharedFuture};
use lapin::{Connection, ConnectionProperties};
use parking_lot::Mutex;

use super::{Amqp, Shared, Use, refusal};
use crate::error::Error;
use crate::timer;

type Making = SharedFuture<BoxFuture<'static, Result<Arc<Connection>, Error>>>;

/// The place of one connection.
#[derive(Default)]
pub(super) struct Slot(Mutex<Option<Making>>);

impl Amqp {
    /// The connection for this use, made if there is none.
    pub(super) async fn connection(&self, purpose: Use) -> Result<Arc<Connection>, Error> {
        let slot = match purpose {
            Use::Reading => &self.shared.reading,
            Use::Publishing => &self.shared.publishing,
        };
        let making = {
            let mut slot = slot.0.lock();
            match slot.as_ref().filter(|making| is_usable(making)) {
                Some(making) => making.clone(),
                None => slot.insert(self.making(purpose)).clone(),
            }
        };
        making.await
    }

    fn making(&self, purpose: Use) -> Making {
        // The connection must not keep what holds it.
        let Shared { uri, endpoint, name, connect_limit, .. } = &*self.shared;
        let (uri, endpoint, limit) = (uri.clone(), endpoint.clone(), *connect_limit);
        let name =
            format!("{name} ({})", if matches!(purpose, Use::Reading) { "reads" } else { "publishes" });
        let making = async move {
            let properties = ConnectionProperties::default()
                .with_connection_name(name.into())
                .with_client_property("product".into(), "kelda-client".into())
                .with_client_property("version".into(), env!("CARGO_PKG_VERSION").into());
            match timer::within(limit, Connection::connect_uri(uri, properties)).await {
                Some(Ok(connection)) => Ok(Arc::new(connection)),
                Some(Err(error)) => Err(refusal::error(&endpoint, &error)),
                None => {
                    Err(Error::Unreachable { endpoint, cause: format!("no connection within {limit:?}") })
                }
            }
        };
        making.boxed().shared()
    }
}

/// Whether it is there or on its way.
fn is_usable(making: &Making) -> bool {
    match making.peek() {
        None => true,
        Some(Ok(connection)) => connection.status().connected(),
        Some(Err(_)) => false,
    }
}
