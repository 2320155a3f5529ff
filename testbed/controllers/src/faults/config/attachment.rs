//! Which Gateways, listeners and routes are served, and for which hosts.

use std::collections::BTreeSet;

use gateproof_proxy::config::{Config, Hostname, Protocol, Route, VirtualHost};
use serde_json::Value;

use crate::{
    faults::{
        Fault, Seam,
        tools::{drop_at, drop_field, each, rules, serve, serve_from, serve_past, virtual_hosts},
    },
    model::ParentRef,
    runtime::seams::Seen,
    snapshot::{Kind, ObjectKey, Snapshot},
};

/// Lets parentRefs that match no listener match all.
fn widen_parents(snapshot: &mut Snapshot, fields: &[&str]) {
    let listeners: Vec<(String, String, Value)> = snapshot
        .all(Kind::Gateway)
        .map(|gateway| {
            (gateway.meta.namespace.clone(), gateway.meta.name.clone(), gateway.raw["spec"]["listeners"].clone())
        })
        .collect();
    snapshot.edit(Kind::HttpRoute, |route| {
        let own = route["metadata"]["namespace"].as_str().unwrap_or_default().to_owned();
        for parent in each(route, "/spec/parentRefs") {
            let namespace = parent["namespace"].as_str().unwrap_or(&own);
            let is_gateway =
                |(of, name, _): &&(String, String, Value)| of == namespace && parent["name"] == name.as_str();
            let Some((.., listeners)) = listeners.iter().find(is_gateway) else { continue };
            let matches = |listener: &Value| {
                let agrees = |field: &str, to: &str| parent[field].is_null() || parent[field] == listener[to];
                agrees("sectionName", "name") && agrees("port", "port")
            };
            if !listeners.as_array().is_some_and(|all| all.iter().any(matches)) {
                fields.iter().for_each(|field| drop_field(parent, field));
            }
        }
    });
}

fn modify_listeners(snapshot: &mut Snapshot, change: impl Fn(&mut Value)) {
    snapshot.edit(Kind::Gateway, |gateway| each(gateway, "/spec/listeners").for_each(&change));
}

/// Gives the room of a class to its newest Gateways.
fn serve_the_newest(seen: Seen<'_>, config: &mut Config) {
    let make_room = |snapshot: &mut Snapshot| {
        for (class, room) in &seen.settings.max_gateways {
            let mut all: Vec<_> =
                seen.snapshot.gateways().filter(|(_, spec)| spec.gateway_class_name == *class).collect();
            all.sort_by_key(|(object, _)| std::cmp::Reverse(object.meta.precedence()));
            for (object, _) in all.into_iter().skip(*room) {
                snapshot.remove(Kind::Gateway, &object.key());
            }
        }
    };
    *config = seen.otherwise(make_room).config;
}

/// Takes away the HTTPRoutes of Gateways that have a listener of a protocol with a domain.
fn drop_routes_beside_unknown_protocols(snapshot: &mut Snapshot) {
    let asking = snapshot.gateways().filter(|(_, spec)| spec.listeners.iter().any(|one| one.protocol.contains('/')));
    let asking: BTreeSet<ObjectKey> = asking.map(|(gateway, _)| gateway.key()).collect();
    let of_them = snapshot.http_routes().filter(|(route, spec)| {
        let parent =
            |of: &ParentRef| ObjectKey::new(of.namespace.as_deref().unwrap_or(&route.meta.namespace), of.name.as_str());
        spec.parent_refs.iter().any(|of| asking.contains(&parent(of)))
    });
    let of_them: BTreeSet<ObjectKey> = of_them.map(|(route, _)| route.key()).collect();
    snapshot.retain(Kind::HttpRoute, |route| !of_them.contains(&route.key()));
}

pub(in crate::faults) const FAULTS: &[Fault] = &[
    Fault {
        name: "serves-no-routes-beside-unknown-protocols",
        summary: "Accepts the routes of a Gateway with a listener of an unknown protocol, and serves none of them.",
        clauses: &["GEP1364-29", "blind:GatewayListenerUnsupportedProtocol.1"],
        seam: Seam::Config(|| serve_from(drop_routes_beside_unknown_protocols)),
    },
    Fault {
        name: "takes-room-from-older-gateways",
        summary: "Stops serving an older Gateway when a newer one finds no room.",
        clauses: &["GEP1364-40"],
        seam: Seam::Config(|| serve(serve_the_newest)),
    },
    Fault {
        name: "serves-deleted-routes",
        summary: "Goes on serving an HTTPRoute after it is deleted.",
        clauses: &[
            "blind:Generic.14",
            "blind:Generic.7",
            "blind:HTTPRouteMultipleRoutesAttachmentSameHostnameIntersection.3",
        ],
        seam: Seam::Config(|| serve_past(|memory, snapshot| memory.keep_removed(snapshot, Kind::HttpRoute))),
    },
    Fault {
        name: "serves-old-specs",
        summary: "Serves the first spec of an HTTPRoute while status follows the newest.",
        clauses: &["blind:HTTPRouteObservedGenerationBump.1", "GEP1364-14", "blind:Generic.7"],
        seam: Seam::Config(|| serve_past(|memory, snapshot| memory.keep_first(snapshot, Kind::HttpRoute))),
    },
    Fault {
        name: "serves-old-listeners",
        summary: "Listens as the first spec of a Gateway says while status follows the newest.",
        clauses: &[
            "blind:GatewayModifyListeners.1",
            "blind:GatewayModifyListeners.2",
            "upstream:GatewayModifyListeners",
            "GEP1364-14",
            "IMPL-25",
            "blind:GatewayInvalidParametersRef.1",
        ],
        seam: Seam::Config(|| serve_past(|memory, snapshot| memory.keep_first(snapshot, Kind::Gateway))),
    },
    Fault {
        name: "serves-refused-namespaces",
        summary: "Serves a route from a namespace that the listener does not let in, while status refuses it.",
        clauses: &["blind:HTTPRouteCrossNamespace.1", "blind:HTTPRouteInvalidCrossNamespaceParentRef.1"],
        seam: Seam::Config(|| {
            serve_from(|snapshot| {
                modify_listeners(snapshot, |listener| {
                    listener["allowedRoutes"]["namespaces"] = serde_json::json!({"from": "All"});
                });
            })
        }),
    },
    Fault {
        name: "serves-refused-kinds",
        summary: "Serves HTTPRoutes on a listener whose allowedRoutes leave the kind out, while status refuses them.",
        clauses: &["blind:HTTPRouteDisallowedKind.2"],
        seam: Seam::Config(|| {
            serve_from(|snapshot| {
                modify_listeners(snapshot, |listener| drop_at(listener, "/allowedRoutes", "kinds"));
            })
        }),
    },
    Fault {
        name: "serves-unmatched-sections",
        summary: "Serves a route on all listeners when its sectionName matches none.",
        clauses: &[
            "blind:HTTPRouteInvalidParentRefNotMatchingSectionName.2",
            "blind:HTTPRouteInvalidParentRefSectionNameNotMatchingPort.2",
        ],
        seam: Seam::Config(|| serve_from(|snapshot| widen_parents(snapshot, &["sectionName"]))),
    },
    Fault {
        name: "serves-unmatched-ports",
        summary: "Serves a route on all listeners when the port of its parentRef matches none.",
        clauses: &[
            "blind:HTTPRouteInvalidParentRefNotMatchingListenerPort.2",
            "blind:HTTPRouteInvalidParentRefSectionNameNotMatchingPort.2",
        ],
        seam: Seam::Config(|| serve_from(|snapshot| widen_parents(snapshot, &["port"]))),
    },
    Fault {
        name: "serves-all-ports",
        summary: "Serves a route that names one listener on the other ports of the Gateway too.",
        clauses: &[
            "blind:GatewayWithAttachedRoutesWithPort8080.1",
            "GEP1364-14",
            "GRPC-01",
            "blind:Generic.14",
            "blind:HTTPRouteInvalidParentRefNotMatchingListenerPort.2",
            "blind:HTTPRouteInvalidParentRefSectionNameNotMatchingPort.2",
            "upstream:GatewayHTTPListenerIsolation",
            "upstream:HTTPRouteHTTPSListenerDetectMisdirectedRequests",
            "upstream:HTTPRouteListenerHostnameMatching",
            "upstream:HTTPRouteListenerPortMatching",
        ],
        seam: Seam::Config(|| {
            serve_from(|snapshot| {
                snapshot.edit(Kind::HttpRoute, |route| {
                    for parent in each(route, "/spec/parentRefs") {
                        drop_field(parent, "sectionName");
                        drop_field(parent, "port");
                    }
                });
            })
        }),
    },
    Fault {
        name: "reads-hostnames-as-suffixes",
        summary: "Lets a route answer for hosts below its hostnames.",
        clauses: &["blind:HTTPRouteMatchingAcrossRoutes.3"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                for rule in rules(config) {
                    let exact = rule.hostnames.iter().filter_map(|hostname| match hostname {
                        Hostname::Exact(host) => Some(Hostname::Wildcard(host.clone())),
                        Hostname::Any | Hostname::Wildcard(_) => None,
                    });
                    let below: Vec<Hostname> = exact.collect();
                    rule.hostnames.extend(below);
                }
            })
        }),
    },
    Fault {
        name: "ignores-listener-hostnames",
        summary: "Lets the listeners of one port share their routes.",
        clauses: &[
            "upstream:HTTPRouteHostnameIntersection",
            "upstream:GatewayHTTPListenerIsolation",
            "upstream:GRPCRouteListenerHostnameMatching",
            "GEP1364-14",
            "blind:GatewayModifyListeners.1",
            "blind:GatewayModifyListeners.2",
            "blind:HTTPRouteDisallowedKind.2",
            "blind:HTTPRouteListenerPortMatching.1",
            "upstream:HTTPRouteListenerHostnameMatching",
        ],
        seam: Seam::Config(|| {
            serve(|_, config| {
                for listener in &mut config.listeners {
                    let all: Vec<Route> =
                        virtual_hosts(listener).into_iter().flat_map(|host| host.routes.clone()).collect();
                    if let Protocol::Http(http) = &mut listener.protocol {
                        let one = VirtualHost {
                            listener: listener.id.clone(),
                            hostname: Hostname::Any,
                            routes: all,
                            before: Vec::new(),
                        };
                        http.virtual_hosts = vec![one];
                    }
                }
            })
        }),
    },
    Fault {
        name: "serves-deleted-tcproutes",
        summary: "Goes on serving a TCPRoute after it is deleted.",
        clauses: &["blind:TCPRouteMultipleRoutesAttachment.1", "blind:Generic.14"],
        seam: Seam::Config(|| serve_past(|memory, snapshot| memory.keep_removed(snapshot, Kind::TcpRoute))),
    },
];
