//! Filters of which one gets in the way of another, or of what the data plane writes by itself.

use std::sync::Arc;

use gateproof_proxy::{
    body::Body,
    config::{Config, Filter},
    exchange::{Exchange, RequestHead},
};
use http::{HeaderValue, Request, request::Parts};

use super::Bug;
use crate::faults::{
    Fault, Seam,
    exchange::Forwards,
    tools::{rules, serve},
};

const PROTO: &str = "x-forwarded-proto";

/// Writes its own line behind the scheme that a filter has set.
fn add_own_scheme(request: &RequestHead, parts: &mut Parts) {
    if parts.headers.get(PROTO).is_some_and(|set| set != request.scheme) {
        parts.headers.append(PROTO, HeaderValue::from_static(request.scheme));
    }
}

/// Takes filters off the rules that redirect.
fn leave_redirects_bare(config: &mut Config, is_gone: fn(&Filter) -> bool) {
    let redirects = |filter: &Filter| matches!(filter, Filter::RequestRedirect(_));
    for rule in rules(config).filter(|rule| rule.filters.iter().any(redirects)) {
        rule.filters.retain(|filter| !is_gone(filter));
    }
}

/// Copies requests with the path that they came with.
struct CopiesPathsAsTheyCame;

impl Exchange for CopiesPathsAsTheyCame {
    fn on_mirror(&self, request: &RequestHead, mut copy: Request<Body>) -> Option<Request<Body>> {
        let query = request.query.as_ref().map(|query| format!("?{query}")).unwrap_or_default();
        if let Ok(target) = format!("{}{query}", request.path).parse() {
            *copy.uri_mut() = target;
        }
        Some(copy)
    }
}

pub(super) const BUGS: &[Bug] = &[
    Bug {
        fault: Fault {
            name: "adds-its-own-to-headers-that-are-set",
            summary: "Writes the scheme of a request behind the X-Forwarded-Proto that a filter sets.",
            clauses: &["OWN-18"],
            seam: Seam::Exchange(|| Arc::new(Forwards(add_own_scheme))),
        },
        reported: &["nginx/nginx-gateway-fabric#3192"],
    },
    Bug {
        fault: Fault {
            name: "mirrors-nothing-that-it-redirects",
            summary: "Leaves the mirrors of a rule that redirects out, and says nothing of it.",
            clauses: &["OWN-17"],
            seam: Seam::Config(|| {
                serve(|_, config| leave_redirects_bare(config, |one| matches!(one, Filter::RequestMirror(_))))
            }),
        },
        reported: &["envoyproxy/gateway#7473", "envoyproxy/gateway#7474"],
    },
    Bug {
        fault: Fault {
            name: "sets-no-headers-on-redirects",
            summary: "Leaves the headers of a redirect as they are where its rule sets some.",
            clauses: &["OWN-17"],
            seam: Seam::Config(|| {
                serve(|_, config| leave_redirects_bare(config, |one| matches!(one, Filter::ResponseHeaderModifier(_))))
            }),
        },
        reported: &["kgateway-dev/kgateway#1912", "envoyproxy/envoy#2315"],
    },
    Bug {
        fault: Fault {
            name: "copies-paths-as-they-came",
            summary: "Copies a request whose path is rewritten to the mirror with the path that it came with.",
            clauses: &["OWN-17"],
            seam: Seam::Exchange(|| Arc::new(CopiesPathsAsTheyCame)),
        },
        reported: &["apache/apisix#8167"],
    },
];
