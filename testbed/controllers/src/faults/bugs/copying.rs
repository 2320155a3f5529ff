//! What a copy that is under way keeps from being served.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use gateproof_proxy::{
    exchange::{Exchange, MatchOutcome, RequestHead},
    routing::Routing,
};
use http::{Request, Version, request::Parts};
use tokio::sync::watch;

use super::Bug;
use crate::faults::{Fault, Seam, exchange::Body};

/// The copies of what came over a connection.
#[derive(Default)]
struct Copies {
    out: usize,
    through: usize,
    /// How many were out when the request came that is served now.
    before: usize,
}

/// Serves a request over HTTP/1.1 once the copies are through of those before it on its connection.
struct HoldsBehindMirrors(Mutex<HashMap<u64, watch::Sender<Copies>>>);

impl HoldsBehindMirrors {
    fn count(&self, request: &RequestHead, change: impl FnOnce(&mut Copies)) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.entry(request.connection.id).or_default().send_modify(change);
    }
}

#[async_trait]
impl Exchange for HoldsBehindMirrors {
    fn on_route(&self, request: &RequestHead, _: &Routing<'_>, found: MatchOutcome) -> MatchOutcome {
        self.count(request, |copies| copies.before = copies.out);
        found
    }

    fn on_mirror(&self, request: &RequestHead, copy: Request<Body>) -> Option<Request<Body>> {
        self.count(request, |copies| copies.out += 1);
        Some(copy)
    }

    fn on_mirrored(&self, request: &RequestHead) {
        self.count(request, |copies| copies.through += 1);
    }

    async fn on_forward(&self, request: &RequestHead, parts: Parts) -> Parts {
        let copies = {
            let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            known.get(&request.connection.id).map(watch::Sender::subscribe)
        };
        if let Some(mut copies) = copies.filter(|_| request.version == Version::HTTP_11)
            && copies.wait_for(|copies| copies.through >= copies.before).await.is_err()
        {
            tracing::debug!("nothing is counted any more");
        }
        parts
    }
}

pub(super) const BUGS: &[Bug] = &[Bug {
    fault: Fault {
        name: "holds-connections-for-mirrors",
        summary: "Serves a request over HTTP/1.1 once the mirrors are through of those before it on its connection.",
        clauses: &["blind:HTTPRouteRequestMirror.7"],
        seam: Seam::Exchange(|| Arc::new(HoldsBehindMirrors(Mutex::default()))),
    },
    reported: &["apache/apisix#6536", "nginx/nginx-gateway-fabric#533"],
}];
