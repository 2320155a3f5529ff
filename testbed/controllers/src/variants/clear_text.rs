//! Ports of HTTPS that tell clients in clear text to come within TLS.

use std::sync::Arc;

use async_trait::async_trait;
use gateproof_proxy::{
    body::{self, Body},
    exchange::{Exchange, RequestHead},
    routing::{MatchOutcome, Routing},
};
use http::{HeaderValue, Response, StatusCode, header::LOCATION};

use super::{Place, Variant};

/// Whether a request came to a port of HTTPS without a handshake. None of these has an empty name.
fn is_clear(request: &RequestHead) -> bool {
    request.server_name.as_deref() == Some("")
}

struct Redirects;

#[async_trait]
impl Exchange for Redirects {
    fn takes_clear_text(&self, is_http: bool) -> bool {
        is_http
    }

    fn on_route(&self, request: &RequestHead, _: &Routing<'_>, found: MatchOutcome) -> MatchOutcome {
        if is_clear(request) { MatchOutcome::Misdirected } else { found }
    }

    async fn on_response(&self, request: &RequestHead, response: Response<Body>) -> Option<Response<Body>> {
        let location = format!("https://{}{}", request.authority, request.path);
        let Some(location) = HeaderValue::from_str(&location).ok().filter(|_| is_clear(request)) else {
            return Some(response);
        };
        let mut response = Response::new(body::empty());
        *response.status_mut() = StatusCode::PERMANENT_REDIRECT;
        response.headers_mut().insert(LOCATION, location);
        Some(response)
    }
}

pub(super) const VARIANTS: &[Variant] = &[Variant {
    name: "redirects-clear-text-at-https",
    summary: "Redirects requests in clear text at a port of HTTPS to the same within TLS.",
    source: "HTTPSProtocolType: sessions over TLS are accepted there; nothing says how others are turned away.",
    place: Place::Exchange(|| Arc::new(Redirects)),
}];
