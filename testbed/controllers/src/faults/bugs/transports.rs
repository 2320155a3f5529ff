//! What holds whatever is spoken, and is forgotten where it is TLS, HTTP/2 or calls.

use gateproof_proxy::config::{
    BackendTarget, Config, Filter, Listener, PathMatch, Protocol, RequestMatch, Route, Timeouts,
};

use super::{Bug, bystanders::Chokes};
use crate::faults::{
    Fault, Seam,
    tools::{hosts, rules, serve},
};

fn is_secure(lane: &Listener) -> bool {
    matches!(lane.protocol, Protocol::Https(_))
}

fn has_cors(rule: &Route) -> bool {
    rule.filters.iter().any(|filter| matches!(filter, Filter::Cors(_)))
}

fn speaks_h2c(rule: &Route) -> bool {
    rule.backends.iter().any(|backend| matches!(backend.target, BackendTarget::H2cEndpoints(_)))
}

/// Whether a match is for calls with a header that is written with a capital.
fn names_in_capitals(one: &RequestMatch) -> bool {
    let has_capital = |name: &str| name.contains(|of: char| of.is_ascii_uppercase());
    matches!(one.path, PathMatch::Rpc { .. }) && one.headers.iter().any(|header| has_capital(&header.name))
}

/// Whether a rule is for calls and has no backend.
fn calls_nobody(rule: &Route) -> bool {
    let is_nobody =
        |target: &BackendTarget| matches!(target, BackendTarget::Fail { reason, .. } if reason == "it has no backend");
    let is_for_calls = rule.matches.iter().any(|one| matches!(one.path, PathMatch::Rpc { .. }));
    is_for_calls && rule.backends.iter().any(|backend| is_nobody(&backend.target))
}

/// Takes the matches of calls out that no call can meet whose names are all in lower case, with what had no others.
fn compare_names_as_written(config: &mut Config) {
    for host in hosts(config) {
        host.routes.retain(|rule| rule.matches.is_empty() || !rule.matches.iter().all(names_in_capitals));
        host.routes.iter_mut().for_each(|rule| rule.matches.retain(|one| !names_in_capitals(one)));
    }
}

pub(super) const BUGS: &[Bug] = &[
    Bug {
        fault: Fault {
            name: "chokes-on-calls-without-backends",
            summary: "Takes no change up on a port where a GRPCRoute has a rule without backends.",
            clauses: &["blind:HTTPRouteObservedGenerationBump.1"],
            seam: Seam::Config(|| Chokes::on(calls_nobody)),
        },
        reported: &["envoyproxy/gateway#2733"],
    },
    Bug {
        fault: Fault {
            name: "chokes-on-cors-over-tls",
            summary: "Takes no change up on a port with TLS where a rule has a CORS filter.",
            clauses: &["upstream:HTTPRouteCORS"],
            seam: Seam::Config(|| Chokes::on_lanes(is_secure, has_cors)),
        },
        reported: &["nginx/nginx-gateway-fabric#5070"],
    },
    Bug {
        fault: Fault {
            name: "has-no-timeouts-for-h2c",
            summary: "Lets a backend that it speaks HTTP/2 with prior knowledge to take as long as it likes.",
            clauses: &["upstream:HTTPRouteTimeoutRequest", "upstream:HTTPRouteTimeoutBackendRequest"],
            seam: Seam::Config(|| {
                serve(|_, config| {
                    rules(config).filter(|rule| speaks_h2c(rule)).for_each(|rule| rule.timeouts = Timeouts::default());
                })
            }),
        },
        reported: &["lexfrei/cloudflare-tunnel-gateway-controller#283"],
    },
    Bug {
        fault: Fault {
            name: "compares-names-of-call-headers-as-written",
            summary: "Finds no header of a call whose name the match of a GRPCRoute writes with a capital.",
            clauses: &["upstream:GRPCRouteHeaderMatching"],
            seam: Seam::Config(|| serve(|_, config| compare_names_as_written(config))),
        },
        reported: &["grpc/grpc-go#9352"],
    },
];
