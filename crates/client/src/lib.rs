//! The client library of Kelda.
