//! The properties of a content.
//!
//! Owns the flags and the order of the fields.

use bytes::{BufMut, Bytes, BytesMut};

use super::codec::{Field, Malformed, Reader, Short, Writer};
use super::table::Table;

/// The class of every content.
pub const BASIC: u16 = 60;

/// What is no content header of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Other {
    /// It is of another class.
    Class(u16),
    /// Its weight is not 0, as that of every content header is.
    Weight,
    /// It cannot be decoded.
    Malformed,
}

impl From<Malformed> for Other {
    fn from(_: Malformed) -> Other {
        Other::Malformed
    }
}

macro_rules! properties {
    ($($name:ident: $type:ty = $bit:literal,)+) => {
        /// What goes with a body.
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct Properties {
            $(#[doc = concat!("The property `", stringify!($name), "`.")] pub $name: Option<$type>,)+
        }

        impl Properties {
            /// Reads a content header: the size of the body and the properties.
            pub fn get(payload: Bytes) -> Result<(u64, Properties), Other> {
                let mut from = Reader::new(payload);
                let (class, weight) = (u16::get(&mut from)?, u16::get(&mut from)?);
                let size = u64::get(&mut from)?;
                let flags = u16::get(&mut from)?;
                // The last bit would announce more flags, for which there are no properties.
                if class != BASIC {
                    return Err(Other::Class(class));
                }
                if weight != 0 {
                    return Err(Other::Weight);
                }
                if flags & 1 == 1 {
                    return Err(Other::Malformed);
                }
                let properties = Properties {
                    $($name: if flags >> $bit & 1 == 1 { Some(<$type>::get(&mut from)?) } else { None },)+
                };
                if from.is_empty() { Ok((size, properties)) } else { Err(Other::Malformed) }
            }

            /// Appends a content header.
            pub fn put(&self, out: &mut BytesMut, size: u64) {
                out.put_u16(BASIC);
                out.put_u16(0);
                out.put_u64(size);
                let mut flags = 0_u16;
                $(flags |= u16::from(self.$name.is_some()) << $bit;)+
                out.put_u16(flags);
                let mut to = Writer::new(out);
                $(if let Some(value) = &self.$name {
                    value.put(&mut to);
                })+
            }
        }
    };
}

properties! {
    content_type: Short = 15,
    content_encoding: Short = 14,
    headers: Table = 13,
    delivery_mode: u8 = 12,
    priority: u8 = 11,
    correlation_id: Short = 10,
    reply_to: Short = 9,
    expiration: Short = 8,
    message_id: Short = 7,
    timestamp: u64 = 6,
    kind: Short = 5,
    user_id: Short = 4,
    app_id: Short = 3,
    cluster_id: Short = 2,
}
