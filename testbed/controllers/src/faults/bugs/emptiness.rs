//! Lists that are there and empty, of which the API server makes nothing else.

use std::sync::Arc;

use gateproof_proxy::config::RouteId;
use http::HeaderMap;
use serde_json::{Value, json};

use super::Bug;
use crate::{
    faults::{
        Fault, Seam,
        exchange::Forwards,
        tools::{each, hosts, serve, view},
        transit::Hears,
    },
    model::GATEWAY_GROUP,
    runtime::seams::Seen,
    snapshot::Kind,
};

fn is_empty(list: Option<&Value>) -> bool {
    list.and_then(Value::as_array).is_some_and(Vec::is_empty)
}

/// Whether a rule has a list of matches with nothing in it.
fn has_empty_matches(seen: Seen<'_>, id: &RouteId) -> bool {
    [Kind::HttpRoute, Kind::GrpcRoute].into_iter().any(|kind| {
        let route = seen.snapshot.get(kind, &id.namespace, &id.name);
        is_empty(route.and_then(|route| route.raw.pointer(&format!("/spec/rules/{}/matches", id.rule))))
    })
}

/// Lets no HTTPRoutes in where a list of kinds names nothing.
fn close(gateway: &mut Value) {
    for listener in each(gateway, "/spec/listeners").filter(|of| is_empty(of.pointer("/allowedRoutes/kinds"))) {
        listener["allowedRoutes"]["kinds"] = json!([{"group": GATEWAY_GROUP, "kind": "GRPCRoute"}]);
    }
}

/// Takes the fields out of a head that have no value.
fn drop_empty(headers: &mut HeaderMap) {
    let empty = headers.iter().filter(|(_, value)| value.is_empty()).map(|(name, _)| name.clone());
    for name in empty.collect::<Vec<_>>() {
        headers.remove(name);
    }
}

pub(super) const BUGS: &[Bug] = &[
    Bug {
        fault: Fault {
            name: "finds-nothing-by-empty-matches",
            summary: "Never comes to a rule whose list of matches is there and empty.",
            clauses: &["upstream:HTTPRouteMatching", "GRPC-02"],
            seam: Seam::Config(|| {
                serve(|seen, config| {
                    hosts(config).for_each(|host| host.routes.retain(|rule| !has_empty_matches(seen, &rule.id)));
                })
            }),
        },
        reported: &["higress-group/higress#4380", "kumahq/kuma#6757"],
    },
    Bug {
        fault: Fault {
            name: "lets-nothing-in-by-empty-kinds",
            summary: "Lets no HTTPRoute in at a listener whose list of kinds is there and empty.",
            clauses: &["OWN-45"],
            seam: Seam::Snapshot(|| view(|snapshot| snapshot.edit(Kind::Gateway, close))),
        },
        reported: &["nginx/nginx-gateway-fabric#3810"],
    },
    Bug {
        fault: Fault {
            name: "drops-headers-without-values",
            summary: "Forwards requests without the headers that have no value.",
            clauses: &["OWN-69"],
            seam: Seam::Exchange(|| Arc::new(Forwards(|_, parts| drop_empty(&mut parts.headers)))),
        },
        reported: &["jetty/jetty.project#8750"],
    },
    Bug {
        fault: Fault {
            name: "drops-headers-of-answers-without-values",
            summary: "Answers without the headers of its backend that have no value.",
            clauses: &["OWN-69"],
            seam: Seam::Exchange(|| Arc::new(Hears(|_, answer| drop_empty(&mut answer.headers)))),
        },
        reported: &["microsoft/service-fabric-issues#1078"],
    },
];
