//! Those of such mistakes that are made with what is said of routes of one kind, or for parents of one sort.

use serde_json::Value;

use crate::{
    faults::{
        Fault, Seam,
        tools::{has_reason, parents, say, set, written_listeners},
    },
    model::ParentRef,
    snapshot::{Kind, Snapshot},
    status::{StatusUpdate, Truth},
};

/// Gives another reason for references of routes of this kind that do not resolve.
fn give_reason(statuses: &mut [StatusUpdate], kind: Kind, (right, wrong): (&str, &str)) {
    for update in statuses.iter_mut().filter(|update| update.kind == kind) {
        for parent in parents(std::slice::from_mut(update)) {
            if has_reason(&parent.conditions, "ResolvedRefs", right) {
                set(&mut parent.conditions, "ResolvedRefs", Truth::False, wrong);
            }
        }
    }
}

/// Accepts HTTPRoutes that are refused for this reason, at parents that are meant; these learn the namespace of the route.
fn accept(statuses: &mut [StatusUpdate], reason: &str, is_meant: impl Fn(&str, &ParentRef) -> bool) {
    for update in statuses.iter_mut().filter(|update| update.kind == Kind::HttpRoute) {
        let own = update.key.namespace.clone();
        for parent in parents(std::slice::from_mut(update)) {
            if is_meant(&own, &parent.parent_ref) && has_reason(&parent.conditions, "Accepted", reason) {
                set(&mut parent.conditions, "Accepted", Truth::True, "Accepted");
            }
        }
    }
}

/// Whether this is a Gateway of another namespace with a listener for the routes of its own.
fn is_closed_to(snapshot: &Snapshot, own: &str, of: &ParentRef) -> bool {
    let Some(namespace) = of.namespace.as_deref().filter(|namespace| of.is_gateway() && *namespace != own) else {
        return false;
    };
    let is_named = |name: &str| of.section_name.as_deref().is_none_or(|section| section == name);
    let mut named = written_listeners(snapshot, namespace, &of.name)
        .filter(|one| one["protocol"] == "HTTP" && one["name"].as_str().is_some_and(is_named));
    named.any(|one| {
        let from = &one["allowedRoutes"]["namespaces"]["from"];
        from.is_null() || from == "Same"
    })
}

/// Whether a section of a Gateway is named that is of no ListenerSet either which names the Gateway as its parent.
fn is_of_nobody(snapshot: &Snapshot, own: &str, of: &ParentRef) -> bool {
    let Some(section) = of.section_name.as_deref() else { return false };
    let gateway = (of.namespace.as_deref().unwrap_or(own), of.name.as_str());
    !snapshot.all(Kind::ListenerSet).any(|set| {
        let parent = &set.raw["spec"]["parentRef"];
        let namespace = parent["namespace"].as_str().unwrap_or(&set.meta.namespace);
        let listeners = set.raw.pointer("/spec/listeners").and_then(Value::as_array);
        (namespace, parent["name"].as_str().unwrap_or_default()) == gateway
            && listeners.into_iter().flatten().any(|one| one["name"] == section)
    })
}

/// Whether a Gateway has the port that is named, and not the section.
fn has_port_alone(snapshot: &Snapshot, own: &str, of: &ParentRef) -> bool {
    let (Some(section), Some(port)) = (of.section_name.as_deref(), of.port) else { return false };
    let listeners = || written_listeners(snapshot, of.namespace.as_deref().unwrap_or(own), &of.name);
    of.is_gateway() && listeners().any(|one| one["port"] == port) && !listeners().any(|one| one["name"] == section)
}

pub(in crate::faults) const FAULTS: &[Fault] = &[
    Fault {
        name: "accepts-httproutes-where-their-namespace-is-not-let-in",
        summary: "Says Accepted=True for an HTTPRoute of another namespace where an HTTP listener is for those of its own.",
        clauses: &["GEP1364-35", "upstream:HTTPRouteInvalidCrossNamespaceParentRef"],
        seam: Seam::Statuses(|| {
            say(|seen, statuses| {
                accept(statuses, "NotAllowedByListeners", |own, of| is_closed_to(seen.snapshot, own, of));
            })
        }),
    },
    Fault {
        name: "accepts-httproutes-of-unknown-sections",
        summary: "Says Accepted=True for an HTTPRoute that names a section which neither its Gateway has nor a ListenerSet, and no port.",
        clauses: &["GEP1364-14", "upstream:HTTPRouteInvalidParentRefNotMatchingSectionName"],
        seam: Seam::Statuses(|| {
            say(|seen, statuses| {
                accept(statuses, "NoMatchingParent", |own, of| {
                    of.is_gateway() && of.port.is_none() && is_of_nobody(seen.snapshot, own, of)
                });
            })
        }),
    },
    Fault {
        name: "accepts-httproutes-of-sections-at-other-ports",
        summary: "Says Accepted=True for an HTTPRoute that names a section of a Gateway and the port of another.",
        clauses: &["upstream:HTTPRouteInvalidParentRefSectionNameNotMatchingPort"],
        seam: Seam::Statuses(|| {
            say(|_, statuses| {
                accept(statuses, "NoMatchingParent", |_, of| {
                    of.is_gateway() && of.section_name.is_some() && of.port.is_some()
                });
            })
        }),
    },
    Fault {
        name: "accepts-httproutes-of-unknown-sections-by-their-port",
        summary: "Says Accepted=True for an HTTPRoute that names a section which its Gateway has not, and the port of one that it has.",
        clauses: &["GEP1364-14", "upstream:HTTPRouteInvalidParentRefNotMatchingSectionName"],
        seam: Seam::Statuses(|| {
            say(|seen, statuses| {
                accept(statuses, "NoMatchingParent", |own, of| has_port_alone(seen.snapshot, own, of));
            })
        }),
    },
    Fault {
        name: "tells-tcproutes-whether-forbidden-services-exist",
        summary: "Gives BackendNotFound as the reason for a reference of a TCPRoute that no ReferenceGrant permits.",
        clauses: &["IMPL-41", "upstream:TCPRouteInvalidCrossNamespaceBackendRef"],
        seam: Seam::Statuses(|| {
            say(|_, statuses| give_reason(statuses, Kind::TcpRoute, ("RefNotPermitted", "BackendNotFound")))
        }),
    },
    Fault {
        name: "calls-unknown-kinds-of-tlsroutes-missing-backends",
        summary: "Gives BackendNotFound as the reason for a reference of a TLSRoute of an unknown kind.",
        clauses: &["GEP1364-38", "upstream:TLSRouteInvalidBackendRefUnknownKind"],
        seam: Seam::Statuses(|| {
            say(|_, statuses| give_reason(statuses, Kind::TlsRoute, ("InvalidKind", "BackendNotFound")))
        }),
    },
    Fault {
        name: "calls-missing-backends-of-udproutes-invalid-kinds",
        summary: "Gives InvalidKind as the reason for a Service of a UDPRoute that does not exist.",
        clauses: &["upstream:UDPRouteInvalidBackendRefNonexistent"],
        seam: Seam::Statuses(|| {
            say(|_, statuses| give_reason(statuses, Kind::UdpRoute, ("BackendNotFound", "InvalidKind")))
        }),
    },
];
