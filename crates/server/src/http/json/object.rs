//! What has to be a JSON object.
//!
//! Owns the refusal of everything else: a derived reader takes a list for its fields in their order as well, so that `[]`
//! would be a record. Guarantees that the refusal says what was expected and what was there. Never looks into the object.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};

/// Something with a name of its own for a refusal.
pub(super) trait Named {
    /// What it is and how it is written, behind "expected".
    const WHAT: &'static str;
}

/// A `T` that was written as an object.
pub(super) struct Object<T>(pub(super) T);

impl<'de, T: Deserialize<'de> + Named> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Object<T>, D::Error> {
        deserializer.deserialize_map(Fields(PhantomData)).map(Object)
    }
}

/// Reads the fields of an object.
struct Fields<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de> + Named> Visitor<'de> for Fields<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::WHAT)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map))
    }
}
