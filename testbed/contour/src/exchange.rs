//! What the implementation does in the data path beside what the proxy's configuration says.

use std::time::Instant;

use async_trait::async_trait;
use gateproof_proxy::Exchange;
use gateproof_proxy::body::Body;
use gateproof_proxy::compiled::CompiledRoute;
use gateproof_proxy::exchange::{BackendChoice, MatchOutcome, RequestHead, Unreached};
use gateproof_proxy::routing::Routing;
use http::{Response, StatusCode};

use crate::gate::Gate;

/// The habits of Envoy: whoever asks over TLS for another host than the one of the handshake has come to the wrong place (421), whether that
/// host is served or not, a backend that does not answer is unavailable (503), and some requests are turned away before one is asked.
#[derive(Clone, Debug, Default)]
pub struct Envoy {
    /// What is turned away.
    pub gate: Gate,
}

#[async_trait]
impl Exchange for Envoy {
    fn on_route(&self, request: &RequestHead, _routing: &Routing<'_>, found: MatchOutcome) -> MatchOutcome {
        let is_elsewhere = request.scheme == "https" && request.server_name.as_deref() != Some(&request.host);
        if is_elsewhere { MatchOutcome::Misdirected } else { found }
    }

    fn on_backend(&self, request: &RequestHead, route: &CompiledRoute, drawn: BackendChoice) -> BackendChoice {
        let from = request.connection.peer.ip();
        match self.gate.refuses(&request.host, route.rule.id.rule, from, Instant::now()) {
            Some(status) => BackendChoice::Fail { backend: None, status, reason: "it is turned away".to_owned() },
            None => drawn,
        }
    }

    async fn on_response(&self, _request: &RequestHead, mut response: Response<Body>) -> Option<Response<Body>> {
        if response.extensions().get::<Unreached>().is_some() {
            *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
        }
        Some(response)
    }
}
