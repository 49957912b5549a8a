//! Front ends, configuration and assembly of a Kelda node.

pub mod config;
pub mod duration;
pub mod http;
pub mod time;
