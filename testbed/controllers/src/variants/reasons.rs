//! Statuses that give another of several reasons that fit.

use super::{Place, Variant, say::say};
use crate::{
    model::{BackendRef, CertificateRef, Listener, ParentRef},
    reconcile::{backends, verdict::Problem},
    snapshot::{Kind, Object, Snapshot},
    status::{Condition, DesiredStatus, ListenerStatus, StatusUpdate, Truth},
};

/// Another reason in place of one that stands there.
fn rename(conditions: &mut [Condition], r#type: &str, from: &str, to: &str) {
    let found = conditions.iter_mut().filter(|one| one.r#type == r#type && one.reason == from);
    found.for_each(|condition| condition.reason = to.to_owned());
}

fn pending(_: &Snapshot, update: &mut StatusUpdate) {
    if let DesiredStatus::Gateway { conditions, listeners, .. } = &mut update.status {
        rename(conditions, "Programmed", "Invalid", "Pending");
        listeners.iter_mut().for_each(|listener| rename(&mut listener.conditions, "Programmed", "Invalid", "Pending"));
    }
}

/// Whether upstream asks for False: of a listener without usable authority for clients, and of one whose certificate is missing.
fn is_denied_upstream(snapshot: &Snapshot, namespace: &str, listener: Option<&Listener>, of: &ListenerStatus) -> bool {
    let is_missing = |certificate: &CertificateRef| {
        let namespace = certificate.namespace.as_deref().unwrap_or(namespace);
        certificate.group.is_empty()
            && certificate.kind == "Secret"
            && snapshot.get(Kind::Secret, namespace, &certificate.name).is_none()
    };
    let is_permitted = !of.conditions.iter().any(|one| one.reason == "RefNotPermitted");
    let mut certificates = listener.and_then(|of| of.tls.as_ref()).into_iter().flat_map(|tls| &tls.certificate_refs);
    of.conditions.iter().any(|one| one.reason == "NoValidCACertificate")
        || (is_permitted && certificates.any(is_missing))
}

/// Decides nothing yet about what cannot be programmed as it is.
fn undecided(snapshot: &Snapshot, update: &mut StatusUpdate) {
    fn leave_open(conditions: &mut [Condition]) {
        let refused = conditions.iter_mut().filter(|one| one.r#type == "Programmed" && one.reason == "Invalid");
        refused.filter(|one| one.status == Truth::False).for_each(|condition| {
            condition.status = Truth::Unknown;
            condition.reason = "Pending".into();
        });
    }
    let (namespace, name) = (&update.key.namespace, &update.key.name);
    let (asked, listeners) = match &mut update.status {
        DesiredStatus::Gateway { conditions, listeners, .. } => {
            leave_open(conditions);
            (snapshot.gateway(namespace, name).map(|(_, spec)| &spec.listeners), listeners)
        }
        DesiredStatus::ListenerSet { listeners, .. } => {
            (snapshot.listener_set(namespace, name).map(|(_, spec)| &spec.listeners), listeners)
        }
        _ => return,
    };
    for listener in listeners {
        let of = asked.and_then(|all| all.iter().find(|one| one.name == listener.name));
        if !is_denied_upstream(snapshot, namespace, of, listener) {
            leave_open(&mut listener.conditions);
        }
    }
}

fn overlapping_certificates(_: &Snapshot, update: &mut StatusUpdate) {
    if let DesiredStatus::Gateway { listeners, .. } = &mut update.status {
        for listener in listeners {
            rename(&mut listener.conditions, "OverlappingTLSConfig", "OverlappingHostnames", "OverlappingCertificates");
        }
    }
}

/// Protocols of listeners that carry routes of the kind.
fn carriers(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::TcpRoute => &["TCP"],
        Kind::TlsRoute => &["TLS"],
        Kind::UdpRoute => &["UDP"],
        _ => &["HTTP", "HTTPS"],
    }
}

/// Whether a route in that namespace means a listener of its Gateway of which this is so.
fn means(snapshot: &Snapshot, namespace: &str, parent: &ParentRef, is_so: impl Fn(&Listener) -> bool) -> bool {
    let namespace = parent.namespace.as_deref().unwrap_or(namespace);
    let gateway =
        snapshot.gateways().find(|(object, _)| object.meta.namespace == namespace && object.meta.name == parent.name);
    let mut meant = gateway.into_iter().flat_map(|(_, spec)| &spec.listeners).filter(|listener| {
        parent.section_name.as_ref().is_none_or(|section| *section == listener.name)
            && parent.port.is_none_or(|port| port == listener.port)
    });
    meant.any(is_so)
}

/// A listener that cannot carry routes of the kind is no match for the reference to it. One that names the kinds that it allows has said
/// so itself.
fn no_parent(snapshot: &Snapshot, update: &mut StatusUpdate) {
    let StatusUpdate { kind, key, status: DesiredStatus::Route { parents }, .. } = update else { return };
    // Of TLSRoutes upstream's tests name the reason.
    if *kind == Kind::TlsRoute {
        return;
    }
    for parent in parents.iter_mut().filter(|parent| parent.parent_ref.is_gateway()) {
        let allows = |listener: &Listener| {
            !listener.allowed_routes.kinds.is_empty() || carriers(*kind).contains(&&*listener.protocol)
        };
        if !means(snapshot, &key.namespace, &parent.parent_ref, allows) {
            rename(&mut parent.conditions, "Accepted", "NotAllowedByListeners", "NoMatchingParent");
        }
    }
}

/// A TLSRoute for a listener of another protocol has a value that is not supported.
fn wrong_type(snapshot: &Snapshot, update: &mut StatusUpdate) {
    let StatusUpdate { kind: Kind::TlsRoute, key, status: DesiredStatus::Route { parents }, .. } = update else {
        return;
    };
    for parent in parents.iter_mut().filter(|parent| parent.parent_ref.is_gateway()) {
        let is_right = |listener: &Listener| carriers(Kind::TlsRoute).contains(&&*listener.protocol);
        if !means(snapshot, &key.namespace, &parent.parent_ref, is_right) {
            rename(&mut parent.conditions, "Accepted", "NotAllowedByListeners", "UnsupportedValue");
        }
    }
}

/// What is wrong with the backends of a route, in their order.
fn problems(snapshot: &Snapshot, update: &StatusUpdate) -> Vec<Problem> {
    let (namespace, name) = (&update.key.namespace, &update.key.name);
    let wrong = |kind: Kind, route: &Object, references: Vec<&BackendRef>| {
        let wrong = references.into_iter().filter_map(|of| backends::resolve(snapshot, kind, route, of).err());
        wrong.collect::<Vec<_>>()
    };
    let found = match update.kind {
        Kind::HttpRoute => snapshot.http_route(namespace, name).map(|(route, spec)| {
            wrong(Kind::HttpRoute, route, spec.rules.iter().flat_map(|rule| &rule.backend_refs).collect())
        }),
        Kind::GrpcRoute => snapshot.grpc_route(namespace, name).map(|(route, spec)| {
            wrong(Kind::GrpcRoute, route, spec.rules.iter().flat_map(|rule| &rule.backend_refs).collect())
        }),
        Kind::TcpRoute => snapshot.tcp_route(namespace, name).map(|(route, spec)| {
            wrong(Kind::TcpRoute, route, spec.rules.iter().flat_map(|rule| &rule.backend_refs).collect())
        }),
        Kind::UdpRoute => snapshot.udp_route(namespace, name).map(|(route, spec)| {
            wrong(Kind::UdpRoute, route, spec.rules.iter().flat_map(|rule| &rule.backend_refs).collect())
        }),
        _ => None,
    };
    found.unwrap_or_default()
}

/// Of several references that cannot be followed the last one gives the reason.
fn last_problem(snapshot: &Snapshot, update: &mut StatusUpdate) {
    let problems = problems(snapshot, update);
    let (Some(last), DesiredStatus::Route { parents }) = (problems.last(), &mut update.status) else { return };
    for parent in parents {
        let refused =
            parent.conditions.iter_mut().filter(|one| one.r#type == "ResolvedRefs" && one.status == Truth::False);
        // A filter that is wrong has a reason of its own.
        let known = |one: &&mut Condition| problems.iter().any(|problem| problem.reason == one.reason);
        refused.filter(known).for_each(|condition| condition.reason = last.reason.to_owned());
    }
}

pub(super) const VARIANTS: &[Variant] = &[
    Variant {
        name: "says-pending-of-what-is-invalid",
        summary: "Says Programmed=False/Pending of Gateways and listeners that cannot be programmed as they are, instead of Invalid.",
        source: "Gateway and listener conditions, Programmed: both reasons are listed for False, and Pending is for what waits, as \
                 for a better spec.",
        place: Place::Runtime(|seams| say(seams, pending)),
    },
    Variant {
        name: "leaves-open-what-is-invalid",
        summary: "Says Programmed=Unknown/Pending of Gateways and listeners that cannot be programmed as they are, but where a certificate \
                  or an authority for clients is not to be had.",
        source: "Gateway and listener conditions, Programmed: Pending is listed for Unknown, and is for what waits, as for a better \
                 spec. Of certificates that are missing and of authorities for clients upstream's tests ask for False.",
        place: Place::Runtime(|seams| say(seams, undecided)),
    },
    Variant {
        name: "finds-certificates-overlapping",
        summary: "Gives OverlappingTLSConfig the reason OverlappingCertificates.",
        source: "Listener conditions, OverlappingTLSConfig: OverlappingCertificates is the reason to be preferred where certificates \
                 overlap too, as those of overlapping hostnames do.",
        place: Place::Runtime(|seams| say(seams, overlapping_certificates)),
    },
    Variant {
        name: "finds-no-parent-for-other-kinds",
        summary: "Says NoMatchingParent of a route whose kind the protocol of no listener that it means carries, instead of \
                  NotAllowedByListeners.",
        source: "Route conditions, Accepted: NotAllowedByListeners is for allowedRoutes that do not permit a route, NoMatchingParent for \
                 references without a match; where a listener has no kinds in its allowedRoutes, nothing says which it is.",
        place: Place::Runtime(|seams| say(seams, no_parent)),
    },
    Variant {
        name: "finds-listeners-of-the-wrong-type-unsupported",
        summary: "Says UnsupportedValue of a TLSRoute for a listener of another protocol, instead of NotAllowedByListeners.",
        source: "TLSRouteSpec.hostnames: Accepted=False with the reason UnsupportedValue in case a listener of the wrong type is used; \
                 upstream's tests ask for NotAllowedByListeners.",
        place: Place::Runtime(|seams| say(seams, wrong_type)),
    },
    Variant {
        name: "names-the-last-broken-reference",
        summary: "Gives ResolvedRefs of a route with several broken backends the reason of the last of them.",
        source: "Route conditions, ResolvedRefs: one condition has one reason; nothing says which of several faults gives it.",
        place: Place::Runtime(|seams| say(seams, last_problem)),
    },
];
