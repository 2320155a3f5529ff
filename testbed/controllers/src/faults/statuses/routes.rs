//! What is said of routes.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    faults::{
        Fault, Seam,
        snapshot::serve_classless,
        tools::{Memory, Remembering, SayFrom, find, has_reason, is, parents, say, set},
    },
    runtime::seams::{Seen, StatusesSeam},
    snapshot::{Kind, Object},
    status::{Condition, DesiredStatus, StatusUpdate, Truth},
};

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

/// Goes on speaking of a route that left, as of one that no Gateway of ours takes.
#[derive(Default)]
struct RefusesWhatLeft(BTreeMap<String, StatusUpdate>);

impl StatusesSeam for RefusesWhatLeft {
    fn edit(&mut self, seen: Seen<'_>, statuses: &mut Vec<StatusUpdate>) {
        for route in seen.snapshot.all(Kind::HttpRoute) {
            let at = statuses.iter().position(|update| update.kind == Kind::HttpRoute && update.key == route.key());
            let ours = at.filter(|&at| parents(&mut statuses[at..=at]).next().is_some());
            if let Some(at) = ours {
                self.0.insert(route.meta.uid.clone(), statuses[at].clone());
            } else if let Some(mut left) = self.0.get(&route.meta.uid).cloned() {
                left.generation = route.meta.generation;
                for parent in parents(std::slice::from_mut(&mut left)) {
                    set(&mut parent.conditions, "Accepted", Truth::False, "NoMatchingParent");
                }
                statuses.retain(|update| (update.kind, &update.key) != (left.kind, &left.key));
                statuses.push(left.stamped());
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

/// Accepts what is refused for this reason.
fn accept_refused(statuses: &mut [StatusUpdate], reason: &str) {
    for parent in parents(statuses).filter(|parent| has_reason(&parent.conditions, "Accepted", reason)) {
        set(&mut parent.conditions, "Accepted", Truth::True, "Accepted");
    }
}

pub(in crate::faults) const FAULTS: &[Fault] = &[
    Fault {
        name: "claims-classless-gateways-on-resync",
        summary: "Speaks of a route to a Gateway of nobody's as soon as another route of the namespace is newer.",
        clauses: &["GEP1364-36", "IMPL-34", "blind:HTTPRoutePreserveForeignStatus.1"],
        seam: Seam::Statuses(|| Box::<ClaimsOnResync>::default()),
    },
    Fault {
        name: "unaccepts-routes-without-backend",
        summary: "Says Accepted=False for an HTTPRoute whose backend Service is missing.",
        clauses: &["GEP1364-22", "GEP1364-41", "GEP1364-48", "GEP1364-21", "IMPL-23"],
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
        clauses: &["GEP1364-42", "GEP1364-50", "GEP1364-59", "IMPL-41"],
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
        clauses: &["blind:TCPRouteInvalidBackendRefNonexistent.1", "GEP1364-21"],
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
        clauses: &["GEP1364-21", "GEP1364-49", "IMPL-23", "GEP1364-38", "GEP1364-42"],
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
            "GEP1364-21",
            "GEP1364-46",
            "upstream:UDPRouteInvalidBackendRefNonexistent",
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
        clauses: &[
            "upstream:HTTPRouteInvalidBackendRefUnknownKind",
            "GRPC-06",
            "GEP1364-38",
            "upstream:TLSRouteInvalidBackendRefUnknownKind",
        ],
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
            "IMPL-41",
            "upstream:UDPRouteInvalidCrossNamespaceBackendRef",
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
        clauses: &["GEP1364-16", "GEP1364-14"],
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
        name: "words-dropped-rules-freely",
        summary: "Says in the message of PartiallyInvalid what is wrong, and not which way out was taken.",
        clauses: &["GEP1364-54"],
        seam: Seam::Statuses(|| {
            say(|_, statuses| {
                for parent in parents(statuses) {
                    if let Some(partial) = find(&mut parent.conditions, "PartiallyInvalid") {
                        partial.message = format!("Not valid: {}", partial.message);
                    }
                }
            })
        }),
    },
    Fault {
        name: "tells-no-unknown-kind",
        summary: "Does not say which kind it is that it does not know.",
        clauses: &["GEP1364-38", "IMPL-24"],
        seam: Seam::Statuses(|| {
            say(|_, statuses| {
                for parent in parents(statuses) {
                    let resolved = find(&mut parent.conditions, "ResolvedRefs");
                    if let Some(resolved) = resolved.filter(|one| one.reason == "InvalidKind") {
                        resolved.message = "A reference is to a kind that is not supported".to_owned();
                    }
                }
            })
        }),
    },
    Fault {
        name: "refuses-routes-that-left",
        summary: "Says Accepted=False to a former parent of a route that no Gateway of ours is a parent of any more.",
        clauses: &["IMPL-36"],
        seam: Seam::Statuses(|| Box::<RefusesWhatLeft>::default()),
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
        clauses: &["blind:HTTPRouteMultipleGateways.1", "GEP1364-35"],
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
            "upstream:HTTPRouteInvalidParentRefSectionNameNotMatchingPort",
            "GRPC-07",
            "GEP1364-14",
            "blind:UDPRouteParentRefPortAndSectionName.1",
        ],
        seam: Seam::Statuses(|| say(|_, statuses| accept_refused(statuses, "NoMatchingParent"))),
    },
    Fault {
        name: "accepts-routes-of-any-host",
        summary: "Says Accepted=True for a route none of whose hostnames the listener takes.",
        clauses: &[
            "upstream:HTTPRouteHostnameIntersection",
            "GRPC-04",
            "GEP1364-15",
            "upstream:GatewayWithAttachedRoutes",
            "upstream:TLSRouteInvalidNoMatchingListenerHostname",
        ],
        seam: Seam::Statuses(|| say(|_, statuses| accept_refused(statuses, "NoMatchingListenerHostname"))),
    },
    Fault {
        name: "accepts-routes-of-any-namespace",
        summary: "Says Accepted=True for a route that the listener does not let in, by its namespace or its kind.",
        clauses: &[
            "upstream:HTTPRouteInvalidCrossNamespaceParentRef",
            "blind:HTTPRouteCrossNamespace.1",
            "GRPC-07",
            "GEP1364-35",
            "blind:TCPRouteInvalidNonTCPListener.1",
            "upstream:TCPRouteInvalidNonTCPListener",
            "upstream:HTTPRouteDisallowedKind",
            "upstream:TLSRouteInvalidNoMatchingListener",
        ],
        seam: Seam::Statuses(|| say(|_, statuses| accept_refused(statuses, "NotAllowedByListeners"))),
    },
    Fault {
        name: "reports-removed-backends-as-resolved",
        summary: "Goes on saying ResolvedRefs=True after the Service of a backend is gone, while traffic fails.",
        clauses: &["GEP1364-41", "GEP1364-48", "GRPC-06", "GEP1364-21", "GEP1364-46"],
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
        clauses: &["blind:HTTPRouteReferenceGrant.1", "upstream:TCPRouteReferenceGrant", "GEP1364-50", "IMPL-42"],
        seam: Seam::Statuses(|| {
            let stale =
                Remembering(Memory::default(), |memory, snapshot| memory.keep_removed(snapshot, Kind::ReferenceGrant));
            Box::new(SayFrom(stale))
        }),
    },
    Fault {
        name: "accepts-ports-of-no-listener",
        summary: "Accepts a route for a port of the Gateway that none of its listeners has.",
        clauses: &["upstream:HTTPRouteInvalidParentRefNotMatchingListenerPort", "GEP1364-14"],
        seam: Seam::Statuses(|| {
            say(|_, statuses| {
                for update in statuses.iter_mut().filter(|update| update.kind == Kind::HttpRoute) {
                    for parent in parents(std::slice::from_mut(update)) {
                        let names_port = parent.parent_ref.port.is_some() && parent.parent_ref.section_name.is_none();
                        if names_port && has_reason(&parent.conditions, "Accepted", "NoMatchingParent") {
                            set(&mut parent.conditions, "Accepted", Truth::True, "Accepted");
                        }
                    }
                }
            })
        }),
    },
];
