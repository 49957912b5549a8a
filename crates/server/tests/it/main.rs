//! A node as its clients meet it: real HTTP against a node in this process, one file per behaviour.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::disallowed_types, missing_docs)]

mod admin;
mod amqp;
mod amqp_answers;
mod amqp_consumers;
mod amqp_limits;
mod amqp_peer;
mod append;
mod browsers;
mod caching;
mod create;
mod data_dir;
mod events;
mod http2;
mod json_mode;
mod limits;
mod long_poll;
mod manage;
mod names;
mod offsets;
mod parameters;
mod positions;
mod producers;
mod records;
mod remote_store;
mod restart;
mod retention;
#[path = "../../../store/tests/it/s3.rs"]
mod s3;
mod slow_clients;
mod stop;
mod support;
