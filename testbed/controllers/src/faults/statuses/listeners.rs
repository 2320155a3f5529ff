//! What is said of listeners.

use std::collections::BTreeMap;

use crate::{
    faults::{
        Fault, Seam,
        tools::{copy_counts, drop_field, each, has_reason, is, listeners, own, parents, say, set},
    },
    model::RouteKind,
    runtime::seams::{Seen, StatusesSeam},
    snapshot::Kind,
    status::{Condition, DesiredStatus, StatusUpdate, Truth},
};

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

pub(in crate::faults) const FAULTS: &[Fault] = &[
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
        name: "counts-refused-routes",
        summary: "Counts routes in attachedRoutes that refer to the Gateway but are not accepted.",
        clauses: &[
            "blind:Generic.13",
            "blind:GatewayWithAttachedRoutes.1",
            "blind:HTTPRouteInvalidCrossNamespaceParentRef.2",
            "GEP1364-15",
            "upstream:HTTPRouteInvalidParentRefSectionNameNotMatchingPort",
        ],
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
        clauses: &[
            "blind:HTTPRouteListenerHostnameMatching.2",
            "IMPL-20",
            "upstream:HTTPRouteInvalidParentRefSectionNameNotMatchingPort",
            "upstream:GatewayWithAttachedRoutesWithPort8080",
        ],
        seam: Seam::Statuses(|| {
            say(|seen, statuses| {
                let otherwise = seen.otherwise(|snapshot| {
                    for kind in [Kind::HttpRoute, Kind::TcpRoute] {
                        snapshot.edit(kind, |route| {
                            each(route, "/spec/parentRefs").for_each(|of| drop_field(of, "sectionName"));
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
        clauses: &[
            "blind:HTTPRouteListenerPortMatching.2",
            "upstream:HTTPRouteInvalidParentRefSectionNameNotMatchingPort",
        ],
        seam: Seam::Statuses(|| {
            say(|seen, statuses| {
                let otherwise = seen.otherwise(|snapshot| {
                    snapshot.edit(Kind::HttpRoute, |route| {
                        each(route, "/spec/parentRefs").for_each(|of| drop_field(of, "port"));
                    });
                });
                copy_counts(otherwise.statuses, statuses);
            })
        }),
    },
    Fault {
        name: "never-counts-down",
        summary: "Does not lower attachedRoutes when a route goes.",
        clauses: &["blind:HTTPRouteHostnameIntersection.2", "IMPL-20"],
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
                    // That an authority of clients is not permitted is another matter.
                    if has_reason(&listener.conditions, "ResolvedRefs", "RefNotPermitted")
                        && is(&listener.conditions, "Accepted", Truth::True)
                    {
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
        name: "programs-gateways-without-listeners",
        summary: "Says Programmed=True on a Gateway that is accepted and has no listener that is programmed.",
        clauses: &["GEP1364-11"],
        seam: Seam::Statuses(|| {
            say(|_, statuses| {
                for update in statuses {
                    if let DesiredStatus::Gateway { conditions, listeners, .. } = &mut update.status
                        && is(conditions, "Accepted", Truth::True)
                        && has_reason(conditions, "Programmed", "Invalid")
                        && !listeners.iter().any(|listener| is(&listener.conditions, "Programmed", Truth::True))
                    {
                        set(conditions, "Programmed", Truth::True, "Programmed");
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
        name: "leaves-idle-listeners-beside-unknown-protocols",
        summary: "Programs no listener without routes on a Gateway with one of a protocol that it does not know.",
        clauses: &["upstream:GatewayListenerUnsupportedProtocol"],
        seam: Seam::Statuses(|| {
            say(|_, statuses| {
                for update in statuses {
                    let DesiredStatus::Gateway { listeners, .. } = &mut update.status else { continue };
                    let is_unknown = |of: &[Condition]| has_reason(of, "Accepted", "UnsupportedProtocol");
                    if !listeners.iter().any(|listener| is_unknown(&listener.conditions)) {
                        continue;
                    }
                    for listener in listeners.iter_mut().filter(|listener| listener.attached_routes == 0) {
                        if is(&listener.conditions, "Programmed", Truth::True) {
                            set(&mut listener.conditions, "Programmed", Truth::False, "Pending");
                        }
                    }
                }
            })
        }),
    },
    Fault {
        name: "lists-no-kinds-without-certificate",
        summary: "Lists no kind on a listener whose certificate is missing.",
        clauses: &["GEP1364-38"],
        seam: Seam::Statuses(|| {
            say(|_, statuses| {
                let of = listeners(statuses);
                of.filter(|listener| has_reason(&listener.conditions, "ResolvedRefs", "InvalidCertificateRef"))
                    .for_each(|listener| listener.supported_kinds.clear());
            })
        }),
    },
    Fault {
        name: "lists-no-kinds-without-grant",
        summary: "Lists no kind on a listener whose certificate is of another namespace and not granted.",
        clauses: &["GEP1364-38"],
        seam: Seam::Statuses(|| {
            say(|_, statuses| {
                let of = listeners(statuses);
                of.filter(|listener| has_reason(&listener.conditions, "ResolvedRefs", "RefNotPermitted"))
                    .for_each(|listener| listener.supported_kinds.clear());
            })
        }),
    },
];
