//! Methods.
//!
//! Owns the list of all methods of the protocol and of RabbitMQ's extensions, each with its numbers and fields.

use bytes::{BufMut, Bytes, BytesMut};

use super::codec::{Field, Malformed, Reader, Short, Writer};
use super::table::Table;

macro_rules! methods {
    ($($class:literal $id:literal $name:ident $text:literal { $($field:ident: $type:ty),* })+) => {
        /// A method with its arguments.
        #[derive(Clone, Debug, PartialEq)]
        #[allow(missing_docs, reason = "names and fields are those of the protocol")]
        pub enum Method {
            $($name { $($field: $type),* },)+
        }

        impl Method {
            /// Reads a method; nothing when its numbers are of none.
            #[allow(clippy::redundant_closure_call, reason = "the closure is what `?` leaves")]
            pub fn get(payload: Bytes) -> Result<Option<Method>, ((u16, u16), Bytes)> {
                let mut from = Reader::new(payload.clone());
                let numbers = u16::get(&mut from).and_then(|class| Ok((class, u16::get(&mut from)?)));
                let Ok(numbers) = numbers else { return Ok(None) };
                let read = match numbers {
                    $(($class, $id) => (|| -> Result<Method, Malformed> {
                        $(let $field = <$type>::get(&mut from)?;)*
                        if from.is_empty() { Ok(Method::$name { $($field),* }) } else { Err(Malformed) }
                    })(),)+
                    _ => return Ok(None),
                };
                read.map(Some).map_err(|Malformed| (numbers, payload.slice(4..)))
            }

            /// Appends numbers and arguments.
            pub fn put(&self, out: &mut BytesMut) {
                let (class, id) = self.numbers();
                out.put_u16(class);
                out.put_u16(id);
                let mut to = Writer::new(out);
                let _ = &mut to;
                match self {
                    $(Method::$name { $($field),* } => { $($field.put(&mut to);)* })+
                }
            }

            /// Whether its short strings are UTF-8. A message's are taken as they are.
            #[allow(unreachable_patterns, reason = "one of all methods is told apart")]
            pub fn is_text(&self) -> bool {
                match self {
                    Method::Publish { .. } => true,
                    $(Method::$name { $($field),* } => true $(&& $field.is_text())*,)+
                }
            }

            /// Whether one of its tables nests deeper than may be kept.
            pub fn is_too_deep(&self) -> bool {
                match self {
                    $(Method::$name { $($field),* } => false $(|| $field.is_too_deep())*,)+
                }
            }

            /// Class and method.
            pub fn numbers(&self) -> (u16, u16) {
                match self {
                    $(Method::$name { .. } => ($class, $id),)+
                }
            }

            /// As people write it.
            #[allow(dead_code, reason = "for logs")]
            pub fn name(&self) -> &'static str {
                match self {
                    $(Method::$name { .. } => $text,)+
                }
            }
        }
    };
}

methods! {
    10 10 Start "connection.start" { major: u8, minor: u8, properties: Table, mechanisms: Bytes, locales: Bytes }
    10 11 StartOk "connection.start-ok" { properties: Table, mechanism: Short, response: Bytes, locale: Short }
    10 20 Secure "connection.secure" { challenge: Bytes }
    10 21 SecureOk "connection.secure-ok" { response: Bytes }
    10 30 Tune "connection.tune" { channel_max: u16, frame_max: u32, heartbeat: u16 }
    10 31 TuneOk "connection.tune-ok" { channel_max: u16, frame_max: u32, heartbeat: u16 }
    10 40 Open "connection.open" { vhost: Short, capabilities: Short, insist: bool }
    10 41 OpenOk "connection.open-ok" { known_hosts: Short }
    10 50 Close "connection.close" { code: u16, text: Short, class: u16, method: u16 }
    10 51 CloseOk "connection.close-ok" {}
    10 60 Blocked "connection.blocked" { reason: Short }
    10 61 Unblocked "connection.unblocked" {}
    10 70 UpdateSecret "connection.update-secret" { secret: Bytes, reason: Short }
    10 71 UpdateSecretOk "connection.update-secret-ok" {}
    20 10 ChannelOpen "channel.open" { out_of_band: Short }
    20 11 ChannelOpenOk "channel.open-ok" { id: Bytes }
    20 20 ChannelFlow "channel.flow" { active: bool }
    20 21 ChannelFlowOk "channel.flow-ok" { active: bool }
    20 40 ChannelClose "channel.close" { code: u16, text: Short, class: u16, method: u16 }
    20 41 ChannelCloseOk "channel.close-ok" {}
    30 10 AccessRequest "access.request" { realm: Short, exclusive: bool, passive: bool, active: bool, write: bool, read: bool }
    30 11 AccessRequestOk "access.request-ok" { ticket: u16 }
    40 10 ExchangeDeclare "exchange.declare" { ticket: u16, exchange: Short, kind: Short, passive: bool, durable: bool, auto_delete: bool, internal: bool, nowait: bool, arguments: Table }
    40 11 ExchangeDeclareOk "exchange.declare-ok" {}
    40 20 ExchangeDelete "exchange.delete" { ticket: u16, exchange: Short, if_unused: bool, nowait: bool }
    40 21 ExchangeDeleteOk "exchange.delete-ok" {}
    40 30 ExchangeBind "exchange.bind" { ticket: u16, destination: Short, source: Short, routing_key: Short, nowait: bool, arguments: Table }
    40 31 ExchangeBindOk "exchange.bind-ok" {}
    40 40 ExchangeUnbind "exchange.unbind" { ticket: u16, destination: Short, source: Short, routing_key: Short, nowait: bool, arguments: Table }
    40 51 ExchangeUnbindOk "exchange.unbind-ok" {}
    50 10 QueueDeclare "queue.declare" { ticket: u16, queue: Short, passive: bool, durable: bool, exclusive: bool, auto_delete: bool, nowait: bool, arguments: Table }
    50 11 QueueDeclareOk "queue.declare-ok" { queue: Short, messages: u32, consumers: u32 }
    50 20 QueueBind "queue.bind" { ticket: u16, queue: Short, exchange: Short, routing_key: Short, nowait: bool, arguments: Table }
    50 21 QueueBindOk "queue.bind-ok" {}
    50 30 QueuePurge "queue.purge" { ticket: u16, queue: Short, nowait: bool }
    50 31 QueuePurgeOk "queue.purge-ok" { messages: u32 }
    50 40 QueueDelete "queue.delete" { ticket: u16, queue: Short, if_unused: bool, if_empty: bool, nowait: bool }
    50 41 QueueDeleteOk "queue.delete-ok" { messages: u32 }
    50 50 QueueUnbind "queue.unbind" { ticket: u16, queue: Short, exchange: Short, routing_key: Short, arguments: Table }
    50 51 QueueUnbindOk "queue.unbind-ok" {}
    60 10 Qos "basic.qos" { size: u32, count: u16, global: bool }
    60 11 QosOk "basic.qos-ok" {}
    60 20 Consume "basic.consume" { ticket: u16, queue: Short, tag: Short, no_local: bool, no_ack: bool, exclusive: bool, nowait: bool, arguments: Table }
    60 21 ConsumeOk "basic.consume-ok" { tag: Short }
    60 30 Cancel "basic.cancel" { tag: Short, nowait: bool }
    60 31 CancelOk "basic.cancel-ok" { tag: Short }
    60 40 Publish "basic.publish" { ticket: u16, exchange: Short, routing_key: Short, mandatory: bool, immediate: bool }
    60 50 Return "basic.return" { code: u16, text: Short, exchange: Short, routing_key: Short }
    60 60 Deliver "basic.deliver" { tag: Short, delivery: u64, redelivered: bool, exchange: Short, routing_key: Short }
    60 70 Get "basic.get" { ticket: u16, queue: Short, no_ack: bool }
    60 71 GetOk "basic.get-ok" { delivery: u64, redelivered: bool, exchange: Short, routing_key: Short, messages: u32 }
    60 72 GetEmpty "basic.get-empty" { cluster_id: Short }
    60 80 Ack "basic.ack" { delivery: u64, multiple: bool }
    60 90 Reject "basic.reject" { delivery: u64, requeue: bool }
    60 100 RecoverAsync "basic.recover-async" { requeue: bool }
    60 110 Recover "basic.recover" { requeue: bool }
    60 111 RecoverOk "basic.recover-ok" {}
    60 120 Nack "basic.nack" { delivery: u64, multiple: bool, requeue: bool }
    85 10 ConfirmSelect "confirm.select" { nowait: bool }
    85 11 ConfirmSelectOk "confirm.select-ok" {}
    90 10 TxSelect "tx.select" {}
    90 11 TxSelectOk "tx.select-ok" {}
    90 20 TxCommit "tx.commit" {}
    90 21 TxCommitOk "tx.commit-ok" {}
    90 30 TxRollback "tx.rollback" {}
    90 31 TxRollbackOk "tx.rollback-ok" {}
}
