//! What the implementation does in the data path beside what the proxy's configuration says.

use async_trait::async_trait;
use gateproof_proxy::Exchange;
use gateproof_proxy::body::Body;
use gateproof_proxy::exchange::{MatchOutcome, RequestHead, Unreached};
use gateproof_proxy::routing::Routing;
use http::{Response, StatusCode};

/// The habits of Envoy: whoever asks over TLS for another host than the one of the handshake has come to the wrong place (421), whether that
/// host is served or not, and a backend that does not answer is unavailable (503).
#[derive(Clone, Copy, Debug, Default)]
pub struct Envoy;

#[async_trait]
impl Exchange for Envoy {
    fn on_route(&self, request: &RequestHead, _routing: &Routing<'_>, found: MatchOutcome) -> MatchOutcome {
        let is_elsewhere = request.scheme == "https" && request.server_name.as_deref() != Some(&request.host);
        if is_elsewhere { MatchOutcome::Misdirected } else { found }
    }

    async fn on_response(&self, _request: &RequestHead, mut response: Response<Body>) -> Option<Response<Body>> {
        if response.extensions().get::<Unreached>().is_some() {
            *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
        }
        Some(response)
    }
}
