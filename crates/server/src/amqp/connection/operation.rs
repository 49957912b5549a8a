//! Methods that ask the service.
//!
//! Owns what they ask and how its answers are told. Guarantees one answer or one fault for each. Never touches the connection:
//! what changes there is in the outcome.

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use kelda_format::{Offset, StreamId, StreamName};
use kelda_service::{
    Caller, CreateError, CreateRequest, DeleteError, Fault, HeadError, LookupError, Operation, Problem,
    StartAt, StreamConfig, StreamInfo,
};

use crate::amqp::exchange::change::{self, Binding, Wanted};
use crate::amqp::exchange::route;
use crate::amqp::exchange::sweep::sweep;
use crate::amqp::listener::Amqp;
use crate::amqp::name;
use crate::amqp::queue::filter::{self, Filter};
use crate::amqp::queue::{self, arguments, offset, tag};
use crate::amqp::reply::{self, Refusal};
use crate::amqp::wire::{Method, Short, Table};

/// Arguments that consumers of other types of queues have.
const FOREIGN: [&str; 2] = ["x-priority", "x-cancel-on-ha-failover"];

/// What a request is carried out with.
pub struct Request {
    /// What connections share.
    pub amqp: Arc<Amqp>,
    /// The virtual host.
    pub vhost: Short,
    /// The channel.
    pub number: u16,
    /// Its turn.
    pub turn: u64,
    /// The prefetch for a new consumer.
    pub prefetch: u16,
    /// Whether the channel has a prefetch for all its consumers.
    pub channel_prefetch: bool,
}

/// What came of it.
pub struct Outcome {
    /// The channel.
    pub number: u16,
    /// Its turn.
    pub turn: u64,
    /// Class and method.
    pub numbers: (u16, u16),
    /// What to do.
    pub step: Result<Step, Refusal>,
}

/// What to do on the connection.
pub enum Step {
    /// Answer, if an answer was asked for.
    Say(Option<Method>),
    /// Remember the queue that was declared, and answer.
    Declared(Short, Option<Method>),
    /// Begin to deliver.
    Consume(Begin),
}

/// A consumer that begins.
pub struct Begin {
    /// Its tag.
    pub tag: Short,
    /// The queue.
    pub queue: Short,
    /// The stream.
    pub name: StreamName,
    /// Its life.
    pub stream: StreamId,
    /// The first offset.
    pub next: Offset,
    /// What of it is wanted.
    pub filter: Option<Arc<Filter>>,
    /// How much it may have.
    pub prefetch: u16,
    /// Whether no answer was asked for.
    pub nowait: bool,
}

/// Begins to carry a method out.
pub fn start(request: Request, method: Method) -> BoxFuture<'static, Outcome> {
    async move {
        let numbers = method.numbers();
        let step = request.carry_out(method).await;
        Outcome { number: request.number, turn: request.turn, numbers, step }
    }
    .boxed()
}

/// The arguments of a declaration.
struct Declaration {
    queue: Short,
    durable: bool,
    exclusive: bool,
    auto_delete: bool,
    arguments: Table,
}

impl Request {
    async fn carry_out(&self, method: Method) -> Result<Step, Refusal> {
        match method {
            Method::QueueDeclare { queue, passive: true, nowait, .. } => {
                let info = self.head(&queue)?;
                Ok(declared(queue, &info, nowait))
            }
            Method::QueueDeclare { queue, durable, exclusive, auto_delete, nowait, arguments, .. } => {
                let wanted = Declaration { queue, durable, exclusive, auto_delete, arguments };
                let info = self.declare(&wanted).await?;
                Ok(declared(wanted.queue, &info, nowait))
            }
            Method::QueueDelete { queue, nowait, .. } => {
                self.delete(&queue).await?;
                Ok(Step::Say((!nowait).then_some(Method::QueueDeleteOk { messages: 0 })))
            }
            Method::QueuePurge { queue, .. } => Err(self.not_of_streams("queue.purge", &queue)),
            Method::Get { queue, .. } => Err(self.not_of_streams("basic.get", &queue)),
            Method::Consume { queue, tag, no_ack, nowait, arguments, .. } => {
                self.consume(queue, tag, no_ack, nowait, &arguments).await.map(Step::Consume)
            }
            other => self.exchange(other).await,
        }
    }

    /// Methods about exchanges and bindings.
    async fn exchange(&self, method: Method) -> Result<Step, Refusal> {
        let (meta, vhost) = (&*self.amqp.meta, &self.vhost);
        let (answer, nowait) = match method {
            Method::ExchangeDeclare { passive: true, exchange, nowait, .. } => {
                if exchange.is_empty() {
                    return Err(change::forbidden());
                }
                let found = route::find(&meta.view(), vhost.bytes(), exchange.bytes());
                found.ok_or_else(|| no_exchange(&exchange, vhost))?;
                (Method::ExchangeDeclareOk {}, nowait)
            }
            Method::ExchangeDeclare {
                exchange: name,
                kind,
                durable,
                auto_delete,
                internal,
                nowait,
                arguments,
                ..
            } => {
                let wanted = Wanted { name, kind, durable, auto_delete, internal, arguments };
                change::declare(meta, vhost, &wanted).await?;
                (Method::ExchangeDeclareOk {}, nowait)
            }
            Method::ExchangeDelete { exchange, if_unused, nowait, .. } => {
                change::delete(meta, vhost, &exchange, if_unused).await?;
                (Method::ExchangeDeleteOk {}, nowait)
            }
            Method::ExchangeBind { destination, source, routing_key, nowait, arguments, .. } => {
                let binding = Binding { source, destination, to_exchange: true, routing_key, arguments };
                change::bind(meta, vhost, &binding).await?;
                (Method::ExchangeBindOk {}, nowait)
            }
            Method::ExchangeUnbind { destination, source, routing_key, nowait, arguments, .. } => {
                let binding = Binding { source, destination, to_exchange: true, routing_key, arguments };
                change::unbind(meta, vhost, &binding).await?;
                (Method::ExchangeUnbindOk {}, nowait)
            }
            Method::QueueBind { queue, exchange, routing_key, nowait, arguments, .. } => {
                let (source, destination) = (exchange, queue);
                let binding = Binding { source, destination, to_exchange: false, routing_key, arguments };
                change::bind(meta, vhost, &binding).await?;
                (Method::QueueBindOk {}, nowait)
            }
            Method::QueueUnbind { queue, exchange, routing_key, arguments, .. } => {
                let (source, destination) = (exchange, queue);
                let binding = Binding { source, destination, to_exchange: false, routing_key, arguments };
                change::unbind(meta, vhost, &binding).await?;
                (Method::QueueUnbindOk {}, false)
            }
            _ => return Err(reply::command_invalid("unimplemented method")),
        };
        Ok(Step::Say((!nowait).then_some(answer)))
    }

    fn described(&self, queue: &Short) -> String {
        queue::described(queue, &self.vhost)
    }

    fn name(&self, queue: &Short) -> Result<StreamName, Refusal> {
        name::stream(self.vhost.bytes(), queue.bytes()).ok_or_else(|| self.no_queue(queue))
    }

    fn no_queue(&self, queue: &Short) -> Refusal {
        reply::not_found(format!("no {}", self.described(queue)))
    }

    fn head(&self, queue: &Short) -> Result<StreamInfo, Refusal> {
        let name = self.name(queue)?;
        self.amqp.service.head(&Caller::anonymous(), &name, None).map_err(|error| match error {
            HeadError::Lookup(LookupError::NotFound { .. }) => self.no_queue(queue),
            error => reply::of_fault(&error),
        })
    }

    fn not_of_streams(&self, what: &str, queue: &Short) -> Refusal {
        let found = self
            .name(queue)
            .map(|name| self.amqp.service.find(&Caller::anonymous(), Operation::Head, &name, None));
        match found {
            Ok(Ok(_)) => {
                let queue = self.described(queue);
                reply::not_implemented(format!("{what} not supported by stream queues {queue}"))
            }
            _ => self.no_queue(queue),
        }
    }

    async fn declare(&self, wanted: &Declaration) -> Result<StreamInfo, Refusal> {
        let described = self.described(&wanted.queue);
        if wanted.queue.is_empty() {
            arguments::is_stream(&wanted.arguments, &described)?;
            let text = "Cannot declare a server-named queue for type rabbit_stream_queue";
            return Err(reply::precondition_failed(text));
        }
        let name = self.name(&wanted.queue)?;
        let caller = Caller::front_end();
        let service = &self.amqp.service;
        match service.head(&caller, &name, None) {
            Ok(info) => {
                same(wanted, &info, &described)?;
                return self.pinned(info).await;
            }
            Err(HeadError::Lookup(LookupError::NotFound { .. })) => {}
            Err(error) => return Err(reply::of_fault(&error)),
        }
        if wanted.queue.bytes().starts_with(b"amq.") {
            let queue = wanted.queue.text();
            return Err(reply::access_refused(format!(
                "queue name '{queue}' contains reserved prefix 'amq.*'"
            )));
        }
        let declared = arguments::check(&wanted.arguments, &described)?;
        let wrong = [
            (wanted.auto_delete, "auto-delete"),
            (wanted.exclusive, "exclusive-owner"),
            (!wanted.durable, "non-durable"),
        ];
        if let Some((_, property)) = wrong.into_iter().find(|(wrong, _)| *wrong) {
            let text = format!("invalid property '{property}' for {described}");
            return Err(reply::precondition_failed(text));
        }
        arguments::check_sizes(&wanted.arguments)?;
        let config = StreamConfig {
            retention: declared.retention,
            arguments: Some(declared.kept),
            ..StreamConfig::default()
        };
        match service.create(&caller, CreateRequest { config, ..CreateRequest::new(name) }).await {
            Ok(created) => Ok(created.info),
            // Somebody else was faster.
            Err(CreateError::Conflict { info, .. }) => {
                same(wanted, &info, &described)?;
                self.pinned(*info).await
            }
            Err(error) => Err(reply::of_fault(&error)),
        }
    }

    /// Keeps the arguments that a stream made over HTTP was first declared with, so that a later change of its retention
    /// breaks no declaration.
    async fn pinned(&self, info: StreamInfo) -> Result<StreamInfo, Refusal> {
        if !info.arguments.is_empty() {
            return Ok(info);
        }
        let (caller, service) = (Caller::front_end(), &self.amqp.service);
        let pinned = service.pin_arguments(&caller, &info.name, info.stream, arguments::canonical).await;
        pinned.map_err(|error| reply::of_fault(&error))
    }

    async fn delete(&self, queue: &Short) -> Result<(), Refusal> {
        let Ok(name) = self.name(queue) else { return Ok(()) };
        match self.amqp.service.delete(&Caller::front_end(), &name, None).await {
            Ok(_) | Err(DeleteError::Lookup(LookupError::NotFound { .. } | LookupError::Gone { .. })) => {
                sweep(&*self.amqp.meta, self.vhost.bytes(), &[]).await;
                Ok(())
            }
            Err(error) => Err(reply::of_fault(&error)),
        }
    }

    async fn consume(
        &self,
        queue: Short,
        tag: Short,
        no_ack: bool,
        nowait: bool,
        given: &Table,
    ) -> Result<Begin, Refusal> {
        let info = self.head(&queue)?;
        let described = self.described(&queue);
        let start = offset::parse(given.value(offset::NAME), &described)?;
        if let Some(header) = given.0.iter().find(|header| FOREIGN.contains(&header.name.as_str())) {
            return Err(arguments::of_type(&header.name, &described, arguments::STREAM_QUEUE));
        }
        if self.prefetch == 0 {
            let text = format!("consumer prefetch count is not set for '{described}'");
            return Err(reply::precondition_failed(text));
        }
        if no_ack {
            let text = format!("automatic acknowledgement not supported by stream queues {described}");
            return Err(reply::not_implemented(text));
        }
        if self.channel_prefetch {
            return Err(reply::not_implemented(format!("{described} does not support global qos")));
        }
        let filter = filter::parse(given, &described)?.map(Arc::new);
        let (name, stream) = (info.name.clone(), info.stream);
        let next = match start {
            // An exact offset may lie ahead; below the first record held, that one is meant.
            StartAt::Offset(offset) => offset.max(info.start),
            start => {
                let resolved =
                    self.amqp.service.resolve(&Caller::anonymous(), &name, start, Some(stream)).await;
                resolved
                    .map_err(|error| match error.problem() {
                        Problem::NotFound | Problem::Gone => self.no_queue(&queue),
                        _ => reply::of_fault(&error),
                    })?
                    .offset
            }
        };
        let tag = if tag.is_empty() { tag::placed(stream, next, self.amqp.env.random.nonce()) } else { tag };
        Ok(Begin { tag, queue, name, stream, next, filter, prefetch: self.prefetch, nowait })
    }
}

/// Whether a declaration is of the queue that is there.
fn same(wanted: &Declaration, info: &StreamInfo, queue: &str) -> Result<(), Refusal> {
    if wanted.exclusive {
        return Err(reply::resource_locked(format!(
            "cannot obtain exclusive access to locked {queue}. It could be originally declared on another connection or \
             the exclusive property value does not match that of the original declaration."
        )));
    }
    for (name, received, current) in
        [("durable", wanted.durable, true), ("auto_delete", wanted.auto_delete, false)]
    {
        if received != current {
            return Err(reply::precondition_failed(format!(
                "inequivalent arg '{name}' for {queue}: received '{received}' but current is '{current}'"
            )));
        }
    }
    arguments::compare(&wanted.arguments, info, queue)
}

fn declared(queue: Short, info: &StreamInfo, nowait: bool) -> Step {
    let messages = u32::try_from(info.next.0 - info.start.0).unwrap_or(u32::MAX);
    let answer = Method::QueueDeclareOk { queue: queue.clone(), messages, consumers: 0 };
    Step::Declared(queue, (!nowait).then_some(answer))
}

/// There is no such exchange.
pub fn no_exchange(exchange: &Short, vhost: &Short) -> Refusal {
    reply::not_found(format!("no exchange '{}' in vhost '{}'", exchange.text(), vhost.text()))
}
