//! Payloads: owns how a value becomes the body of a record and comes back, guarantees that what does not decode is an
//! error that says why. Never looks at headers.

use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::CodecError;

/// Makes values of bodies.
///
/// ```
/// use bytes::Bytes;
/// use kelda_client::{CodecError, Decode};
///
/// /// A body of exactly eight bytes.
/// struct BigEndian;
///
/// impl Decode<u64> for BigEndian {
///     fn decode(&self, body: &Bytes) -> Result<u64, CodecError> {
///         let bytes = body.as_ref().try_into();
///         bytes.map(u64::from_be_bytes).map_err(|_| CodecError::new("number", format!("{} bytes", body.len())))
///     }
/// }
/// ```
pub trait Decode<T>: Send + Sync + 'static {
    /// The value that `body` holds.
    ///
    /// # Errors
    /// When it holds none; the reader then does what it does when a handler fails.
    fn decode(&self, body: &Bytes) -> Result<T, CodecError>;
}

/// Makes bodies of values.
pub trait Encode<T: ?Sized>: Send + Sync + 'static {
    /// The body for `value`.
    ///
    /// # Errors
    /// When it cannot be written; nothing is appended then.
    fn encode(&self, value: &T) -> Result<Bytes, CodecError>;
}

/// JSON by serde: the codec of readers and producers unless another is chosen.
#[derive(Clone, Copy, Debug, Default)]
pub struct Json;

impl<T: DeserializeOwned> Decode<T> for Json {
    fn decode(&self, body: &Bytes) -> Result<T, CodecError> {
        serde_json::from_slice(body).map_err(|error| CodecError::new("JSON of the wanted type", error))
    }
}

impl<T: Serialize + ?Sized> Encode<T> for Json {
    fn encode(&self, value: &T) -> Result<Bytes, CodecError> {
        let encoded = serde_json::to_vec(value);
        encoded.map(Bytes::from).map_err(|error| CodecError::new("value that JSON can hold", error))
    }
}

/// UTF-8 text.
#[derive(Clone, Copy, Debug, Default)]
pub struct Text;

impl Decode<String> for Text {
    fn decode(&self, body: &Bytes) -> Result<String, CodecError> {
        let text = std::str::from_utf8(body).map_err(|error| CodecError::new("UTF-8 text", error))?;
        Ok(text.to_owned())
    }
}

impl Encode<str> for Text {
    fn encode(&self, value: &str) -> Result<Bytes, CodecError> {
        Ok(Bytes::copy_from_slice(value.as_bytes()))
    }
}

impl Encode<String> for Text {
    fn encode(&self, value: &String) -> Result<Bytes, CodecError> {
        Ok(Bytes::copy_from_slice(value.as_bytes()))
    }
}

/// Bytes as they are, never copied.
#[derive(Clone, Copy, Debug, Default)]
pub struct Binary;

impl Decode<Bytes> for Binary {
    fn decode(&self, body: &Bytes) -> Result<Bytes, CodecError> {
        Ok(body.clone())
    }
}

impl Encode<Bytes> for Binary {
    fn encode(&self, value: &Bytes) -> Result<Bytes, CodecError> {
        Ok(value.clone())
    }
}

impl Encode<[u8]> for Binary {
    fn encode(&self, value: &[u8]) -> Result<Bytes, CodecError> {
        Ok(Bytes::copy_from_slice(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, serde::Deserialize, Serialize)]
    struct Order {
        id: u32,
    }

    #[test]
    fn what_is_encoded_decodes() {
        let body = Json.encode(&Order { id: 7 }).unwrap_or_default();
        assert_eq!(body, r#"{"id":7}"#);
        assert!(Json.decode(&body).is_ok_and(|order: Order| order.id == 7));
        let body = Text.encode("grüße").unwrap_or_default();
        assert!(Text.decode(&body).is_ok_and(|text| text == "grüße"));
        let body = Binary.encode(&[0xFF_u8, 0][..]).unwrap_or_default();
        assert!(Binary.decode(&body).is_ok_and(|bytes| bytes == [0xFF, 0][..]));
    }

    #[test]
    fn what_does_not_decode_says_why() {
        let error = |result: Result<Order, CodecError>| result.map_err(|error| error.to_string());
        let wrong_type = error(Json.decode(&Bytes::from_static(b"{\"id\":\"x\"}")));
        assert!(wrong_type.is_err_and(|said| said.contains("expected u32") && said.contains("column")));
        assert!(error(Json.decode(&Bytes::new())).is_err());
        assert!(Text.decode(&Bytes::from_static(&[0xFF])).is_err_and(|error| error.expected == "UTF-8 text"));
    }
}
