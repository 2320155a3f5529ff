//! What a data path keeps for itself of what routes ask for.

use std::sync::Arc;

use gateproof_proxy::{
    compiled::CompiledRoute,
    exchange::{BackendChoice, Exchange, RequestHead},
};
use http::StatusCode;

use super::Bug;
use crate::faults::{Fault, Seam};

/// Says at one path that all is well with itself, whatever a route has there.
struct TellsOfItself;

impl Exchange for TellsOfItself {
    fn on_backend(&self, request: &RequestHead, _: &CompiledRoute, drawn: BackendChoice) -> BackendChoice {
        if request.path != "/healthz" {
            return drawn;
        }
        BackendChoice::Fail { backend: None, status: StatusCode::OK.as_u16(), reason: "ok".to_owned() }
    }
}

pub(super) const BUGS: &[Bug] = &[Bug {
    fault: Fault {
        name: "keeps-health-checks-to-itself",
        summary: "Answers 200 to what is asked of the path /healthz, and forwards nothing of it.",
        clauses: &["upstream:HTTPRouteMatching"],
        seam: Seam::Exchange(|| Arc::new(TellsOfItself)),
    },
    reported: &["kubernetes/ingress-nginx#4892"],
}];
