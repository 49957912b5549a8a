//! What a client gets when its request is not done.
//!
//! Owns the way from an error to a reply: `application/problem+json`, whose code, status and title come from the one
//! table in the service crate. Guarantees that facts which have a header field are sent there as well, so that a client
//! need not read the body. Never invents a code.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header};
use kelda_service::{Fact, Fault, Field, Problem};
use serde_json::{Map, Value as Json, json};

use super::query::QueryError;
use super::{fields, offset};

/// The media type of a problem.
pub const PROBLEM_JSON: &str = "application/problem+json";

/// Seconds after which a request that met a full bound or a stopping node may be sent again.
const RETRY_SECONDS: u64 = 1;
/// Seconds after which a request that met a full disk may be sent again.
const RETRY_FULL_SECONDS: u64 = 5;

/// A request that is refused. One pointer, since most results never hold one.
#[derive(Clone, Debug)]
pub struct Refusal(Box<Inner>);

#[derive(Clone, Debug)]
struct Inner {
    problem: Problem,
    detail: String,
    facts: Vec<Field>,
    headers: HeaderMap,
}

impl Refusal {
    /// A refusal with this detail and no facts.
    #[must_use]
    pub fn new(problem: Problem, detail: impl Into<String>) -> Refusal {
        let (detail, facts, headers) = (detail.into(), Vec::new(), HeaderMap::new());
        Refusal(Box::new(Inner { problem, detail, facts, headers }))
    }

    /// Adds a fact.
    #[must_use]
    pub fn with(mut self, name: &'static str, fact: Fact) -> Refusal {
        self.0.facts.push((name, fact));
        self
    }

    /// Adds a header field.
    #[must_use]
    pub fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Refusal {
        self.0.headers.insert(name, value);
        self
    }

    /// A query parameter that is wrong.
    #[must_use]
    pub fn parameter(name: &str, detail: impl Into<String>) -> Refusal {
        let problem = if name == "offset" { Problem::InvalidOffset } else { Problem::InvalidParameter };
        Refusal::new(problem, detail).with("parameter", Fact::Text(name.to_owned()))
    }

    /// A header field that is wrong.
    #[must_use]
    pub fn header(name: &HeaderName, detail: impl Into<String>) -> Refusal {
        let title = fields::title(name);
        Refusal::new(Problem::InvalidHeader, format!("{title}: {}", detail.into()))
            .with("header", Fact::Text(title.to_owned()))
    }

    /// Which problem it is.
    #[must_use]
    pub fn problem(&self) -> Problem {
        self.0.problem
    }

    /// The body of the reply.
    #[must_use]
    pub fn json(&self) -> Json {
        let mut object = Map::new();
        object.insert("type".to_owned(), Json::from(format!("urn:kelda:problem:{}", self.0.problem.code())));
        object.insert("title".to_owned(), Json::from(self.0.problem.title()));
        object.insert("status".to_owned(), Json::from(self.0.problem.status()));
        object.insert("detail".to_owned(), Json::from(self.0.detail.as_str()));
        for (name, fact) in &self.0.facts {
            object.insert((*name).to_owned(), fact_json(fact));
        }
        Json::Object(object)
    }

    /// The reply.
    #[must_use]
    pub fn into_response(self) -> Response<Body> {
        let mut response = Response::new(Body::from(self.json().to_string()));
        *response.status_mut() =
            StatusCode::from_u16(self.0.problem.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let headers = response.headers_mut();
        for (name, fact) in &self.0.facts {
            if let Some((name, value)) = fact_header(name, fact) {
                headers.insert(name, value);
            }
        }
        if self.0.problem == Problem::Sealed {
            headers.insert(fields::STREAM_CLOSED, HeaderValue::from_static("true"));
        }
        if self.0.problem.is_transient() {
            let full = self.0.problem == Problem::DiskFull;
            headers.insert(fields::RETRY_AFTER, if full { RETRY_FULL_SECONDS } else { RETRY_SECONDS }.into());
        }
        headers.extend(self.0.headers);
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(PROBLEM_JSON));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        response
    }
}

impl<F: Fault> From<F> for Refusal {
    fn from(fault: F) -> Refusal {
        let (problem, facts) = (fault.problem(), fault.fields());
        let (detail, headers) = (fault.to_string(), HeaderMap::new());
        Refusal(Box::new(Inner { problem, detail, facts, headers }))
    }
}

impl From<QueryError> for Refusal {
    fn from(error: QueryError) -> Refusal {
        Refusal::parameter(&error.name, error.to_string())
    }
}

fn fact_json(fact: &Fact) -> Json {
    match fact {
        Fact::Offset(at) => Json::from(offset::format(*at)),
        Fact::Stream(stream) => Json::from(stream.to_string()),
        Fact::Number(number) => Json::from(*number),
        Fact::Text(text) => Json::from(text.as_str()),
        Fact::Differences(differences) => differences
            .iter()
            .map(|one| json!({"field": one.field, "existing": one.existing, "requested": one.requested}))
            .collect(),
    }
}

/// The header field that says the same as a fact.
fn fact_header(name: &str, fact: &Fact) -> Option<(HeaderName, HeaderValue)> {
    let field = match name {
        "next_offset" => fields::STREAM_NEXT_OFFSET,
        "start_offset" => fields::KELDA_START_OFFSET,
        "stream_id" => fields::KELDA_STREAM_ID,
        "producer_epoch" => fields::PRODUCER_EPOCH,
        "expected_seq" => fields::PRODUCER_EXPECTED_SEQ,
        "received_seq" => fields::PRODUCER_RECEIVED_SEQ,
        "owner" => fields::KELDA_OWNER,
        _ => return None,
    };
    let text = match fact {
        Fact::Offset(at) => offset::format(*at),
        Fact::Stream(stream) => stream.to_string(),
        Fact::Number(number) => number.to_string(),
        Fact::Text(text) => text.clone(),
        Fact::Differences(_) => return None,
    };
    Some((field, HeaderValue::from_str(&text).ok()?))
}

#[cfg(test)]
mod tests;
