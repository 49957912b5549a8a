//! The log cache against a plain list of records.
