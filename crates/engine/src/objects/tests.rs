//! The object reader over a simulated store, against the list of records that the objects were made of.

#![allow(clippy::unwrap_used)]

mod ahead;
mod cache;
mod damage;
mod flight;
mod reads;
mod times;
mod world;
