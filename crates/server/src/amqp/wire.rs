//! Bytes of AMQP 0-9-1.
//!
//! Owns frames, methods, tables and properties as they travel. Guarantees that nothing a peer sends makes it recurse deeper
//! than the limit on headers or take more memory than the frame has. Never knows what a method is for.

mod codec;
mod frame;
mod method;
mod properties;
mod table;

pub use codec::{Field, Short};
pub use frame::{Frame, FrameFault, FrameKind, put_frame, take_frame};
pub use method::Method;
pub use properties::{BASIC, Other, Properties};
pub use table::Table;

#[cfg(test)]
mod tests;
