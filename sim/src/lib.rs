//! Deterministic simulation, checkers, end-to-end tests and tidiness of Kelda.
