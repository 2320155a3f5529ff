//! Calls of gRPC, of whatever service and method: an account of the call comes back, with the texts of all messages that it
//! was sent.
//!
//! Metadata of the request asks for more: `x-echo-messages` for a number of messages, `x-echo-bytes` for so many bytes in the
//! frame of each, `x-echo-set-header` and `x-echo-set-trailer` for metadata at the head and at the end (`name:value`, separated by commas), `x-echo-set-code`
//! for the status code of the call, and `x-echo-trailers-only: 1` for no message and all of this in the head, as servers answer that fail at once. Messages come before the status whatever it is, so that an answer always says who
//! gave it.

pub mod message;

use std::convert::Infallible;

use bytes::Bytes;
use futures::stream;
use http::header::{CONTENT_TYPE, HeaderName};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Response, Version};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;

use crate::asked::{Body, asked_headers, host, lossy};
use crate::identity::Identity;
use crate::tls::Agreed;
use message::Account;

/// The service of the conformance suite.
const SERVICE: &str = "/gateway_api_conformance.echo_basic.grpcecho.GrpcEcho/";

/// Its methods that are served.
const METHODS: [&str; 2] = ["Echo", "EchoTwo"];

/// The status code for methods that are not served.
const UNIMPLEMENTED: u16 = 12;

/// More messages than this are not sent.
const MOST_MESSAGES: usize = 1000;

/// Longer ones are not sent either.
const LONGEST_MESSAGE: usize = 1024 * 1024;

/// Whether a request is a call.
pub(crate) fn is_call(parts: &Parts) -> bool {
    let of = parts.headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes).unwrap_or_default();
    parts.version == Version::HTTP_2 && of.starts_with(b"application/grpc")
}

/// Whether the service of the conformance suite has the method.
pub(crate) fn is_served(parts: &Parts) -> bool {
    parts.uri.path().strip_prefix(SERVICE).is_some_and(|method| METHODS.contains(&method))
}

/// Answers a call.
pub(crate) fn answer((identity, tls): (&Identity, Option<&Agreed>), parts: &Parts, body: &[u8]) -> Response<Body> {
    let number = |name: &str| parts.headers.get(name).and_then(|text| text.to_str().ok()?.parse::<usize>().ok());
    let account = Account {
        method: parts.uri.path().to_owned(),
        headers: parts.headers.iter().map(|(name, value)| (name.to_string(), lossy(value))).collect(),
        authority: host(parts),
        identity: identity.clone(),
        messages: message::frames(body).map(message::text_of).collect(),
        server_name: tls.map(|tls| tls.server_name.clone()),
    };
    let bytes = number("x-echo-bytes").unwrap_or(0).min(LONGEST_MESSAGE);
    let message = message::frame(&message::filled(account.encode(), bytes));
    let messages = number("x-echo-messages").unwrap_or(1).min(MOST_MESSAGES);
    let code = number("x-echo-set-code").unwrap_or(0);
    let mut trailers = HeaderMap::new();
    trailers.insert("grpc-status", HeaderValue::from(code));
    for (name, value) in asked_headers(&parts.headers, "x-echo-set-trailer") {
        trailers.append(name, value);
    }
    let of_head = asked_headers(&parts.headers, "x-echo-set-header");
    if number("x-echo-trailers-only") == Some(1) {
        let mut response = head(Body::default());
        response.headers_mut().extend(of_head);
        response.headers_mut().extend(trailers);
        return response;
    }
    let frames = std::iter::repeat_n(message, messages).map(Frame::data).chain([Frame::trailers(trailers)]);
    let mut response = head(StreamBody::new(stream::iter(frames.map(Ok::<Frame<Bytes>, Infallible>))).boxed_unsync());
    for (name, value) in of_head {
        response.headers_mut().append(name, value);
    }
    response
}

/// The answer for a method that is not served.
pub(crate) fn unimplemented() -> Response<Body> {
    let mut response = head(Body::default());
    response.headers_mut().insert(HeaderName::from_static("grpc-status"), HeaderValue::from(UNIMPLEMENTED));
    response
}

fn head(body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
    response
}
