//! The shares of backends that nobody stands behind, or that have none.

use gateproof_proxy::config::{BackendTarget, Config, PathMatch, Protocol, Route, TcpBackend, TcpListener, TcpTarget};

use super::Bug;
use crate::faults::{
    Fault, Seam,
    tools::{rules, serve},
};

/// The TCP listeners of the configuration.
fn streams(config: &mut Config) -> impl Iterator<Item = &mut TcpListener> {
    config.listeners.iter_mut().filter_map(|lane| match &mut lane.protocol {
        Protocol::Tcp(tcp) => Some(tcp),
        _ => None,
    })
}

fn is_unresolved(backend: &TcpBackend) -> bool {
    matches!(backend.target, TcpTarget::Refuse { .. })
}

fn is_empty(backend: &TcpBackend) -> bool {
    matches!(&backend.target, TcpTarget::Endpoints(endpoints) if endpoints.is_empty())
}

/// Takes such backends of TCP listeners out where there are others.
fn leave_out(config: &mut Config, is_such: fn(&TcpBackend) -> bool) {
    for tcp in streams(config).filter(|tcp| !tcp.backends.iter().all(is_such)) {
        tcp.backends.retain(|backend| !is_such(backend));
    }
}

/// Takes the backends of HTTP and calls that have no endpoints out where there are others.
fn leave_idle_out(config: &mut Config) {
    let is_idle = |target: &BackendTarget| match target {
        BackendTarget::Fail { reason, .. } => reason.ends_with("has no ready endpoints"),
        others => others.endpoints().is_empty(),
    };
    for rule in rules(config).filter(|rule| !rule.backends.iter().all(|to| is_idle(&to.target))) {
        rule.backends.retain(|to| !is_idle(&to.target));
    }
}

fn is_for_calls(rule: &Route) -> bool {
    rule.matches.iter().any(|one| matches!(one.path, PathMatch::Rpc { .. }))
}

pub(super) const BUGS: &[Bug] = &[
    Bug {
        fault: Fault {
            name: "gives-shares-of-missing-tcp-backends-away",
            summary: "Takes backends of a TCPRoute that do not resolve out of a rule that has others.",
            clauses: &["blind:TCPRouteInvalidBackendRefNonexistent.1"],
            seam: Seam::Config(|| serve(|_, config| leave_out(config, is_unresolved))),
        },
        reported: &[
            "projectcontour/contour#4125",
            "lexfrei/cloudflare-tunnel-gateway-controller#335",
            "agentgateway/agentgateway#1339",
        ],
    },
    Bug {
        fault: Fault {
            name: "gives-shares-of-idle-tcp-backends-away",
            summary: "Takes backends of a TCPRoute that have no endpoints out of a rule that has others.",
            clauses: &["blind:TCPRouteInvalidBackendRefNonexistent.1"],
            seam: Seam::Config(|| serve(|_, config| leave_out(config, is_empty))),
        },
        reported: &["projectcontour/contour#4125", "lexfrei/cloudflare-tunnel-gateway-controller#335"],
    },
    Bug {
        fault: Fault {
            name: "gives-shares-of-idle-backends-away",
            summary: "Takes a Service without ready endpoints out of a rule that has other backends.",
            clauses: &["blind:HTTPRouteInvalidNonExistentBackendRef.2"],
            seam: Seam::Config(|| serve(|_, config| leave_idle_out(config))),
        },
        reported: &[
            "envoyproxy/gateway#7938",
            "lexfrei/cloudflare-tunnel-gateway-controller#356",
            "envoyproxy/gateway#8031",
            "envoyproxy/gateway#9075",
        ],
    },
    Bug {
        fault: Fault {
            name: "forwards-without-weight-over-tcp",
            summary: "Forwards the connections of a TCPRoute whose backends all have weight 0.",
            clauses: &["blind:TCPRouteWeightedRouting.1"],
            seam: Seam::Config(|| {
                serve(|_, config| {
                    for tcp in streams(config).filter(|tcp| tcp.backends.iter().all(|to| to.weight == 0)) {
                        tcp.backends.iter_mut().for_each(|to| to.weight = 1);
                    }
                })
            }),
        },
        reported: &["kgateway-dev/kgateway#13833"],
    },
    Bug {
        fault: Fault {
            name: "calls-without-weight",
            summary: "Calls backends of weight 0 when there are no others.",
            clauses: &["blind:HTTPRouteNoBackendRefs.2"],
            seam: Seam::Config(|| {
                serve(|_, config| {
                    let weighs_nothing = |rule: &&mut Route| rule.backends.iter().all(|to| to.weight == 0);
                    for rule in rules(config).filter(|rule| is_for_calls(rule)).filter(weighs_nothing) {
                        rule.backends.iter_mut().for_each(|to| to.weight = 1);
                    }
                })
            }),
        },
        reported: &["kgateway-dev/kgateway#13833"],
    },
];
