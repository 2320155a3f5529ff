//! Answers of every sort.

use bytes::Bytes;
use http::{Response, StatusCode, header};
use serde_json::Value;

use super::body::Body;
use crate::error::ApiError;
use crate::present::Format;

/// An answer with a text in JSON or YAML.
pub fn answer_with(code: StatusCode, media: &str, warnings: &[String], text: impl Into<Bytes>) -> Response<Body> {
    let mut response = Response::new(Body::full(text));
    *response.status_mut() = code;
    let headers = response.headers_mut();
    if let Ok(media) = media.parse() {
        headers.insert(header::CONTENT_TYPE, media);
    }
    headers.insert(header::CACHE_CONTROL, header::HeaderValue::from_static("no-cache, private"));
    for warning in warnings {
        warn(&mut response, warning);
    }
    response
}

/// Adds a warning to an answer.
pub fn warn(response: &mut Response<Body>, warning: &str) {
    let quoted = warning.replace('\\', "\\\\").replace('"', "\\\"");
    if let Ok(value) = format!("299 - \"{quoted}\"").parse() {
        response.headers_mut().append(header::WARNING, value);
    }
}

/// The answer to a path of which nobody knows anything.
pub fn not_found() -> Response<Body> {
    answer_with(StatusCode::NOT_FOUND, "text/plain; charset=utf-8", &[], "404 page not found\n")
}

/// 200 with a JSON text.
pub fn json_answer(value: &Value) -> Result<Response<Body>, ApiError> {
    Ok(answer_with(StatusCode::OK, Format::Json.media(), &[], value.to_string()))
}

/// 200 with a text.
pub fn text_answer(text: &'static str) -> Response<Body> {
    answer_with(StatusCode::OK, "text/plain; charset=utf-8", &[], text)
}

/// The answer that a refusal is.
pub fn refusal(error: &ApiError) -> Response<Body> {
    let mut response = answer_with(error.code, Format::Json.media(), &error.warnings, error.status().to_string());
    if let Some(seconds) = error.details.as_ref().and_then(|details| details.retry_after) {
        response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
    }
    response
}
