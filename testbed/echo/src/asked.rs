//! What is read of a request, and made an answer of, whether it is a call of gRPC or not.

use std::convert::Infallible;

use bytes::Bytes;
use http::HeaderMap;
use http::header::{HOST, HeaderName, HeaderValue, SET_COOKIE};
use http::request::Parts;
use http_body_util::combinators::UnsyncBoxBody;

/// The body of an answer.
pub(crate) type Body = UnsyncBoxBody<Bytes, Infallible>;

/// The fields that the request asks for in the header `by`; values of one name are joined, but for cookies, which cannot be
/// (RFC 6265, section 3).
pub(crate) fn asked_headers(headers: &HeaderMap, by: &str) -> Vec<(HeaderName, HeaderValue)> {
    let mut asked: Vec<(HeaderName, String)> = Vec::new();
    for line in headers.get_all(by).iter().filter_map(|value| value.to_str().ok()) {
        for (name, value) in line.split(',').filter_map(|pair| pair.split_once(':')) {
            let Ok(name) = name.trim().parse::<HeaderName>() else { continue };
            match asked.iter_mut().find(|(earlier, _)| *earlier == name && name != SET_COOKIE) {
                Some((_, values)) => *values = format!("{values},{}", value.trim()),
                None => asked.push((name, value.trim().to_owned())),
            }
        }
    }
    asked.into_iter().filter_map(|(name, value)| Some((name, value.parse().ok()?))).collect()
}

/// The host that is asked for: as the header has it, or as the target of the request does.
pub(crate) fn host(parts: &Parts) -> String {
    match parts.headers.get(HOST) {
        Some(host) => lossy(host),
        None => parts.uri.authority().map(ToString::to_string).unwrap_or_default(),
    }
}

/// A value as text, whatever its bytes are.
pub(crate) fn lossy(value: &HeaderValue) -> String {
    String::from_utf8_lossy(value.as_bytes()).into_owned()
}
