//! Front ends, configuration and assembly of a Kelda node.
