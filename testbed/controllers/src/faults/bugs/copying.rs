//! What a copy that is under way keeps from being served.

use std::sync::Arc;

use async_trait::async_trait;
use gateproof_proxy::{
    exchange::{Exchange, MatchOutcome, RequestHead},
    routing::Routing,
};
use http::{Request, Version, request::Parts};

use super::Bug;
use crate::faults::{Fault, Seam, copies::Copies, exchange::Body};

/// Serves a request over HTTP/1.1 once the copies are through of those before it on its connection.
#[derive(Default)]
struct HoldsBehindMirrors(Copies);

#[async_trait]
impl Exchange for HoldsBehindMirrors {
    fn on_route(&self, request: &RequestHead, _: &Routing<'_>, found: MatchOutcome) -> MatchOutcome {
        self.0.count(request, |copies| copies.before = copies.out);
        found
    }

    fn on_mirror(&self, request: &RequestHead, copy: Request<Body>) -> Option<Request<Body>> {
        self.0.count(request, |copies| copies.out += 1);
        Some(copy)
    }

    fn on_mirrored(&self, request: &RequestHead) {
        self.0.count(request, |copies| copies.through += 1);
    }

    async fn on_forward(&self, request: &RequestHead, parts: Parts) -> Parts {
        if request.version == Version::HTTP_11 {
            self.0.wait(request, |copies| copies.through >= copies.before).await;
        }
        parts
    }
}

pub(super) const BUGS: &[Bug] = &[Bug {
    fault: Fault {
        name: "holds-connections-for-mirrors",
        summary: "Serves a request over HTTP/1.1 once the mirrors are through of those before it on its connection.",
        clauses: &["blind:HTTPRouteRequestMirror.7"],
        seam: Seam::Exchange(|| Arc::<HoldsBehindMirrors>::default()),
    },
    reported: &["apache/apisix#6536"],
}];
