//! Ports of TLS that take what is no handshake.

use std::sync::Arc;

use gateproof_proxy::{
    exchange::{Exchange, RequestHead},
    routing::{MatchOutcome, Routing},
};

use super::Bug;
use crate::faults::{Fault, Seam};

/// Serves what comes without a handshake: requests, or else streams.
struct TakesClearText {
    is_http: bool,
}

impl Exchange for TakesClearText {
    fn takes_clear_text(&self, is_http: bool) -> bool {
        self.is_http == is_http
    }

    fn on_route(&self, request: &RequestHead, routing: &Routing<'_>, found: MatchOutcome) -> MatchOutcome {
        match (&found, routing.virtual_host(&request.host)) {
            (MatchOutcome::Misdirected, Some(index)) if request.server_name.as_deref() == Some("") => {
                routing.route_in(index, request)
            }
            _ => found,
        }
    }
}

pub(super) const BUGS: &[Bug] = &[
    Bug {
        fault: Fault {
            name: "serves-clear-text-at-https",
            summary: "Serves requests in clear text at a port of HTTPS.",
            clauses: &["OWN-153"],
            seam: Seam::Exchange(|| Arc::new(TakesClearText { is_http: true })),
        },
        reported: &["cilium/cilium#35045"],
    },
    Bug {
        fault: Fault {
            name: "forwards-clear-text-at-tls",
            summary: "Forwards what comes to a TLS listener without a handshake.",
            clauses: &["OWN-153"],
            seam: Seam::Exchange(|| Arc::new(TakesClearText { is_http: false })),
        },
        reported: &["kgateway-dev/kgateway#11823"],
    },
];
