//! Stores of the network: their URLs, what their answers mean, and the contract of the port against a real S3 API.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::disallowed_types, missing_docs)]

mod answers;
mod contract;
mod races;
mod s3;
#[path = "../../../env/tests/it/store_contract.rs"]
mod store_contract;
mod uploads;
mod urls;
