//! Tests of the formats: what they must never change (golden), what they must give back (round trips), what
//! they must refuse (corruption, limits, corpus).

#![allow(clippy::unwrap_used, clippy::disallowed_methods, missing_docs)]

mod amqp;
mod batches;
mod blocks;
mod codecs;
mod corpus;
mod corruption;
mod golden;
mod headers;
mod keys;
mod metadata;
mod names;
mod objects;
mod records;
mod round_trips;
mod samples;
mod strategies;
mod summaries;
mod wal;
mod wire;
