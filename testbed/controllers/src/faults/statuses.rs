use std::collections::{BTreeMap, BTreeSet};

use super::{
    Fault, Seam,
    snapshot::serve_classless,
    tools::{Memory, Remembering, Say, SayFrom, each, find, has_reason, is, listeners, own, parents, set},
};
use crate::{
    model::RouteKind,
    runtime::seams::{Seen, StatusesSeam},
    snapshot::{Kind, Object},
    status::{Condition, DesiredStatus, StatusUpdate, Truth},
};

fn say(change: fn(Seen<'_>, &mut Vec<StatusUpdate>)) -> Box<dyn StatusesSeam> {
    Box::new(Say(change))
}

/// Keeps the highest count of routes that a listener ever had.
#[derive(Default)]
struct NeverCountsDown(BTreeMap<(String, String), usize>);

impl StatusesSeam for NeverCountsDown {
    fn edit(&mut self, _: Seen<'_>, statuses: &mut Vec<StatusUpdate>) {
        for update in statuses {
            let gateway = update.key.to_string();
            if let DesiredStatus::Gateway { listeners, .. } = &mut update.status {
                for listener in listeners {
                    let highest = self.0.entry((gateway.clone(), listener.name.clone())).or_default();
                    *highest = (*highest).max(listener.attached_routes);
                    listener.attached_routes = *highest;
                }
            }
        }
    }
}

/// Goes on saying that a route is partially invalid after it was once.
#[derive(Default)]
struct KeepsPartiallyInvalid(BTreeMap<String, Condition>);

impl StatusesSeam for KeepsPartiallyInvalid {
    fn edit(&mut self, seen: Seen<'_>, statuses: &mut Vec<StatusUpdate>) {
        for update in statuses.iter_mut().filter(|update| update.kind == Kind::HttpRoute) {
            let generation = update.generation;
            let Some(uid) = seen.snapshot.get(update.kind, &update.key.namespace, &update.key.name) else { continue };
            let uid = uid.meta.uid.clone();
            for parent in parents(std::slice::from_mut(update)) {
                if let Some(partial) = find(&mut parent.conditions, "PartiallyInvalid") {
                    self.0.insert(uid.clone(), partial.clone());
                } else if let Some(before) = self.0.get(&uid) {
                    let observed_generation = Some(generation);
                    parent.conditions.push(Condition { observed_generation, ..before.clone() });
                }
            }
        }
    }
}

/// Goes on saying that there is no room for a Gateway after there was none once.
#[derive(Default)]
struct NeverFindsRoom(BTreeMap<String, Condition>);

impl StatusesSeam for NeverFindsRoom {
    fn edit(&mut self, seen: Seen<'_>, statuses: &mut Vec<StatusUpdate>) {
        for update in statuses.iter_mut().filter(|update| update.kind == Kind::Gateway) {
            let Some(object) = seen.snapshot.get(update.kind, &update.key.namespace, &update.key.name) else {
                continue;
            };
            let uid = object.meta.uid.clone();
            let DesiredStatus::Gateway { conditions, .. } = &mut update.status else { continue };
            let Some(programmed) = find(conditions, "Programmed") else { continue };
            if programmed.reason == "NoResources" {
                self.0.insert(uid, programmed.clone());
            } else if let Some(before) = self.0.get(&uid) {
                *programmed = Condition { observed_generation: programmed.observed_generation, ..before.clone() };
            }
        }
    }
}

/// Where in the order of all writes an object stands.
fn version(object: &Object) -> u64 {
    object.raw["metadata"]["resourceVersion"].as_str().and_then(|version| version.parse().ok()).unwrap_or_default()
}

/// Speaks of routes to Gateways of nobody's once a route beside them is newer.
#[derive(Default)]
struct ClaimsOnResync(BTreeSet<String>);

impl StatusesSeam for ClaimsOnResync {
    fn edit(&mut self, seen: Seen<'_>, statuses: &mut Vec<StatusUpdate>) {
        let all: Vec<_> = seen.snapshot.all(Kind::HttpRoute).collect();
        let mut claimed = seen.otherwise(serve_classless).statuses;
        claimed.retain(|update| {
            let Some(object) = all.iter().find(|object| update.kind == Kind::HttpRoute && object.key() == update.key)
            else {
                return false;
            };
            let beside = |other: &Object| other.meta.namespace == object.meta.namespace;
            if all.iter().any(|other| beside(other) && version(other) > version(object)) {
                self.0.insert(object.meta.uid.clone());
            }
            self.0.contains(&object.meta.uid)
        });
        for update in claimed {
            let is_same = |one: &&mut StatusUpdate| one.kind == update.kind && one.key == update.key;
            match statuses.iter_mut().find(is_same) {
                Some(known) => {
                    if parents(std::slice::from_mut(known)).next().is_none() {
                        *known = update;
                    }
                }
                None => statuses.push(update),
            }
        }
    }
}

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "claims-classless-gateways-on-resync",
        summary: "Speaks of a route to a Gateway of nobody's as soon as another route of the namespace is newer.",
        clauses: &["GEP1364-36", "IMPL-34"],
        seam: Seam::Statuses(|| Box::<ClaimsOnResync>::default()),
    },
    Fault {
        name: "programs-gateways-without-room",
        summary: "Says Programmed=True for a Gateway that there is no room for.",
        clauses: &["GEP1364-40"],
        seam: Seam::Statuses(|| {
            say(|_, statuses| {
                for conditions in own(statuses, Kind::Gateway) {
                    if has_reason(conditions, "Programmed", "NoResources") {
                        set(conditions, "Programmed", Truth::True, "Programmed");
                    }
                }
            })
        }),
    },
    Fault {
        name: "calls-missing-room-pending",
        summary: "Gives Pending as the reason where there is no room for a Gateway.",
        clauses: &["GEP1364-40"],
        seam: Seam::Statuses(|| {
            say(|_, statuses| {
                for conditions in own(statuses, Kind::Gateway) {
                    if has_reason(conditions, "Programmed", "NoResources") {
                        set(conditions, "Programmed", Truth::False, "Pending");
                    }
                }
            })
        }),
    },
    Fault {
        name: "never-finds-room-again",
        summary: "Goes on saying NoResources once there is room for a Gateway again.",
        clauses: &["GEP1364-40"],
        seam: Seam::Statuses(|| Box::<NeverFindsRoom>::default()),
    },
    Fault {
        name: "unaccepts-routes-without-backend",
        summary: "Says Accepted=False for an HTTPRoute whose backend Service is missing.",
        clauses: &["GEP1364-22", "GEP1364-41", "GEP1364-48"],
        seam: Seam::Statuses(|| {
            say(|_, statuses| {
                for update in statuses.iter_mut().filter(|update| update.kind == Kind::HttpRoute) {
                    for parent in parents(std::slice::from_mut(update)) {
                        if has_reason(&parent.conditions, "ResolvedRefs", "BackendNotFound") {
                            set(&mut parent.conditions, "Accepted", Truth::False, "BackendNotFound");
                        }
                    }
                }
            })
        }),
    },
    Fault {
        name: "unaccepts-routes-without-grant",
        summary: "Says Accepted=False for an HTTPRoute whose backend no ReferenceGrant permits.",
        clauses: &["GEP1364-42", "GEP1364-50"],
        seam: Seam::Statuses(|| {
            say(|_, statuses| {
                for update in statuses.iter_mut().filter(|update| update.kind == Kind::HttpRoute) {
                    for parent in parents(std::slice::from_mut(update)) {
                        if has_reason(&parent.conditions, "ResolvedRefs", "RefNotPermitted") {
                            set(&mut parent.conditions, "Accepted", Truth::False, "RefNotPermitted");
                        }
                    }
                }
            })
        }),
    },
    Fault {
        name: "unaccepts-tcproutes-without-backend",
        summary: "Says Accepted=False for a TCPRoute whose backend Service is missing, as the GEP once had it.",
        clauses: &["blind:TCPRouteInvalidBackendRefNonexistent.1"],
        seam: Seam::Statuses(|| {
            say(|_, statuses| {
                for update in statuses.iter_mut().filter(|update| update.kind == Kind::TcpRoute) {
                    for parent in parents(std::slice::from_mut(update)) {
                        if has_reason(&parent.conditions, "ResolvedRefs", "BackendNotFound") {
                            set(&mut parent.conditions, "Accepted", Truth::False, "BackendNotFound");
                        }
                    }
                }
            })
        }),
    },
    Fault {
        name: "resolves-one-of-many",
        summary: "Says ResolvedRefs=True as soon as one backend of a route with several resolves.",
        clauses: &["GEP1364-21", "GEP1364-49", "IMPL-23"],
        seam: Seam::Statuses(|| {
            say(|seen, statuses| {
                for update in statuses.iter_mut().filter(|update| update.kind == Kind::HttpRoute) {
                    let key = &update.key;
                    let count = seen
                        .snapshot
                        .http_route(&key.namespace, &key.name)
                        .map_or(0, |(_, route)| route.rules.iter().map(|rule| rule.backend_refs.len()).sum::<usize>());
                    if count > 1 {
                        for parent in parents(std::slice::from_mut(update)) {
                            set(&mut parent.conditions, "ResolvedRefs", Truth::True, "ResolvedRefs");
                        }
                    }
                }
            })
        }),
    },
    Fault {
        name: "calls-missing-backends-invalid-kinds",
        summary: "Gives InvalidKind as the reason for a Service that does not exist.",
        clauses: &[
            "GEP1364-48",
            "blind:HTTPRouteRequestMirror.6",
            "upstream:HTTPRouteInvalidNonExistentBackendRef",
            "GRPC-06",
        ],
        seam: Seam::Statuses(|| {
            say(|_, statuses| {
                for parent in parents(statuses) {
                    if has_reason(&parent.conditions, "ResolvedRefs", "BackendNotFound") {
                        set(&mut parent.conditions, "ResolvedRefs", Truth::False, "InvalidKind");
                    }
                }
            })
        }),
    },
    Fault {
        name: "calls-unknown-kinds-missing-backends",
        summary: "Gives BackendNotFound as the reason for a reference of an unknown kind.",
        clauses: &["upstream:HTTPRouteInvalidBackendRefUnknownKind", "GRPC-06"],
        seam: Seam::Statuses(|| {
            say(|_, statuses| {
                for parent in parents(statuses) {
                    if has_reason(&parent.conditions, "ResolvedRefs", "InvalidKind") {
                        set(&mut parent.conditions, "ResolvedRefs", Truth::False, "BackendNotFound");
                    }
                }
            })
        }),
    },
    Fault {
        name: "tells-whether-forbidden-services-exist",
        summary: "Gives BackendNotFound as the reason for a reference that no ReferenceGrant permits.",
        clauses: &[
            "GEP1364-42",
            "GEP1364-50",
            "upstream:HTTPRouteInvalidCrossNamespaceBackendRef",
            "upstream:TCPRouteInvalidCrossNamespaceBackendRef",
        ],
        seam: Seam::Statuses(|| {
            say(|_, statuses| {
                for parent in parents(statuses) {
                    if has_reason(&parent.conditions, "ResolvedRefs", "RefNotPermitted") {
                        set(&mut parent.conditions, "ResolvedRefs", Truth::False, "BackendNotFound");
                    }
                }
            })
        }),
    },
    Fault {
        name: "leaves-resolved-refs-off-refused-routes",
        summary: "Publishes Accepted=False without ResolvedRefs beside it.",
        clauses: &["GEP1364-15", "blind:HTTPRouteHostnameIntersection.3"],
        seam: Seam::Statuses(|| {
            say(|_, statuses| {
                for parent in parents(statuses) {
                    if is(&parent.conditions, "Accepted", Truth::False) {
                        parent.conditions.retain(|condition| condition.r#type != "ResolvedRefs");
                    }
                }
            })
        }),
    },
    Fault {
        name: "publishes-partially-invalid-false",
        summary: "Publishes PartiallyInvalid=False on valid routes.",
        clauses: &["GEP1364-16"],
        seam: Seam::Statuses(|| {
            say(|_, statuses| {
                for update in statuses {
                    let generation = update.generation;
                    for parent in parents(std::slice::from_mut(update)) {
                        if !is(&parent.conditions, "PartiallyInvalid", Truth::True) {
                            let fine = Condition::new("PartiallyInvalid", false, "AllRulesValid", "");
                            parent.conditions.push(Condition { observed_generation: Some(generation), ..fine });
                        }
                    }
                }
            })
        }),
    },
    Fault {
        name: "keeps-partially-invalid",
        summary: "Goes on saying PartiallyInvalid=True after the route was repaired.",
        clauses: &["GEP1364-16", "blind:Generic.12"],
        seam: Seam::Statuses(|| Box::<KeepsPartiallyInvalid>::default()),
    },
    Fault {
        name: "hides-dropped-rules",
        summary: "Drops an invalid rule without saying PartiallyInvalid.",
        clauses: &["GEP1364-54"],
        seam: Seam::Statuses(|| {
            say(|_, statuses| {
                for parent in parents(statuses) {
                    parent.conditions.retain(|condition| condition.r#type != "PartiallyInvalid");
                }
            })
        }),
    },
    Fault {
        name: "observes-an-old-generation-of-routes",
        summary: "Keeps observedGeneration 1 on routes whatever the generation is.",
        clauses: &["GEP1364-08", "IMPL-25", "blind:Generic.9"],
        seam: Seam::Statuses(|| {
            say(|_, statuses| {
                for parent in parents(statuses) {
                    parent.conditions.iter_mut().for_each(|condition| condition.observed_generation = Some(1));
                }
            })
        }),
    },
    Fault {
        name: "observes-a-future-generation-of-routes",
        summary: "Publishes an observedGeneration above the generation on routes.",
        clauses: &["IMPL-25", "K8S-06"],
        seam: Seam::Statuses(|| {
            say(|_, statuses| {
                for condition in parents(statuses).flat_map(|parent| &mut parent.conditions) {
                    condition.observed_generation = condition.observed_generation.map(|generation| generation + 1);
                }
            })
        }),
    },
    Fault {
        name: "observes-no-generation-of-listeners",
        summary: "Leaves observedGeneration off the conditions of listeners.",
        clauses: &["GEP1364-08", "blind:Generic.10"],
        seam: Seam::Statuses(|| {
            say(|_, statuses| {
                for listener in listeners(statuses) {
                    listener.conditions.iter_mut().for_each(|condition| condition.observed_generation = None);
                }
            })
        }),
    },
    Fault {
        name: "observes-an-old-generation-of-listeners",
        summary: "Keeps observedGeneration 1 on the conditions of listeners.",
        clauses: &["GEP1364-08", "blind:GatewayObservedGenerationBump.1", "blind:Generic.10"],
        seam: Seam::Statuses(|| {
            say(|_, statuses| {
                for listener in listeners(statuses) {
                    listener.conditions.iter_mut().for_each(|condition| condition.observed_generation = Some(1));
                }
            })
        }),
    },
    Fault {
        name: "merges-parent-entries",
        summary: "Publishes one entry for a Gateway however many of its listeners the parentRefs name.",
        clauses: &["IMPL-20", "blind:Generic.8", "blind:HTTPRouteListenerHostnameMatching.1"],
        seam: Seam::Statuses(|| {
            say(|_, statuses| {
                for update in statuses {
                    if let DesiredStatus::Route { parents } = &mut update.status {
                        let mut seen = Vec::new();
                        parents.retain(|parent| {
                            let of = (parent.parent_ref.namespace.clone(), parent.parent_ref.name.clone());
                            let is_first = !seen.contains(&of);
                            seen.push(of);
                            is_first
                        });
                    }
                }
            })
        }),
    },
    Fault {
        name: "forgets-sections-in-status",
        summary: "Leaves sectionName and port out of the parentRefs in status.",
        clauses: &["blind:Generic.8", "blind:TCPRouteParentRefPortAndSectionName.1"],
        seam: Seam::Statuses(|| {
            say(|_, statuses| {
                for update in statuses {
                    if let DesiredStatus::Route { parents } = &mut update.status {
                        for parent in parents.iter_mut() {
                            parent.parent_ref.section_name = None;
                            parent.parent_ref.port = None;
                        }
                        let mut seen = Vec::new();
                        parents.retain(|parent| {
                            let is_first = !seen.contains(&parent.parent_ref);
                            seen.push(parent.parent_ref.clone());
                            is_first
                        });
                    }
                }
            })
        }),
    },
    Fault {
        name: "shares-one-refusal-with-all-parents",
        summary: "Refuses a route at every parent as soon as one refuses it.",
        clauses: &["blind:HTTPRouteMultipleGateways.1"],
        seam: Seam::Statuses(|| {
            say(|_, statuses| {
                for update in statuses {
                    let own = parents(std::slice::from_mut(update));
                    let refused = own.filter(|parent| is(&parent.conditions, "Accepted", Truth::False)).last().cloned();
                    for parent in parents(std::slice::from_mut(update)) {
                        if let Some(refused) = &refused {
                            parent.conditions = refused.conditions.clone();
                        }
                    }
                }
            })
        }),
    },
    Fault {
        name: "accepts-routes-without-matching-section",
        summary: "Says Accepted=True for a parentRef whose sectionName and port match no listener.",
        clauses: &[
            "upstream:HTTPRouteInvalidParentRefNotMatchingSectionName",
            "upstream:HTTPRouteInvalidParentRefNotMatchingListenerPort",
            "upstream:HTTPRouteInvalidParentRefSectionNameNotMatchingPort",
            "GRPC-07",
        ],
        seam: Seam::Statuses(|| {
            say(|_, statuses| {
                for parent in parents(statuses) {
                    if has_reason(&parent.conditions, "Accepted", "NoMatchingParent") {
                        set(&mut parent.conditions, "Accepted", Truth::True, "Accepted");
                    }
                }
            })
        }),
    },
    Fault {
        name: "accepts-routes-of-any-host",
        summary: "Says Accepted=True for a route none of whose hostnames the listener takes.",
        clauses: &["upstream:HTTPRouteHostnameIntersection", "GRPC-04"],
        seam: Seam::Statuses(|| {
            say(|_, statuses| {
                for parent in parents(statuses) {
                    if has_reason(&parent.conditions, "Accepted", "NoMatchingListenerHostname") {
                        set(&mut parent.conditions, "Accepted", Truth::True, "Accepted");
                    }
                }
            })
        }),
    },
    Fault {
        name: "accepts-routes-of-any-namespace",
        summary: "Says Accepted=True for a route from a namespace that the listener does not let in.",
        clauses: &[
            "upstream:HTTPRouteInvalidCrossNamespaceParentRef",
            "upstream:HTTPRouteDisallowedKind",
            "blind:HTTPRouteCrossNamespace.1",
            "GRPC-07",
        ],
        seam: Seam::Statuses(|| {
            say(|_, statuses| {
                for parent in parents(statuses) {
                    if has_reason(&parent.conditions, "Accepted", "NotAllowedByListeners") {
                        set(&mut parent.conditions, "Accepted", Truth::True, "Accepted");
                    }
                }
            })
        }),
    },
    Fault {
        name: "counts-refused-routes",
        summary: "Counts routes in attachedRoutes that refer to the Gateway but are not accepted.",
        clauses: &["blind:GatewayWithAttachedRoutes.1", "blind:HTTPRouteInvalidCrossNamespaceParentRef.2"],
        seam: Seam::Statuses(|| {
            say(|_, statuses| {
                let refused: Vec<(String, String)> = statuses
                    .iter_mut()
                    .flat_map(|update| {
                        let namespace = update.key.namespace.clone();
                        let refused = parents(std::slice::from_mut(update))
                            .filter(|parent| is(&parent.conditions, "Accepted", Truth::False))
                            .map(|parent| {
                                let of = parent.parent_ref.namespace.clone().unwrap_or_else(|| namespace.clone());
                                (of, parent.parent_ref.name.clone())
                            });
                        refused.collect::<Vec<_>>()
                    })
                    .collect();
                for update in statuses.iter_mut().filter(|update| update.kind == Kind::Gateway) {
                    let key = (update.key.namespace.clone(), update.key.name.clone());
                    let more = refused.iter().filter(|gateway| **gateway == key).count();
                    for listener in listeners(std::slice::from_mut(update)) {
                        listener.attached_routes += more;
                    }
                }
            })
        }),
    },
    Fault {
        name: "counts-without-sections",
        summary: "Counts routes in attachedRoutes on listeners that their sectionName does not name.",
        clauses: &["blind:HTTPRouteListenerHostnameMatching.2"],
        seam: Seam::Statuses(|| {
            say(|seen, statuses| {
                let otherwise = seen.otherwise(|snapshot| {
                    for kind in [Kind::HttpRoute, Kind::TcpRoute] {
                        snapshot.edit(kind, |route| {
                            each(route, "/spec/parentRefs").for_each(|of| super::tools::drop_field(of, "sectionName"));
                        });
                    }
                });
                copy_counts(otherwise.statuses, statuses);
            })
        }),
    },
    Fault {
        name: "counts-without-ports",
        summary: "Counts routes in attachedRoutes on listeners of ports that their parentRef does not name.",
        clauses: &["blind:HTTPRouteListenerPortMatching.2"],
        seam: Seam::Statuses(|| {
            say(|seen, statuses| {
                let otherwise = seen.otherwise(|snapshot| {
                    snapshot.edit(Kind::HttpRoute, |route| {
                        each(route, "/spec/parentRefs").for_each(|of| super::tools::drop_field(of, "port"));
                    });
                });
                copy_counts(otherwise.statuses, statuses);
            })
        }),
    },
    Fault {
        name: "never-counts-down",
        summary: "Does not lower attachedRoutes when a route goes.",
        clauses: &["blind:HTTPRouteHostnameIntersection.2"],
        seam: Seam::Statuses(|| Box::<NeverCountsDown>::default()),
    },
    Fault {
        name: "counts-no-routes-without-certificate",
        summary: "Says attachedRoutes 0 on a listener whose references do not resolve.",
        clauses: &["upstream:GatewayWithAttachedRoutes"],
        seam: Seam::Statuses(|| {
            say(|_, statuses| {
                for listener in listeners(statuses) {
                    if is(&listener.conditions, "ResolvedRefs", Truth::False) {
                        listener.attached_routes = 0;
                    }
                }
            })
        }),
    },
    Fault {
        name: "lists-kinds-it-cannot-route",
        summary: "Repeats in supportedKinds what allowedRoutes asks for, supported or not.",
        clauses: &["blind:GatewayInvalidRouteKind.1"],
        seam: Seam::Statuses(|| {
            say(|seen, statuses| {
                for update in statuses.iter_mut().filter(|update| update.kind == Kind::Gateway) {
                    let Some((_, spec)) = seen.snapshot.gateway(&update.key.namespace, &update.key.name) else {
                        continue;
                    };
                    for listener in listeners(std::slice::from_mut(update)) {
                        let asked = spec.listeners.iter().find(|of| of.name == listener.name);
                        let kinds: Vec<RouteKind> = asked.map(|of| of.allowed_routes.kinds.clone()).unwrap_or_default();
                        if !kinds.is_empty() {
                            listener.supported_kinds = kinds;
                        }
                    }
                }
            })
        }),
    },
    Fault {
        name: "resolves-unknown-route-kinds",
        summary: "Says ResolvedRefs=True on a listener whose allowedRoutes ask for an unknown kind.",
        clauses: &["upstream:GatewayInvalidRouteKind"],
        seam: Seam::Statuses(|| {
            say(|_, statuses| {
                for listener in listeners(statuses) {
                    if has_reason(&listener.conditions, "ResolvedRefs", "InvalidRouteKinds") {
                        set(&mut listener.conditions, "ResolvedRefs", Truth::True, "ResolvedRefs");
                    }
                }
            })
        }),
    },
    Fault {
        name: "programs-listeners-without-certificate",
        summary: "Says Programmed=True on an HTTPS listener whose certificate is not usable.",
        clauses: &["blind:GatewayInvalidTLSConfiguration.1"],
        seam: Seam::Statuses(|| {
            say(|_, statuses| {
                for listener in listeners(statuses) {
                    if has_reason(&listener.conditions, "ResolvedRefs", "InvalidCertificateRef") {
                        set(&mut listener.conditions, "Programmed", Truth::True, "Programmed");
                    }
                }
            })
        }),
    },
    Fault {
        name: "resolves-unusable-certificates",
        summary: "Says ResolvedRefs=True on an HTTPS listener whose certificate is not usable.",
        clauses: &["GEP1364-37", "upstream:GatewayInvalidTLSConfiguration"],
        seam: Seam::Statuses(|| {
            say(|_, statuses| {
                for listener in listeners(statuses) {
                    if has_reason(&listener.conditions, "ResolvedRefs", "InvalidCertificateRef") {
                        set(&mut listener.conditions, "ResolvedRefs", Truth::True, "ResolvedRefs");
                    }
                }
            })
        }),
    },
    Fault {
        name: "programs-listeners-without-grant",
        summary: "Says Programmed=True on an HTTPS listener whose certificate no ReferenceGrant permits.",
        clauses: &["blind:GatewaySecretMissingReferenceGrant.1"],
        seam: Seam::Statuses(|| {
            say(|_, statuses| {
                for listener in listeners(statuses) {
                    if has_reason(&listener.conditions, "ResolvedRefs", "RefNotPermitted") {
                        set(&mut listener.conditions, "Programmed", Truth::True, "Programmed");
                    }
                }
            })
        }),
    },
    Fault {
        name: "programs-unsupported-protocols",
        summary: "Says Programmed=True on a listener of an unknown protocol.",
        clauses: &["IMPL-22", "blind:GatewayListenerUnsupportedProtocol.1"],
        seam: Seam::Statuses(|| {
            say(|_, statuses| {
                for listener in listeners(statuses) {
                    if has_reason(&listener.conditions, "Accepted", "UnsupportedProtocol") {
                        set(&mut listener.conditions, "Programmed", Truth::True, "Programmed");
                    }
                }
            })
        }),
    },
    Fault {
        name: "accepts-unsupported-protocols",
        summary: "Says Accepted=True on a listener of an unknown protocol.",
        clauses: &["GEP1364-39", "upstream:GatewayListenerUnsupportedProtocol"],
        seam: Seam::Statuses(|| {
            say(|_, statuses| {
                for listener in listeners(statuses) {
                    if has_reason(&listener.conditions, "Accepted", "UnsupportedProtocol") {
                        set(&mut listener.conditions, "Accepted", Truth::True, "Accepted");
                    }
                }
            })
        }),
    },
    Fault {
        name: "sums-bad-listeners-up-as-good",
        summary: "Says Accepted/Accepted on a Gateway some of whose listeners are not valid.",
        clauses: &["GEP1364-11"],
        seam: Seam::Statuses(|| {
            say(|_, statuses| {
                for conditions in own(statuses, Kind::Gateway) {
                    if has_reason(conditions, "Accepted", "ListenersNotValid") {
                        set(conditions, "Accepted", Truth::True, "Accepted");
                    }
                }
            })
        }),
    },
    Fault {
        name: "lets-the-first-of-two-protocols-win",
        summary: "Accepts the first of two listeners that speak different protocols on one port.",
        clauses: &["GEP1364-35"],
        seam: Seam::Statuses(|| {
            say(|_, statuses| {
                for update in statuses.iter_mut().filter(|update| update.kind == Kind::Gateway) {
                    let first = listeners(std::slice::from_mut(update))
                        .find(|listener| has_reason(&listener.conditions, "Conflicted", "ProtocolConflict"));
                    if let Some(listener) = first {
                        set(&mut listener.conditions, "Accepted", Truth::True, "Accepted");
                        listener.conditions.retain(|condition| condition.r#type != "Conflicted");
                    }
                }
            })
        }),
    },
    Fault {
        name: "publishes-overlapping-tls-false",
        summary: "Publishes OverlappingTLSConfig=False on listeners that do not overlap.",
        clauses: &["GEP1364-16"],
        seam: Seam::Statuses(|| {
            say(|_, statuses| {
                for update in statuses {
                    let generation = update.generation;
                    for listener in listeners(std::slice::from_mut(update)) {
                        if !is(&listener.conditions, "OverlappingTLSConfig", Truth::True) {
                            let fine = Condition::new("OverlappingTLSConfig", false, "NoOverlap", "");
                            listener.conditions.push(Condition { observed_generation: Some(generation), ..fine });
                        }
                    }
                }
            })
        }),
    },
    Fault {
        name: "publishes-no-listeners",
        summary: "Leaves status.listeners of a Gateway empty.",
        clauses: &["blind:Generic.10"],
        seam: Seam::Statuses(|| {
            say(|_, statuses| {
                for update in statuses {
                    if let DesiredStatus::Gateway { listeners, .. } = &mut update.status {
                        listeners.clear();
                    }
                }
            })
        }),
    },
    Fault {
        name: "programs-refused-gateways",
        summary: "Says Programmed=True on a Gateway that it does not accept.",
        clauses: &["IMPL-22", "blind:GatewayInvalidParametersRef.1"],
        seam: Seam::Statuses(|| {
            say(|_, statuses| {
                for conditions in own(statuses, Kind::Gateway) {
                    if is(conditions, "Accepted", Truth::False) {
                        set(conditions, "Programmed", Truth::True, "Programmed");
                    }
                }
            })
        }),
    },
    Fault {
        name: "leaves-programmed-off-gateways",
        summary: "Does not publish Programmed on Gateways.",
        clauses: &["GEP1364-27", "GEP1364-57"],
        seam: Seam::Statuses(|| {
            say(|_, statuses| {
                for update in statuses.iter_mut().filter(|update| update.kind == Kind::Gateway) {
                    let generation = update.generation;
                    for conditions in own(std::slice::from_mut(update), Kind::Gateway) {
                        conditions.retain(|condition| condition.r#type != "Programmed");
                        let ready = Condition::new("Ready", true, "Ready", "");
                        conditions.push(Condition { observed_generation: Some(generation), ..ready });
                    }
                }
            })
        }),
    },
    Fault {
        name: "leaves-refused-classes-pending",
        summary: "Does not say Accepted=False on a GatewayClass that it refuses.",
        clauses: &["IMPL-29", "IMPL-31"],
        seam: Seam::Statuses(|| {
            say(|_, statuses| {
                for conditions in own(statuses, Kind::GatewayClass) {
                    if is(conditions, "Accepted", Truth::False) {
                        set(conditions, "Accepted", Truth::Unknown, "Pending");
                    }
                }
            })
        }),
    },
    Fault {
        name: "leaves-supported-version-off",
        summary: "Does not publish SupportedVersion on an accepted GatewayClass.",
        clauses: &["GEP1364-08", "IMPL-19", "IMPL-25", "K8S-06", "blind:GatewayClassObservedGenerationBump.1"],
        seam: Seam::Statuses(|| {
            say(|_, statuses| {
                for conditions in own(statuses, Kind::GatewayClass) {
                    conditions.retain(|condition| condition.r#type != "SupportedVersion");
                }
            })
        }),
    },
    Fault {
        name: "lists-features-unsorted",
        summary: "Lists supportedFeatures of a GatewayClass in no order.",
        clauses: &["blind:GatewayClassObservedGenerationBump.1"],
        seam: Seam::Statuses(|| {
            say(|_, statuses| {
                for update in statuses {
                    if let DesiredStatus::GatewayClass { supported_features, .. } = &mut update.status {
                        supported_features.reverse();
                    }
                }
            })
        }),
    },
    Fault {
        name: "shows-another-address",
        summary: "Publishes an address at which nothing answers.",
        clauses: &["blind:GatewayOptionalAddressValue.1"],
        seam: Seam::Statuses(|| {
            say(|seen, statuses| {
                for update in statuses {
                    let asked = seen.snapshot.gateway(&update.key.namespace, &update.key.name);
                    if let DesiredStatus::Gateway { addresses, .. } = &mut update.status
                        && asked.is_some_and(|(_, spec)| !spec.addresses.is_empty())
                    {
                        addresses.iter_mut().for_each(|address| address.value = "127.0.0.2".into());
                    }
                }
            })
        }),
    },
    Fault {
        name: "reports-removed-backends-as-resolved",
        summary: "Goes on saying ResolvedRefs=True after the Service of a backend is gone, while traffic fails.",
        clauses: &["GEP1364-41", "GEP1364-48", "GRPC-06"],
        seam: Seam::Statuses(|| {
            let stale = Remembering(Memory::default(), |memory, snapshot| {
                memory.keep_removed(snapshot, Kind::Service);
                memory.keep_removed(snapshot, Kind::EndpointSlice);
            });
            Box::new(SayFrom(stale))
        }),
    },
    Fault {
        name: "reports-revoked-grants-as-resolved",
        summary: "Goes on saying ResolvedRefs=True after the ReferenceGrant is gone, while traffic fails.",
        clauses: &["blind:HTTPRouteReferenceGrant.1", "upstream:TCPRouteReferenceGrant"],
        seam: Seam::Statuses(|| {
            let stale =
                Remembering(Memory::default(), |memory, snapshot| memory.keep_removed(snapshot, Kind::ReferenceGrant));
            Box::new(SayFrom(stale))
        }),
    },
];

fn copy_counts(from: Vec<StatusUpdate>, to: &mut [StatusUpdate]) {
    for mut other in from {
        let Some(update) = to.iter_mut().find(|update| (update.kind, &update.key) == (other.kind, &other.key)) else {
            continue;
        };
        let counted: Vec<usize> = listeners(std::slice::from_mut(&mut other)).map(|of| of.attached_routes).collect();
        for (listener, count) in listeners(std::slice::from_mut(update)).zip(counted) {
            listener.attached_routes = count;
        }
    }
}
