//! Pods that come and go behind connections and calls.

use std::collections::BTreeMap;

use gateproof_proxy::config::{Backend, Config, PathMatch, Protocol, Route, RouteId};

use super::Bug;
use crate::faults::{
    Fault, Seam,
    endpoints::{keep_lanes, keeps_first},
    tools::rules,
};

fn is_for_calls(rule: &&mut Route) -> bool {
    rule.matches.iter().any(|one| matches!(one.path, PathMatch::Rpc { .. }))
}

/// Puts the backends of rules for calls into the same rules.
fn keep_calls(mut before: Config, config: &mut Config) {
    let known = rules(&mut before).filter(is_for_calls).map(|rule| (rule.id.clone(), rule.backends.clone()));
    let known: BTreeMap<RouteId, Vec<Backend>> = known.collect();
    for rule in rules(config).filter(is_for_calls) {
        if let Some(backends) = known.get(&rule.id) {
            rule.backends.clone_from(backends);
        }
    }
}

pub(super) const BUGS: &[Bug] = &[
    Bug {
        fault: Fault {
            name: "keeps-first-endpoints-of-tcproutes",
            summary: "Goes on sending connections for a TCPRoute to the endpoints that its Service had at first.",
            clauses: &["blind:HTTPRouteServiceTypes.1"],
            seam: Seam::Config(|| {
                keeps_first(|before, config| {
                    keep_lanes(before, config, |old, now| {
                        if let (Protocol::Tcp(old), Protocol::Tcp(now)) = (old, now) {
                            *now = old;
                        }
                    });
                })
            }),
        },
        reported: &["envoyproxy/gateway#4843", "traefik/traefik#7167"],
    },
    Bug {
        fault: Fault {
            name: "keeps-first-endpoints-of-calls",
            summary: "Goes on sending calls for a GRPCRoute to the endpoints that its Service had at first.",
            clauses: &["blind:HTTPRouteServiceTypes.1"],
            seam: Seam::Config(|| keeps_first(keep_calls)),
        },
        reported: &["istio/istio#49391"],
    },
];
