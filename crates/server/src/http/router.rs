//! From a request to who answers it.
//!
//! Owns the routes of the HTTP front end and what every reply gets on its way out. Guarantees that every request is
//! answered, with a problem when nothing else is right.

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, Response, header};
use kelda_format::limits::MAX_HEADER_BLOCK_BYTES;
use kelda_service::Problem;

use super::app::App;
use super::refusal::Refusal;
use super::{append, cors, create, manage, read};

/// The router of the front end.
pub fn router(app: App) -> Router {
    Router::new().route("/", axum::routing::any(root)).fallback(stream).with_state(app)
}

/// The router of a node that does not serve yet.
pub fn waiting() -> Router {
    Router::new().fallback(|| async {
        let refusal = Refusal::new(Problem::Unavailable, "this node is starting: come back");
        cors::dress(None, refusal.into_response())
    })
}

/// The root: which streams there are.
async fn root(State(app): State<App>, request: Request) -> Response<Body> {
    let (parts, _body) = request.into_parts();
    let answer = match parts.method {
        Method::GET | Method::HEAD => manage::list(&app, &parts),
        Method::OPTIONS => Ok(cors::options()),
        _ => Err(refuse_method(&parts.method, "GET, HEAD, OPTIONS")),
    };
    finish(&app, &parts.headers, answer)
}

/// Everything else is the name of a stream.
async fn stream(State(app): State<App>, request: Request) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let answer = match (check(&parts.headers), &parts.method) {
        (Err(refusal), _) => Err(refusal),
        (Ok(()), &Method::GET) => read::read(&app, &parts).await,
        (Ok(()), &Method::HEAD) => manage::head(&app, &parts),
        (Ok(()), &Method::PUT) => create::create(&app, &parts, body).await,
        (Ok(()), &Method::POST) => append::append(&app, &parts, body).await,
        (Ok(()), &Method::PATCH) => manage::patch(&app, &parts).await,
        (Ok(()), &Method::DELETE) => manage::delete(&app, &parts).await,
        (Ok(()), &Method::OPTIONS) => Ok(cors::options()),
        (Ok(()), method) => Err(refuse_method(method, cors::METHODS)),
    };
    finish(&app, &parts.headers, answer)
}

/// HTTP/1.1 cuts a header block by itself; HTTP/2 counts it packed.
fn check(headers: &HeaderMap) -> Result<(), Refusal> {
    let bytes: usize = headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum();
    if bytes > MAX_HEADER_BLOCK_BYTES {
        let detail =
            format!("the header fields have {bytes} bytes, at most {MAX_HEADER_BLOCK_BYTES} allowed");
        return Err(Refusal::new(Problem::HeadersTooLarge, detail));
    }
    Ok(())
}

fn refuse_method(method: &Method, allowed: &'static str) -> Refusal {
    Refusal::new(
        Problem::MethodNotAllowed,
        format!("{method} is not a method of this path: there are {allowed}"),
    )
    .with_header(header::ALLOW, axum::http::HeaderValue::from_static(allowed))
}

fn finish(app: &App, headers: &HeaderMap, answer: Result<Response<Body>, Refusal>) -> Response<Body> {
    let response = answer.unwrap_or_else(Refusal::into_response);
    if headers.contains_key(header::ORIGIN) {
        cors::dress(Some(&app.allowed_origin()), response)
    } else {
        cors::dress(None, response)
    }
}
