//! What copies keep from being served, and what is made of them where a rule tries again.

use std::sync::Arc;

use async_trait::async_trait;
use gateproof_proxy::{
    config::{Config, Filter, Route},
    exchange::{Exchange, MatchOutcome, RequestHead},
    routing::Routing,
};
use http::{Request, Version, request::Parts};

use super::Bug;
use crate::faults::{
    Fault, Seam,
    copies::Copies,
    exchange::Body,
    tools::{rules, serve},
};

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

/// The rules that mirror and try again.
fn with_both(config: &mut Config) -> impl Iterator<Item = &mut Route> {
    let mirrors = |filter: &Filter| matches!(filter, Filter::RequestMirror(_));
    rules(config).filter(move |rule| rule.retry.is_some() && rule.filters.iter().any(mirrors))
}

pub(super) const BUGS: &[Bug] = &[
    Bug {
        fault: Fault {
            name: "holds-connections-for-mirrors",
            summary: "Serves a request over HTTP/1.1 once the mirrors are through of those before it on its connection.",
            clauses: &["blind:HTTPRouteRequestMirror.7"],
            seam: Seam::Exchange(|| Arc::<HoldsBehindMirrors>::default()),
        },
        reported: &["apache/apisix#6536"],
    },
    Bug {
        fault: Fault {
            name: "tries-again-for-mirrors",
            summary: "Tries again, whatever the backend answers, where a rule with retries has a mirror.",
            clauses: &["blind:HTTPRouteRequestMirror.5"],
            seam: Seam::Config(|| {
                serve(|_, config| {
                    for retry in with_both(config).filter_map(|rule| rule.retry.as_mut()) {
                        retry.codes = (200..600).collect();
                    }
                })
            }),
        },
        reported: &["traefik/traefik#12988"],
    },
    Bug {
        fault: Fault {
            name: "never-retries-beside-mirrors",
            summary: "Tries nothing again where a rule with retries has a mirror.",
            clauses: &["upstream:HTTPRouteRetry"],
            seam: Seam::Config(|| serve(|_, config| with_both(config).for_each(|rule| rule.retry = None))),
        },
        reported: &["traefik/traefik#12988"],
    },
];
