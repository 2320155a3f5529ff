//! Mistakes with one sort of thing alone, where others make the like of them with every sort: each is the first to show one
//! thing that a scenario asks for.

mod cases;
pub(super) mod grants;
pub(super) mod requests;
pub(super) mod routes;
pub(super) mod traffic;

use std::collections::BTreeMap;

use serde_json::Value;

use super::{
    Fault, Seam,
    policies::ancestors,
    tools::{copy_counts, drop_at, drop_field, each, has_reason, is, own, parents, say, set, view, written_listeners},
};
use crate::{
    model::{GATEWAY_GROUP, ParentRef, RouteKind},
    runtime::seams::{Seen, StatusesSeam},
    snapshot::{Kind, ObjectKey, Snapshot},
    status::{DesiredStatus, ParentStatus, StatusUpdate, Truth},
};

/// Has a Gateway wait for a round whenever the count of its routes is another one than before.
#[derive(Default)]
struct WaversWithRoutes(BTreeMap<ObjectKey, usize>);

impl StatusesSeam for WaversWithRoutes {
    fn edit(&mut self, _: Seen<'_>, statuses: &mut Vec<StatusUpdate>) {
        for update in statuses {
            let DesiredStatus::Gateway { listeners, .. } = &update.status else { continue };
            let routes = listeners.iter().map(|listener| listener.attached_routes).sum();
            let before = self.0.insert(update.key.clone(), routes);
            if before.is_some_and(|before| before != routes) {
                for conditions in own(std::slice::from_mut(update), Kind::Gateway) {
                    if is(conditions, "Programmed", Truth::True) {
                        set(conditions, "Programmed", Truth::Unknown, "Pending");
                    }
                }
            }
        }
    }
}

fn resolve_tlsroutes(statuses: &mut [StatusUpdate]) {
    for update in statuses.iter_mut().filter(|update| update.kind == Kind::TlsRoute) {
        for parent in parents(std::slice::from_mut(update)) {
            if has_reason(&parent.conditions, "ResolvedRefs", "RefNotPermitted") {
                set(&mut parent.conditions, "ResolvedRefs", Truth::True, "ResolvedRefs");
            }
        }
    }
}

/// Lists HTTPRoute for the TLS listeners of Gateways that pass TLS on, or for those that end it.
fn list_httproutes(seen: Seen<'_>, statuses: &mut [StatusUpdate], passthrough: bool) {
    for update in statuses {
        let DesiredStatus::Gateway { listeners, .. } = &mut update.status else { continue };
        let written: Vec<&Value> = written_listeners(seen.snapshot, &update.key.namespace, &update.key.name).collect();
        for listener in listeners {
            let is_meant = |one: &&Value| {
                one["name"] == listener.name.as_str()
                    && one["protocol"] == "TLS"
                    && (one["tls"]["mode"] == "Passthrough") == passthrough
            };
            if written.iter().any(is_meant) && !listener.supported_kinds.is_empty() {
                listener.supported_kinds.push(RouteKind { group: GATEWAY_GROUP.into(), kind: "HTTPRoute".into() });
            }
        }
    }
}

/// Has HTTPRoutes name the port of the section that they name.
fn name_ports_of_sections(snapshot: &mut Snapshot) {
    let known = snapshot.clone();
    snapshot.edit(Kind::HttpRoute, |route| {
        let own = route["metadata"]["namespace"].as_str().unwrap_or_default().to_owned();
        for parent in each(route, "/spec/parentRefs").filter(|one| one["kind"] != "ListenerSet") {
            let namespace = parent["namespace"].as_str().unwrap_or(&own);
            let mut all = written_listeners(&known, namespace, parent["name"].as_str().unwrap_or_default());
            if let Some(listener) = all.find(|one| one["name"] == parent["sectionName"]) {
                parent["port"] = listener["port"].clone();
                drop_field(parent, "sectionName");
            }
        }
    });
}

/// Takes the routes of one kind for attached to the listeners of a Gateway in their namespace that speak this protocol.
fn attach(seen: Seen<'_>, statuses: &mut [StatusUpdate], kind: Kind, protocol: &str) {
    let mut attached: Vec<(ObjectKey, String)> = Vec::new();
    for update in statuses.iter_mut().filter(|update| update.kind == kind) {
        let own = update.key.namespace.clone();
        for parent in parents(std::slice::from_mut(update)) {
            let of = &parent.parent_ref;
            let is_near = of.namespace.as_ref().is_none_or(|namespace| *namespace == own) && of.is_gateway();
            if !is_near || !has_reason(&parent.conditions, "Accepted", "NotAllowedByListeners") {
                continue;
            }
            let section = of.section_name.as_deref();
            let all = written_listeners(seen.snapshot, &own, &of.name)
                .filter(|one| one["protocol"] == protocol)
                .filter_map(|one| one["name"].as_str())
                .filter(|name| section.is_none_or(|section| section == *name));
            let before = attached.len();
            attached.extend(all.map(|name| (ObjectKey::new(&own, &of.name), name.to_owned())));
            if attached.len() > before {
                set(&mut parent.conditions, "Accepted", Truth::True, "Accepted");
            }
        }
    }
    for update in statuses {
        let DesiredStatus::Gateway { listeners, .. } = &mut update.status else { continue };
        for listener in listeners {
            let here = |(key, name): &&(ObjectKey, String)| *key == update.key && *name == listener.name;
            listener.attached_routes += attached.iter().filter(here).count();
        }
    }
}

/// Resolves the authorities of policies for which there are ConfigMaps, whatever is in them.
fn resolve_named_authorities(seen: Seen<'_>, statuses: &mut [StatusUpdate]) {
    for update in statuses.iter_mut().filter(|update| update.kind == Kind::BackendTlsPolicy) {
        let namespace = update.key.namespace.clone();
        let Some((_, policy)) = seen.snapshot.backend_tls_policy(&namespace, &update.key.name) else { continue };
        let mut named = policy.validation.ca_certificate_refs.iter();
        if named.all(|one| seen.snapshot.config_map(&namespace, &one.name).is_some()) {
            for entry in ancestors(std::slice::from_mut(update)).flatten() {
                if has_reason(&entry.conditions, "ResolvedRefs", "InvalidCACertificateRef") {
                    set(&mut entry.conditions, "ResolvedRefs", Truth::True, "ResolvedRefs");
                }
            }
        }
    }
}

/// Lists of every listener of a ListenerSet the kinds that are written there.
fn list_written_kinds(seen: Seen<'_>, statuses: &mut [StatusUpdate]) {
    for update in statuses {
        let DesiredStatus::ListenerSet { listeners, .. } = &mut update.status else { continue };
        let Some((_, set)) = seen.snapshot.listener_set(&update.key.namespace, &update.key.name) else { continue };
        for listener in listeners {
            let written = set.listeners.iter().find(|one| one.name == listener.name);
            if let Some(kinds) = written.map(|one| &one.allowed_routes.kinds).filter(|kinds| !kinds.is_empty()) {
                listener.supported_kinds.clone_from(kinds);
            }
        }
    }
}

/// Gives entries with a section the kind of the last parent of the route that has such a one.
fn take_kinds_by_section(statuses: &mut [StatusUpdate]) {
    for update in statuses {
        let DesiredStatus::Route { parents } = &mut update.status else { continue };
        let kinds: BTreeMap<String, Option<String>> = parents
            .iter()
            .filter_map(|entry| Some((entry.parent_ref.section_name.clone()?, entry.parent_ref.kind.clone())))
            .collect();
        for of in parents.iter_mut().map(|entry| &mut entry.parent_ref) {
            if let Some(kind) = of.section_name.as_ref().and_then(|section| kinds.get(section)) {
                of.kind.clone_from(kind);
            }
        }
    }
}

/// Speaks of each listener too where a route names a whole ListenerSet.
fn speak_of_listeners(seen: Seen<'_>, statuses: &mut [StatusUpdate]) {
    for update in statuses {
        let DesiredStatus::Route { parents } = &mut update.status else { continue };
        let mut more = Vec::new();
        for entry in parents.iter() {
            let of = &entry.parent_ref;
            let namespace = of.namespace.as_ref().unwrap_or(&update.key.namespace);
            let named = seen.snapshot.listener_set(namespace, &of.name);
            let Some((_, set)) = named.filter(|_| of.is_listener_set() && of.section_name.is_none()) else { continue };
            more.extend(set.listeners.iter().map(|listener| ParentStatus {
                parent_ref: ParentRef { section_name: Some(listener.name.clone()), ..of.clone() },
                ..entry.clone()
            }));
        }
        parents.extend(more);
    }
}

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "grants-to-services-need-to-name",
        summary: "Takes no notice of a grant to Services that does not name one.",
        clauses: &["IMPL-41", "blind:HTTPRouteReferenceGrant.3"],
        seam: Seam::Snapshot(|| {
            view(|snapshot| {
                snapshot.edit(Kind::ReferenceGrant, |grant| {
                    if let Some(to) = grant.pointer_mut("/spec/to").and_then(Value::as_array_mut) {
                        to.retain(|one| one["kind"] != "Service" || one["name"].is_string());
                    }
                });
            })
        }),
    },
    Fault {
        name: "accepts-parameters-that-it-does-not-claim",
        summary: "Accepts a Gateway with an infrastructure.parametersRef, and claims no GatewayInfrastructure.",
        clauses: &["OWN-12", "blind:GatewayInvalidParametersRef.2"],
        seam: Seam::Several(&[
            Seam::Snapshot(|| {
                view(|snapshot| {
                    snapshot.edit(Kind::Gateway, |gateway| drop_at(gateway, "/spec/infrastructure", "parametersRef"));
                })
            }),
            Seam::Statuses(|| {
                say(|_, statuses| {
                    for update in statuses {
                        if let DesiredStatus::GatewayClass { supported_features, .. } = &mut update.status {
                            supported_features.retain(|name| name != "GatewayInfrastructure");
                        }
                    }
                })
            }),
        ]),
    },
    Fault {
        name: "wavers-while-routes-come-and-go",
        summary: "Says Programmed=Unknown of a Gateway for a moment whenever a route of it comes or goes.",
        clauses: &["blind:Generic.11"],
        seam: Seam::Statuses(|| Box::<WaversWithRoutes>::default()),
    },
    Fault {
        name: "resolves-tlsroutes-without-grants",
        summary: "Says ResolvedRefs=True of a TLSRoute whose backend no grant permits, while its connections are refused.",
        clauses: &["IMPL-41", "upstream:TLSRouteInvalidReferenceGrant"],
        seam: Seam::Statuses(|| say(|_, statuses| resolve_tlsroutes(statuses))),
    },
    Fault {
        name: "lists-httproutes-where-tls-ends",
        summary: "Lists HTTPRoute among the kinds of a TLS listener that ends TLS, as if HTTP had to be within.",
        clauses: &[
            "upstream:TLSRouteListenerTerminateSupportedKinds",
            "upstream:TLSRouteMixedTerminationSameNamespace",
        ],
        seam: Seam::Statuses(|| say(|seen, statuses| list_httproutes(seen, statuses, false))),
    },
    Fault {
        name: "lists-httproutes-where-tls-is-passed-on",
        summary: "Lists HTTPRoute among the kinds of a TLS listener that passes TLS on.",
        clauses: &[
            "blind:HTTPRouteDisallowedKind.1",
            "blind:TLSRouteListenerPassthroughSupportedKinds.1",
            "upstream:TLSRouteListenerPassthroughSupportedKinds",
        ],
        seam: Seam::Statuses(|| say(|seen, statuses| list_httproutes(seen, statuses, true))),
    },
    Fault {
        name: "counts-sections-by-port",
        summary: "Counts an HTTPRoute that names a listener at the others of that port, too.",
        clauses: &["blind:HTTPRouteListenerHostnameMatching.2"],
        seam: Seam::Statuses(|| {
            say(|seen, statuses| copy_counts(seen.otherwise(name_ports_of_sections).statuses, statuses))
        }),
    },
    Fault {
        name: "attaches-tcproutes-to-http",
        summary: "Accepts a TCPRoute at the HTTP listeners of a Gateway, and counts it there.",
        clauses: &[
            "GEP1364-15",
            "GEP1364-35",
            "blind:TCPRouteInvalidNonTCPListener.1",
            "upstream:TCPRouteInvalidNonTCPListener",
        ],
        seam: Seam::Statuses(|| say(|seen, statuses| attach(seen, statuses, Kind::TcpRoute, "HTTP"))),
    },
    Fault {
        name: "attaches-tlsroutes-to-https",
        summary: "Accepts a TLSRoute at the HTTPS listeners of a Gateway, and counts it there.",
        clauses: &["GEP1364-35", "upstream:TLSRouteInvalidNoMatchingListener"],
        seam: Seam::Statuses(|| say(|seen, statuses| attach(seen, statuses, Kind::TlsRoute, "HTTPS"))),
    },
    Fault {
        name: "resolves-authorities-by-their-names",
        summary: "Says that the authority of a policy resolves as soon as there is a ConfigMap of its name.",
        clauses: &[
            "blind:BackendTLSPolicyInvalidCACertificateRef.1",
            "upstream:BackendTLSPolicyInvalidCACertificateRef",
        ],
        seam: Seam::Statuses(|| say(|seen, statuses| resolve_named_authorities(seen, statuses))),
    },
    Fault {
        name: "lists-kinds-of-other-protocols-for-listener-sets",
        summary: "Lists every kind that a listener of a ListenerSet allows, whether or not its protocol carries it.",
        clauses: &["blind:ListenerSetAllowedRoutesSupportedKinds.1", "upstream:ListenerSetAllowedRoutesSupportedKinds"],
        seam: Seam::Statuses(|| say(|seen, statuses| list_written_kinds(seen, statuses))),
    },
    Fault {
        name: "takes-kinds-of-parents-by-section",
        summary: "Gives of two parents of a route with one section the entries of both the kind of the last one.",
        clauses: &["blind:ListenerSetDualParentRefIndependence.2", "upstream:ListenerSetDualParentRefIndependence"],
        seam: Seam::Statuses(|| say(|_, statuses| take_kinds_by_section(statuses))),
    },
    Fault {
        name: "speaks-of-listeners-of-listener-sets",
        summary: "Gives a route that names a whole ListenerSet an entry for each of its listeners as well.",
        clauses: &["blind:ListenerSetRouteStatusScopedToParentRef.1"],
        seam: Seam::Statuses(|| say(|seen, statuses| speak_of_listeners(seen, statuses))),
    },
    Fault {
        name: "takes-protocols-of-no-domain-for-http",
        summary: "Takes a protocol of a listener that nobody knows, and that stands for no domain, for HTTP.",
        clauses: &["GEP1364-39", "upstream:GatewayListenerUnsupportedProtocol"],
        seam: Seam::Snapshot(|| view(cases::speak_http)),
    },
    Fault {
        name: "does-not-know-https-ports",
        summary: "Does not resolve a reference to a port of appProtocol HTTPS, though there is a policy for it.",
        clauses: &["upstream:BackendTLSPolicySANValidation"],
        seam: Seam::Snapshot(|| view(cases::forget_https)),
    },
    Fault {
        name: "needs-protocols-of-encrypted-ports-for-calls",
        summary: "Does not resolve a reference of a GRPCRoute to a port with a policy that does not say what it speaks.",
        clauses: &["upstream:BackendTLSPolicyGRPCRoute"],
        seam: Seam::Snapshot(|| view(cases::speak_http_1)),
    },
    Fault {
        name: "finds-no-listener-in-whole-listener-sets",
        summary: "Says NoMatchingParent of an HTTPRoute that names a whole ListenerSet, none of whose listeners lets it in.",
        clauses: &["upstream:ListenerSetAllowedRoutesNamespaces"],
        seam: Seam::Statuses(|| say(|_, statuses| cases::find_no_listeners(statuses))),
    },
    Fault {
        name: "refuses-listener-sets-that-lose-to-others",
        summary: "Refuses a ListenerSet as a whole if one of its listeners has another protocol than that of an older ListenerSet.",
        clauses: &["upstream:ListenerSetProtocolConflict"],
        seam: Seam::Statuses(|| say(|seen, statuses| cases::refuse_losers(seen, statuses))),
    },
    Fault {
        name: "lets-wildcards-in-at-other-wildcards",
        summary: "Accepts a TLSRoute with a wildcard at a listener with a wildcard, whatever is behind the two.",
        clauses: &["upstream:TLSRouteInvalidNoMatchingListenerHostname"],
        seam: Seam::Statuses(|| say(|seen, statuses| cases::let_wildcards_in(seen, statuses))),
    },
    Fault {
        name: "accepts-tlsroutes-of-whole-gateways-of-https",
        summary: "Accepts a TLSRoute that names a whole Gateway with HTTPS listeners and none of TLS.",
        clauses: &["GEP1364-35", "upstream:TLSRouteInvalidNoMatchingListener"],
        seam: Seam::Statuses(|| say(|seen, statuses| cases::accept_at_https(seen, statuses))),
    },
    Fault {
        name: "says-nothing-of-policies-of-idle-services",
        summary: "Says nothing of a policy whose Service has no endpoint that is ready.",
        clauses: &["upstream:BackendTLSPolicyObservedGenerationBump"],
        seam: Seam::Statuses(|| say(|seen, statuses| cases::skip_idle(seen, statuses))),
    },
    Fault {
        name: "lists-no-kinds-of-later-listeners",
        summary: "Lists no kinds of a listener that its Gateway did not have at first.",
        clauses: &["upstream:GatewayModifyListeners"],
        seam: Seam::Statuses(|| Box::<cases::ListsFirst>::default()),
    },
];
