//! At which of several listeners and Gateways routes are attached.

use super::{
    Fault, Seam,
    tools::{
        copy_counts, drop_at, each, has_reason, is, parents, protocol, say, serve_from, set, view, written_listeners,
    },
};
use crate::{
    snapshot::{Kind, Snapshot},
    status::{DesiredStatus, StatusUpdate, Truth},
};

/// Has TCPRoutes and UDPRoutes that name a whole Gateway name its first listener of their protocol.
fn name_first_listeners(snapshot: &mut Snapshot) {
    let known = snapshot.clone();
    for (kind, protocol) in [(Kind::TcpRoute, "TCP"), (Kind::UdpRoute, "UDP")] {
        snapshot.edit(kind, |route| {
            let own = route["metadata"]["namespace"].as_str().unwrap_or_default().to_owned();
            for parent in each(route, "/spec/parentRefs") {
                let namespace = parent["namespace"].as_str().unwrap_or(&own);
                let mut all = written_listeners(&known, namespace, parent["name"].as_str().unwrap_or_default());
                let first = all.find(|listener| listener["protocol"] == protocol);
                if let Some(first) = first.filter(|_| parent["sectionName"].is_null() && parent["port"].is_null()) {
                    parent["sectionName"] = first["name"].clone();
                }
            }
        });
    }
}

/// Lets in at every HTTP listener of a Gateway the namespaces that the first of them lets in.
fn share_namespaces(snapshot: &mut Snapshot) {
    snapshot.edit(Kind::Gateway, |gateway| {
        let mut http = each(gateway, "/spec/listeners").filter(|listener| listener["protocol"] == "HTTP");
        let Some(first) = http.next() else { return };
        let namespaces = first.pointer("/allowedRoutes/namespaces").cloned();
        for listener in http {
            match &namespaces {
                Some(namespaces) => listener["allowedRoutes"]["namespaces"] = namespaces.clone(),
                None => drop_at(listener, "/allowedRoutes", "namespaces"),
            }
        }
    });
}

/// Accepts TCPRoutes for HTTP where another listener takes them.
fn accept_beside_tcp(snapshot: &Snapshot, statuses: &mut [StatusUpdate]) {
    for update in statuses.iter_mut().filter(|update| update.kind == Kind::TcpRoute) {
        let own = update.key.namespace.clone();
        let is_taken = |update: &mut StatusUpdate| {
            parents(std::slice::from_mut(update)).any(|parent| is(&parent.conditions, "Accepted", Truth::True))
        };
        if !is_taken(update) {
            continue;
        }
        for parent in parents(std::slice::from_mut(update)) {
            let is_http = protocol(snapshot, &own, &parent.parent_ref) == Some("HTTP");
            if is_http && has_reason(&parent.conditions, "Accepted", "NotAllowedByListeners") {
                set(&mut parent.conditions, "Accepted", Truth::True, "Accepted");
            }
        }
    }
}

/// Leaves routes of some kinds their entries for the first of their Gateways.
pub(super) fn keep_first_gateway(statuses: &mut [StatusUpdate], kinds: &[Kind]) {
    for update in statuses.iter_mut().filter(|update| kinds.contains(&update.kind)) {
        let DesiredStatus::Route { parents } = &mut update.status else { continue };
        let Some(first) = parents.first().map(|parent| parent.parent_ref.clone()) else { continue };
        parents.retain(|parent| {
            let of = &parent.parent_ref;
            (&of.kind, &of.namespace, &of.name) == (&first.kind, &first.namespace, &first.name)
        });
    }
}

/// Leaves routes of a kind the first of their Gateways.
pub(super) fn leave_other_gateways(snapshot: &mut Snapshot, kind: Kind) {
    snapshot.edit(kind, |route| {
        let first = route["spec"]["parentRefs"][0]["name"].clone();
        if let Some(parents) = route["spec"]["parentRefs"].as_array_mut() {
            parents.retain(|parent| parent["name"] == first);
        }
    });
}

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "serves-streams-at-one-listener",
        summary: "Serves a TCPRoute or UDPRoute of a whole Gateway at the first listener that takes it, and at no other.",
        clauses: &["upstream:TCPRouteParentRefAttachAll", "upstream:UDPRouteParentRefAttachAllListeners"],
        seam: Seam::Config(|| serve_from(name_first_listeners)),
    },
    Fault {
        name: "counts-streams-at-one-listener",
        summary: "Counts a TCPRoute or UDPRoute of a whole Gateway at the first listener that takes it, and at no other.",
        clauses: &["blind:TCPRouteParentRefAttachAll.1", "upstream:UDPRouteParentRefAttachAllListeners"],
        seam: Seam::Statuses(|| {
            say(|seen, statuses| copy_counts(seen.otherwise(name_first_listeners).statuses, statuses))
        }),
    },
    Fault {
        name: "finds-no-listener-by-section-and-port",
        summary: "Says NoMatchingParent of a TCPRoute or UDPRoute that names both the section and the port of a listener.",
        clauses: &["upstream:TCPRouteParentRefPortAndSectionName", "upstream:UDPRouteParentRefPortAndSectionName"],
        seam: Seam::Statuses(|| {
            say(|_, statuses| {
                let of_streams = |update: &&mut StatusUpdate| [Kind::TcpRoute, Kind::UdpRoute].contains(&update.kind);
                for update in statuses.iter_mut().filter(of_streams) {
                    for parent in parents(std::slice::from_mut(update)) {
                        if parent.parent_ref.section_name.is_some() && parent.parent_ref.port.is_some() {
                            set(&mut parent.conditions, "Accepted", Truth::False, "NoMatchingParent");
                        }
                    }
                }
            })
        }),
    },
    Fault {
        name: "accepts-tcproutes-at-http-beside-tcp",
        summary: "Accepts a TCPRoute for an HTTP listener if another listener takes it.",
        clauses: &["GEP1364-35", "upstream:TCPRouteInvalidNonTCPListener"],
        seam: Seam::Statuses(|| say(|seen, statuses| accept_beside_tcp(seen.snapshot, statuses))),
    },
    Fault {
        name: "takes-namespaces-of-the-first-listener",
        summary: "Lets in at all HTTP listeners of a Gateway the namespaces that its first one lets in.",
        clauses: &["upstream:HTTPRouteCrossNamespace"],
        seam: Seam::Snapshot(|| view(share_namespaces)),
    },
    Fault {
        name: "answers-grpcroutes-for-one-gateway",
        summary: "Writes the status of a GRPCRoute for the first of its Gateways alone, and serves it at all of them.",
        clauses: &["blind:GRPCRouteMultipleGateways.2"],
        seam: Seam::Statuses(|| say(|_, statuses| keep_first_gateway(statuses, &[Kind::GrpcRoute]))),
    },
];
