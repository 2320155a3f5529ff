//! What the implementation does in the data path beside what the proxy's configuration says.

use gateproof_proxy::Exchange;
use gateproof_proxy::exchange::{MatchOutcome, RequestHead};
use gateproof_proxy::routing::Routing;

/// Whoever asks over TLS for another host than the one of the handshake has come to the wrong place (421), whether that host is served or
/// not.
#[derive(Clone, Copy, Debug, Default)]
pub struct Names;

impl Exchange for Names {
    fn on_route(&self, request: &RequestHead, _routing: &Routing<'_>, found: MatchOutcome) -> MatchOutcome {
        let is_elsewhere = request.scheme == "https" && request.server_name.as_deref() != Some(&request.host);
        if is_elsewhere { MatchOutcome::Misdirected } else { found }
    }
}
