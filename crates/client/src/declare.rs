//! Declaring streams: owns how limits become a creation, guarantees that repeating a declaration changes nothing and
//! that one which contradicts the stream that is there says both. Never changes a stream that exists.

use bytes::Bytes;
use hyper::Method;

use crate::connect::Kelda;
use crate::error::{Difference, Error, Problem, StreamMismatch};
use crate::stream::{StreamHead, head, path};
use crate::stream_limits::StreamLimits;
#[cfg(feature = "amqp")]
use crate::transport::Transport;

impl Kelda {
    /// Creates a stream, or confirms that the one of this name agrees with `limits`: [`StreamHead::created`] says which. Only
    /// what is set in `limits` is compared.
    ///
    /// Without any limit it works and says once that such a stream grows until the disk is full.
    ///
    /// Over AMQP the server compares all limits, so what is not set has to be absent there too, ages as they are spelled;
    /// a content type, a time to live and a time of expiry are [`Error::Unsupported`]; and of the [`StreamHead`] only the
    /// name and [`StreamHead::created`] are known.
    ///
    /// # Errors
    /// [`Error::Mismatch`] when the stream exists with other limits: it shows what the stream has and what was asked for.
    /// [`Error::Invalid`] when a limit has no exact spelling; nothing was sent then.
    pub async fn declare_stream(&self, name: &str, limits: StreamLimits) -> Result<StreamHead, Error> {
        let headers = limits.headers()?;
        #[cfg(feature = "amqp")]
        if let Transport::Amqp(amqp) = &self.transport {
            let head = amqp.declare(name, &limits).await?;
            if limits.is_unlimited() {
                self.warn_unlimited(name);
            }
            return Ok(head);
        }
        let http = self.transport.http("declare a stream")?;
        let answer = http.call(Method::PUT, &path(name), &headers, Bytes::new()).await;
        let head = head(name, &answer.map_err(|error| mismatch(name, error))?)?;
        let bounded = |header: &str| head.headers.contains_key(header);
        if !bounded("kelda-max-age") && !bounded("kelda-max-bytes") {
            self.warn_unlimited(name);
        }
        Ok(head)
    }

    /// Declares all streams of a topology, in order.
    ///
    /// # Errors
    /// As [`Kelda::declare_stream`], for the first that fails; those before it are declared.
    pub async fn declare(&self, topology: &Topology) -> Result<Vec<StreamHead>, Error> {
        // Whatever is wrong with one is known before any is created.
        for (_, limits) in &topology.streams {
            limits.headers()?;
        }
        let mut heads = Vec::with_capacity(topology.streams.len());
        for (name, limits) in &topology.streams {
            heads.push(self.declare_stream(name, limits.clone()).await?);
        }
        Ok(heads)
    }
}

/// Several streams that are declared together, the same from every program that uses them.
///
/// ```
/// use kelda_client::{StreamArguments, StreamLimits, Topology, days};
/// let topology = Topology::new()
///     .stream("orders", StreamLimits::new().max_age(days(7)))
///     .stream_with("audit", [(StreamArguments::MAX_AGE, "3600s"), (StreamArguments::MAX_LENGTH_BYTES, "1000000")])?;
/// assert_eq!(topology.names().collect::<Vec<_>>(), ["orders", "audit"]);
/// # Ok::<(), kelda_client::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Topology {
    streams: Vec<(String, StreamLimits)>,
}

impl Topology {
    /// No streams yet.
    #[must_use]
    pub fn new() -> Topology {
        Topology::default()
    }

    /// Adds a stream.
    #[must_use]
    pub fn stream(mut self, name: impl Into<String>, limits: StreamLimits) -> Topology {
        self.streams.push((name.into(), limits));
        self
    }

    /// Adds a stream by its arguments, as AMQP names them: see [`StreamArguments`](crate::StreamArguments).
    ///
    /// # Errors
    /// [`Error::Invalid`] for another argument, or a number that is none.
    pub fn stream_with<'a>(
        self,
        name: impl Into<String>,
        arguments: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Topology, Error> {
        let set = |limits: StreamLimits, (name, value)| limits.argument(name, value);
        let limits = arguments.into_iter().try_fold(StreamLimits::new(), set)?;
        Ok(self.stream(name, limits))
    }

    /// The names, in the order in which they are declared.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.streams.iter().map(|(name, _)| name.as_str())
    }
}

/// The typed error for a configuration that differs.
fn mismatch(name: &str, error: Error) -> Error {
    match &error {
        Error::Problem(problem) if problem.code() == "config-conflict" => match differences(problem) {
            differences if differences.is_empty() => error,
            differences => Error::Mismatch(Box::new(StreamMismatch { stream: name.to_owned(), differences })),
        },
        _ => error,
    }
}

fn differences(problem: &Problem) -> Vec<Difference> {
    let list = problem.fields.get("differences").and_then(|list| list.as_array());
    let text = |value: &serde_json::Value| match value {
        serde_json::Value::Null => None,
        serde_json::Value::String(text) if text == "none" => None,
        serde_json::Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    };
    list.into_iter()
        .flatten()
        .map(|one| Difference {
            field: one["field"].as_str().unwrap_or_default().to_owned(),
            existing: text(&one["existing"]),
            requested: text(&one["requested"]),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_topology_takes_the_three_arguments_and_no_other() {
        use crate::StreamArguments;
        let good = [
            (StreamArguments::MAX_AGE, "7D"),
            (StreamArguments::MAX_LENGTH_BYTES, "10"),
            (StreamArguments::SEGMENT_BYTES, "5"),
        ];
        let topology = Topology::new().stream_with("a", good);
        let expected = StreamLimits::new().max_age_raw("7D").max_bytes(10).segment_bytes(5);
        assert!(topology.is_ok_and(|topology| topology.streams == [("a".to_owned(), expected)]));
        for wrong in [("x-max-length", "10"), (StreamArguments::MAX_LENGTH_BYTES, "10 GB"), ("", "")] {
            assert!(
                matches!(Topology::new().stream_with("a", [wrong]), Err(Error::Invalid { .. })),
                "{wrong:?}"
            );
        }
    }

    #[test]
    fn a_conflict_becomes_both_sides() {
        let body = r#"{"type":"urn:kelda:problem:config-conflict","status":409,"differences":
            [{"field":"max_age","existing":"7d","requested":"1h"},{"field":"max_bytes","existing":"none","requested":"5"}]}"#;
        let problem: Problem = serde_json::from_str(body).unwrap_or_default();
        let error = mismatch("events", Error::Problem(Box::new(problem)));
        assert_eq!(
            error.to_string(),
            "\"events\" exists with other limits: max_age is 7d, asked for was 1h; max_bytes is none, asked for was 5"
        );
    }
}
