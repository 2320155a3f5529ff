//! gRPC as far as a proxy has to know it: which requests are calls, and how it answers one by itself.

use http::header::{CONTENT_TYPE, HeaderName};
use http::{HeaderMap, HeaderValue, Response, StatusCode};

use crate::body::{self, Body};

/// The field that carries the status code of a call.
pub const STATUS: HeaderName = HeaderName::from_static("grpc-status");

const MESSAGE: HeaderName = HeaderName::from_static("grpc-message");

/// Whether a message is one of gRPC: its content type is `application/grpc`, with or without a format or parameters.
pub fn is_grpc(headers: &HeaderMap) -> bool {
    let of = headers.get(CONTENT_TYPE).and_then(|of| of.to_str().ok()).unwrap_or_default();
    of.strip_prefix("application/grpc").is_some_and(|rest| rest.is_empty() || rest.starts_with(['+', ';']))
}

/// What a client of gRPC takes an HTTP status for, if an answer has no status of its own (the table
/// `http-grpc-status-mapping` of gRPC).
pub fn code_of(status: StatusCode) -> u32 {
    match status.as_u16() {
        400 => 13,
        401 => 16,
        403 => 7,
        404 => 12,
        429 | 502..=504 => 14,
        _ => 2,
    }
}

/// An answer without any message: its head says how the call ended.
pub fn answer(status: StatusCode, reason: &str) -> Response<Body> {
    let mut response = Response::new(body::empty());
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
    headers.insert(STATUS, HeaderValue::from(code_of(status)));
    if let Ok(reason) = HeaderValue::from_str(&escape(reason)) {
        headers.insert(MESSAGE, reason);
    }
    response
}

/// A message as `grpc-message` carries it: percent signs and what is not printable ASCII are escaped.
fn escape(text: &str) -> String {
    let escaped = |byte: u8| match byte {
        b' '..=b'~' if byte != b'%' => char::from(byte).to_string(),
        other => format!("%{other:02X}"),
    };
    text.bytes().map(escaped).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("application/grpc", true)]
    #[case("application/grpc+proto", true)]
    #[case("application/grpc;charset=utf-8", true)]
    #[case("application/grpc-web", false)]
    #[case("application/json", false)]
    fn calls_are_told_by_their_content_type(#[case] of: &'static str, #[case] expected: bool) {
        let headers = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static(of))]);
        assert_eq!(is_grpc(&headers), expected);
    }

    #[test]
    fn an_answer_says_all_in_its_head() {
        let answer = answer(StatusCode::SERVICE_UNAVAILABLE, "100 % gone: ü");
        assert_eq!((answer.status(), &answer.headers()[STATUS]), (StatusCode::OK, &HeaderValue::from(14)));
        assert_eq!(answer.headers()[MESSAGE], "100 %25 gone: %C3%BC");
        assert!(http_body::Body::is_end_stream(answer.body()));
    }
}
