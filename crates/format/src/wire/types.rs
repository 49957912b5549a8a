//! [`Wire`] for the plain types that layouts are made of. Owns their encodings and nothing else.

use std::sync::Arc;

use bytes::Bytes;

use super::{DecodeError, Reader, Wire, put_bytes, put_varint, unzigzag, zigzag};
use crate::ids::{
    ClusterId, Epoch, NodeId, ObjectId, Offset, SessionEpoch, SessionId, StreamId, Timestamp, TransferId,
};
use crate::name::StreamName;

/// Elements reserved before the first one was read, so that a false count costs nothing.
const RESERVED_ELEMENTS: usize = 1024;

impl Wire for u8 {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(*self);
    }

    fn get(reader: &mut Reader<'_>) -> Result<u8, DecodeError> {
        reader.u8()
    }
}

macro_rules! varint {
    ($($type:ty),*) => {$(
        impl Wire for $type {
            fn put(&self, out: &mut Vec<u8>) {
                put_varint(out, u64::from(*self));
            }

            fn get(reader: &mut Reader<'_>) -> Result<$type, DecodeError> {
                let value = reader.varint()?;
                <$type>::try_from(value)
                    .map_err(|_| reader.error(format!("{value} found, at most {} allowed", <$type>::MAX)))
            }
        }
    )*};
}

varint!(u16, u32, u64);

impl Wire for i64 {
    fn put(&self, out: &mut Vec<u8>) {
        put_varint(out, zigzag(*self));
    }

    fn get(reader: &mut Reader<'_>) -> Result<i64, DecodeError> {
        Ok(unzigzag(reader.varint()?))
    }
}

impl Wire for bool {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(u8::from(*self));
    }

    fn get(reader: &mut Reader<'_>) -> Result<bool, DecodeError> {
        match reader.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(reader.error(format!("{other} found where 0 or 1 should be"))),
        }
    }
}

impl<const N: usize> Wire for [u8; N] {
    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self);
    }

    fn get(reader: &mut Reader<'_>) -> Result<[u8; N], DecodeError> {
        reader.array()
    }
}

impl Wire for Bytes {
    fn put(&self, out: &mut Vec<u8>) {
        put_bytes(out, self);
    }

    fn get(reader: &mut Reader<'_>) -> Result<Bytes, DecodeError> {
        let length = reader.length()?;
        reader.shared(length)
    }
}

impl Wire for String {
    fn put(&self, out: &mut Vec<u8>) {
        put_bytes(out, self.as_bytes());
    }

    fn get(reader: &mut Reader<'_>) -> Result<String, DecodeError> {
        Ok(reader.text()?.to_owned())
    }
}

impl Wire for Arc<str> {
    fn put(&self, out: &mut Vec<u8>) {
        put_bytes(out, self.as_bytes());
    }

    fn get(reader: &mut Reader<'_>) -> Result<Arc<str>, DecodeError> {
        Ok(reader.text()?.into())
    }
}

impl Wire for StreamName {
    fn put(&self, out: &mut Vec<u8>) {
        put_bytes(out, self.as_str().as_bytes());
    }

    fn get(reader: &mut Reader<'_>) -> Result<StreamName, DecodeError> {
        let name = reader.text()?;
        StreamName::parse(name).map_err(|error| reader.error(error.to_string()))
    }
}

impl<T: Wire> Wire for Option<T> {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(u8::from(self.is_some()));
        if let Some(value) = self {
            value.put(out);
        }
    }

    fn get(reader: &mut Reader<'_>) -> Result<Option<T>, DecodeError> {
        Ok(if bool::get(reader)? { Some(T::get(reader)?) } else { None })
    }
}

/// A list; no element may have an empty encoding.
impl<T: Wire> Wire for Vec<T> {
    fn put(&self, out: &mut Vec<u8>) {
        put_varint(out, self.len() as u64);
        self.iter().for_each(|element| element.put(out));
    }

    fn get(reader: &mut Reader<'_>) -> Result<Vec<T>, DecodeError> {
        let count = reader.length()?;
        let mut list = Vec::with_capacity(count.min(RESERVED_ELEMENTS));
        for _ in 0..count {
            list.push(T::get(reader)?);
        }
        Ok(list)
    }
}

impl<A: Wire, B: Wire> Wire for (A, B) {
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
        self.1.put(out);
    }

    fn get(reader: &mut Reader<'_>) -> Result<(A, B), DecodeError> {
        Ok((A::get(reader)?, B::get(reader)?))
    }
}

macro_rules! id {
    ($($type:ident),*) => {$(
        impl Wire for $type {
            fn put(&self, out: &mut Vec<u8>) {
                put_varint(out, self.0);
            }

            fn get(reader: &mut Reader<'_>) -> Result<$type, DecodeError> {
                Ok($type(reader.varint()?))
            }
        }
    )*};
}

id!(StreamId, Epoch, Offset, ObjectId, NodeId, SessionEpoch, TransferId, Timestamp);

impl Wire for SessionId {
    fn put(&self, out: &mut Vec<u8>) {
        self.node.put(out);
        self.epoch.put(out);
    }

    fn get(reader: &mut Reader<'_>) -> Result<SessionId, DecodeError> {
        Ok(SessionId { node: NodeId::get(reader)?, epoch: SessionEpoch::get(reader)? })
    }
}

impl Wire for ClusterId {
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
    }

    fn get(reader: &mut Reader<'_>) -> Result<ClusterId, DecodeError> {
        Ok(ClusterId(reader.array()?))
    }
}
