//! Dead letters over AMQP: owns how a copy is published. Guarantees that it is confirmed and went to a queue. Never declares
//! one.

use futures::future::BoxFuture;
use kelda_format::{Header, Headers, Record, Value};

use super::append::Publisher;
use super::{Amqp, queue};
use crate::error::Error;
use crate::reader::dead_letters::Target;

/// A queue beside a stream, of whatever kind.
pub(crate) struct AmqpTarget {
    publisher: Publisher,
}

/// Survives a restart of the server, which matters in a queue that is no stream.
const PERSISTENT: u8 = 2;

impl AmqpTarget {
    pub(crate) fn new(amqp: &Amqp, name: &str) -> Result<AmqpTarget, Error> {
        Ok(AmqpTarget { publisher: Publisher::new(amqp, queue(name)?) })
    }
}

impl Target for AmqpTarget {
    fn write(&self, copy: Record) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async move {
            let mut headers: Vec<Header> = copy.headers.iter().collect();
            if copy.headers.get("delivery-mode").is_none() {
                headers.push(Header::new("delivery-mode", Value::U8(PERSISTENT)));
            }
            let headers = Headers::new(&headers).unwrap_or_else(|_| copy.headers.clone());
            self.publisher.one(&Record { headers, ..copy }).await
        })
    }
}
