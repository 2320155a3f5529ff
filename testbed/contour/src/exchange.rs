//! What the implementation does in the data path beside what the proxy's configuration says.

use std::time::Instant;

use async_trait::async_trait;
use gateproof_proxy::Exchange;
use gateproof_proxy::body::Body;
use gateproof_proxy::compiled::CompiledRoute;
use gateproof_proxy::config::Hostname;
use gateproof_proxy::exchange::{BackendChoice, MatchOutcome, RequestHead, Unreached};
use gateproof_proxy::routing::Routing;
use http::header::UPGRADE;
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
    fn on_route(&self, request: &RequestHead, routing: &Routing<'_>, found: MatchOutcome) -> MatchOutcome {
        // Of a handshake whose name nobody has, nobody knows for which host it was.
        let taken = routing.virtual_host(request.server_name.as_deref().unwrap_or_default());
        let fallback = taken.filter(|at| routing.hosts.get(*at).is_some_and(|host| host.hostname == Hostname::Any));
        if let ("https", Some(fallback)) = (request.scheme, fallback) {
            return routing.route_in(fallback, request);
        }
        let is_elsewhere = request.scheme == "https" && request.server_name.as_deref() != Some(&request.host);
        // A wildcard stands for one label.
        let hostname =
            routing.virtual_host(&request.host).and_then(|at| routing.hosts.get(at)).map(|host| &host.hostname);
        let is_deeper = matches!(hostname, Some(Hostname::Wildcard(suffix))
            if request.host.matches('.').count() > suffix.matches('.').count() + 1);
        match found {
            _ if is_elsewhere => MatchOutcome::Misdirected,
            _ if is_deeper => MatchOutcome::NoRule,
            found => found,
        }
    }

    fn on_backend(&self, request: &RequestHead, route: &CompiledRoute, drawn: BackendChoice) -> BackendChoice {
        let from = (request.connection.peer.ip(), request.headers.contains_key(UPGRADE));
        match self.gate.refuses(&request.host, route.rule.id.rule, from, Instant::now()) {
            Some(status) => BackendChoice::Fail { backend: None, status, reason: "it is turned away".to_owned() },
            None => drawn,
        }
    }

    async fn on_response(&self, _request: &RequestHead, mut response: Response<Body>) -> Option<Response<Body>> {
        // What says something else than the proxy does is somebody else's answer by now.
        let is_own = response.status() == StatusCode::BAD_GATEWAY;
        if is_own && response.extensions().get::<Unreached>().is_some() {
            *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
        }
        Some(response)
    }
}
