//! Which listeners take a route, and what entries say of it.

use gateproof_proxy::config::{Hostname::Wildcard, HttpListener, Protocol, Route};
use serde_json::json;

use super::Bug;
use crate::{
    faults::{
        Fault, Seam,
        tools::{copy_counts, each, say, serve, serve_from, serve_past},
    },
    model::ParentRef,
    runtime::seams::Seen,
    snapshot::{Kind, Snapshot},
    status::{DesiredStatus, StatusUpdate},
};

/// Lets every namespace in at all listeners of a Gateway if one of them does.
fn open_all_doors(snapshot: &mut Snapshot) {
    snapshot.edit(Kind::Gateway, |gateway| {
        let is_open = |listener: &serde_json::Value| listener["allowedRoutes"]["namespaces"]["from"] == "All";
        if each(gateway, "/spec/listeners").any(|listener| is_open(listener)) {
            for listener in each(gateway, "/spec/listeners") {
                listener["allowedRoutes"]["namespaces"] = json!({"from": "All"});
            }
        }
    });
}

/// Gives a route one entry for all the ports of a Gateway that it names: the last.
fn merge_ports(statuses: &mut [StatusUpdate]) {
    for update in statuses {
        let DesiredStatus::Route { parents } = &mut update.status else { continue };
        let all: Vec<ParentRef> = parents.iter().map(|parent| parent.parent_ref.clone()).collect();
        let mut at = 0;
        parents.retain(|parent| {
            at += 1;
            let own = &parent.parent_ref;
            let differs_in_port = |other: &ParentRef| {
                other.port.is_some() && other.port != own.port && ParentRef { port: own.port, ..other.clone() } == *own
            };
            own.port.is_none() || !all.iter().skip(at).any(differs_in_port)
        });
    }
}

/// Serves under a wildcard what a listener with a wildcard above it has.
fn share_wildcards(http: &mut HttpListener) {
    let known = http.virtual_hosts.clone();
    for host in &mut http.virtual_hosts {
        let Wildcard(narrow) = &host.hostname else { continue };
        let is_above = |of: &Wildcarded<'_>| narrow.strip_suffix(of.0).is_some_and(|rest| rest.ends_with('.'));
        let wild = known.iter().filter_map(|of| match &of.hostname {
            Wildcard(suffix) => Some((suffix.as_str(), of.routes.as_slice())),
            _ => None,
        });
        let more: Vec<Route> = wild.filter(is_above).flat_map(|(_, routes)| routes.to_vec()).collect();
        host.routes.extend(more);
    }
}

/// Gives a route no entry for the parents behind one that is not there.
fn stop_at_missing_parents(seen: Seen<'_>, statuses: &mut [StatusUpdate]) {
    for update in statuses.iter_mut().filter(|update| update.kind == Kind::HttpRoute) {
        let (key, DesiredStatus::Route { parents }) = (&update.key, &mut update.status) else { continue };
        let Some((_, spec)) = seen.snapshot.http_route(&key.namespace, &key.name) else { continue };
        let is_there = |of: &&ParentRef| {
            let namespace = of.namespace.as_deref().unwrap_or(&key.namespace);
            seen.snapshot.get(Kind::Gateway, namespace, &of.name).is_some()
        };
        let reached: Vec<&ParentRef> = spec.parent_refs.iter().take_while(is_there).collect();
        parents.retain(|parent| reached.contains(&&parent.parent_ref));
    }
}

/// What stands behind the star of a listener, and its rules.
type Wildcarded<'a> = (&'a str, &'a [Route]);

pub(super) const BUGS: &[Bug] = &[
    Bug {
        fault: Fault {
            name: "serves-where-another-listener-lets-in",
            summary: "Serves a route on all listeners of a Gateway if one of them lets all namespaces in.",
            clauses: &["blind:HTTPRouteCrossNamespace.1"],
            seam: Seam::Config(|| serve_from(open_all_doors)),
        },
        reported: &["cilium/cilium#46359"],
    },
    Bug {
        fault: Fault {
            name: "counts-where-another-listener-lets-in",
            summary: "Counts a route on all listeners of a Gateway if one of them lets all namespaces in.",
            clauses: &["blind:HTTPRouteInvalidCrossNamespaceParentRef.2"],
            seam: Seam::Statuses(|| {
                say(|seen, statuses| copy_counts(seen.otherwise(open_all_doors).statuses, statuses))
            }),
        },
        reported: &["cilium/cilium#42159"],
    },
    Bug {
        fault: Fault {
            name: "serves-by-the-first-allowed-routes",
            summary: "Lets the routes in that a listener allowed at first, while status follows its newest spec.",
            clauses: &["blind:HTTPRouteInvalidCrossNamespaceParentRef.1"],
            seam: Seam::Config(|| {
                serve_past(|memory, snapshot| memory.keep_first_of_listeners(snapshot, "allowedRoutes"))
            }),
        },
        reported: &["apache/apisix-ingress-controller#2858"],
    },
    Bug {
        fault: Fault {
            name: "merges-entries-of-ports",
            summary: "Publishes one entry of a route for all the ports of a Gateway that it names.",
            clauses: &["blind:Generic.8"],
            seam: Seam::Statuses(|| say(|_, statuses| merge_ports(statuses))),
        },
        reported: &["envoyproxy/gateway#10004"],
    },
    Bug {
        fault: Fault {
            name: "shares-routes-of-nested-wildcards",
            summary: "Lets a listener with a wildcard serve the routes of one whose wildcard covers its own.",
            clauses: &["upstream:GatewayHTTPListenerIsolation"],
            seam: Seam::Config(|| {
                serve(|_, config| {
                    for lane in &mut config.listeners {
                        if let Protocol::Http(http) = &mut lane.protocol {
                            share_wildcards(http);
                        }
                    }
                })
            }),
        },
        reported: &["envoyproxy/gateway#9895"],
    },
    Bug {
        fault: Fault {
            name: "stops-at-parents-that-are-not-there",
            summary: "Publishes no entry of an HTTPRoute for the parents behind one that does not exist.",
            clauses: &["IMPL-35"],
            seam: Seam::Statuses(|| say(|seen, statuses| stop_at_missing_parents(seen, statuses))),
        },
        reported: &["vmware/load-balancer-and-ingress-services-for-kubernetes#1434"],
    },
];
