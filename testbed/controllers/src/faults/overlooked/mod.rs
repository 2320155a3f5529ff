//! Mistakes that nothing noticed when the reference was changed at every decision in turn, each in the way of a hasty author:
//! mostly one of several looked at, or one kind forgotten.

pub(super) mod traffic;

use serde_json::{Value, json};

use super::{
    Fault, Seam,
    snapshot::let_all_in,
    tools::{backend_refs, drop_field, each, has_reason, is, say, set, view, written_listeners},
};
use crate::{
    model::GATEWAY_GROUP,
    runtime::seams::Seen,
    snapshot::{Kind, Snapshot},
    status::{Condition, DesiredStatus, StatusUpdate, Truth},
};

const ROUTES: [Kind; 5] = [Kind::HttpRoute, Kind::GrpcRoute, Kind::TcpRoute, Kind::TlsRoute, Kind::UdpRoute];

/// Changes the selector of every listener of a Gateway that has one.
fn change_selectors(snapshot: &mut Snapshot, change: fn(&mut Value)) {
    snapshot.edit(Kind::Gateway, |gateway| {
        let listeners = each(gateway, "/spec/listeners");
        listeners.filter_map(|one| one.pointer_mut("/allowedRoutes/namespaces/selector")).for_each(change);
    });
}

fn keep_first(list: Option<&mut Value>) {
    if let Some(list) = list.and_then(Value::as_array_mut) {
        list.truncate(1);
    }
}

fn keep_first_label(selector: &mut Value) {
    if let Some(labels) = selector.get_mut("matchLabels").and_then(Value::as_object_mut) {
        let first = labels.keys().min().cloned();
        labels.retain(|key, _| Some(key) == first.as_ref());
    }
}

fn forget_what_must_not_be(selector: &mut Value) {
    if let Some(expressions) = selector.get_mut("matchExpressions").and_then(Value::as_array_mut) {
        expressions.retain(|one| one["operator"] != "DoesNotExist");
    }
}

/// Lets all namespaces in at the listeners of this protocol that select some.
fn open_selecting(snapshot: &mut Snapshot, protocol: &str) {
    snapshot.edit(Kind::Gateway, |gateway| {
        let selects =
            |of: &&mut Value| of["protocol"] == protocol && of["allowedRoutes"]["namespaces"]["from"] == "Selector";
        each(gateway, "/spec/listeners").filter(selects).for_each(let_all_in);
    });
}

/// Lets all namespaces in at the listeners that select some of the Gateways that a GRPCRoute of another namespace names.
fn open_selecting_to_calls(snapshot: &mut Snapshot) {
    let mut named = Vec::new();
    for route in snapshot.all(Kind::GrpcRoute) {
        let parents = route.raw.pointer("/spec/parentRefs").and_then(Value::as_array).into_iter().flatten();
        named.extend(parents.map(|parent| (parent["namespace"].clone(), parent["name"].clone())));
    }
    snapshot.edit(Kind::Gateway, |gateway| {
        let key = (gateway["metadata"]["namespace"].clone(), gateway["metadata"]["name"].clone());
        if named.contains(&key) {
            let selects = |of: &&mut Value| of["allowedRoutes"]["namespaces"]["from"] == "Selector";
            each(gateway, "/spec/listeners").filter(selects).for_each(let_all_in);
        }
    });
}

/// Says of what has a reference that is of use that all of them resolve.
fn resolve(conditions: &mut [Condition], broken: &str) {
    if is(conditions, "Accepted", Truth::True) && has_reason(conditions, "ResolvedRefs", broken) {
        set(conditions, "ResolvedRefs", Truth::True, "ResolvedRefs");
    }
}

fn resolve_policies_by_one(_: Seen<'_>, statuses: &mut Vec<StatusUpdate>) {
    for update in statuses {
        if let DesiredStatus::Policy { ancestors } = &mut update.status {
            ancestors.iter_mut().for_each(|one| resolve(&mut one.conditions, "InvalidCACertificateRef"));
        }
    }
}

fn resolve_clients_by_one(_: Seen<'_>, statuses: &mut Vec<StatusUpdate>) {
    for update in statuses {
        if let DesiredStatus::Gateway { listeners, .. } = &mut update.status {
            listeners.iter_mut().for_each(|one| resolve(&mut one.conditions, "InvalidCACertificateRef"));
        }
    }
}

/// Says that HTTPS listeners of one hostname overlap that are on different ports.
fn overlap_across_ports(seen: Seen<'_>, statuses: &mut Vec<StatusUpdate>) {
    for update in statuses {
        let DesiredStatus::Gateway { listeners, .. } = &mut update.status else { continue };
        let written: Vec<_> =
            written_listeners(seen.snapshot, &update.key.namespace, &update.key.name).cloned().collect();
        for listener in listeners {
            let Some(own) = written.iter().find(|one| one["name"] == listener.name.as_str()) else { continue };
            let overlaps = |other: &&Value| {
                [*other, own].iter().all(|one| one["protocol"] == "HTTPS")
                    && other["hostname"] == own["hostname"]
                    && other["port"] != own["port"]
            };
            if let Some(other) = written.iter().find(overlaps) {
                let message = format!("hostname overlaps with that of listener {}", other["name"]);
                let mut overlap = Condition::new("OverlappingTLSConfig", true, "OverlappingHostnames", message);
                overlap.observed_generation = Some(update.generation);
                listener.conditions.push(overlap);
            }
        }
    }
}

fn take_backends_of_other_groups(snapshot: &mut Snapshot) {
    for kind in ROUTES {
        snapshot.edit(kind, |route| {
            let named = backend_refs(route).filter(|one| one["kind"] == "Service");
            named.for_each(|one| drop_field(one, "group"));
        });
    }
}

fn serve_unknown_filters_of_backends(snapshot: &mut Snapshot) {
    snapshot.edit(Kind::HttpRoute, |route| {
        for backend in backend_refs(route) {
            if let Some(filters) = backend.get_mut("filters").and_then(Value::as_array_mut) {
                filters.retain(|filter| filter["type"] != "ExtensionRef");
            }
        }
    });
}

fn read_first_parts_of_durations(snapshot: &mut Snapshot) {
    snapshot.edit(Kind::HttpRoute, |route| {
        for rule in each(route, "/spec/rules") {
            let Some(timeouts) = rule.get_mut("timeouts").and_then(Value::as_object_mut) else { continue };
            for timeout in timeouts.values_mut() {
                let text = timeout.as_str().unwrap_or_default().to_owned();
                let unit = text.find(|char: char| !char.is_ascii_digit()).unwrap_or(text.len());
                let rest = text[unit..].find(|char: char| char.is_ascii_digit()).map_or(text.len(), |at| unit + at);
                *timeout = text[..rest].into();
            }
        }
    });
}

/// The mirrors of GRPCRoutes: namespace and name, as they are written.
fn mirrors_of_calls(snapshot: &Snapshot) -> Vec<(Value, Value)> {
    let mut found = Vec::new();
    for route in snapshot.all(Kind::GrpcRoute) {
        let mut route = (*route.raw).clone();
        let filters = each(&mut route, "/spec/rules").flat_map(|rule| each(rule, "/filters"));
        found.extend(filters.filter_map(|filter| {
            let to = filter.pointer("/requestMirror/backendRef")?;
            Some((to["namespace"].clone(), to["name"].clone()))
        }));
    }
    found
}

/// Adds GRPCRoutes to whom HTTPRoutes are granted to refer to what they mirror calls to.
fn take_grants_for_mirrors_of_calls(snapshot: &mut Snapshot) {
    let mirrors = mirrors_of_calls(snapshot);
    snapshot.edit(Kind::ReferenceGrant, |grant| {
        if !mirrors.iter().any(|(namespace, _)| *namespace == grant["metadata"]["namespace"]) {
            return;
        }
        let Some(from) = grant.pointer_mut("/spec/from").and_then(Value::as_array_mut) else { return };
        let mut added: Vec<Value> = from.iter().filter(|one| one["kind"] == "HTTPRoute").cloned().collect();
        added.iter_mut().for_each(|one| one["kind"] = "GRPCRoute".into());
        from.extend(added);
    });
}

/// Has the ListenerSets that are not let in take what they ask for from younger ones: these are refused in their place.
fn let_refused_sets_take(seen: Seen<'_>, statuses: &mut [StatusUpdate]) {
    let all_in = seen.otherwise(|snapshot| {
        snapshot.edit(Kind::Gateway, |gateway| {
            gateway["spec"]["allowedListeners"] = json!({"namespaces": {"from": "All"}});
        });
    });
    let refused: Vec<_> = statuses
        .iter()
        .filter(|update| update.kind == Kind::ListenerSet && says_not_allowed(update))
        .map(|update| update.key.clone())
        .collect();
    for other in all_in.statuses {
        if other.kind == Kind::ListenerSet
            && !refused.contains(&other.key)
            && let Some(update) = statuses.iter_mut().find(|one| one.kind == other.kind && one.key == other.key)
        {
            *update = other;
        }
    }
}

fn says_not_allowed(update: &StatusUpdate) -> bool {
    matches!(&update.status, DesiredStatus::ListenerSet { conditions, .. } if has_reason(conditions, "Accepted", "NotAllowed"))
}

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "selects-by-one-label",
        summary: "Looks at one label of a selector with several when it selects namespaces.",
        clauses: &["GEP1364-35", "blind:HTTPRouteCrossNamespace.3"],
        seam: Seam::Snapshot(|| view(|snapshot| change_selectors(snapshot, keep_first_label))),
    },
    Fault {
        name: "selects-by-one-expression",
        summary: "Looks at the first expression of a selector with several when it selects namespaces.",
        clauses: &["GEP1364-35", "blind:HTTPRouteCrossNamespace.3"],
        seam: Seam::Snapshot(|| {
            view(|snapshot| change_selectors(snapshot, |selector| keep_first(selector.get_mut("matchExpressions"))))
        }),
    },
    Fault {
        name: "selects-by-one-value",
        summary: "Looks at the first value of an expression with several when it selects namespaces.",
        clauses: &["GEP1364-35", "blind:HTTPRouteCrossNamespace.3"],
        seam: Seam::Snapshot(|| {
            view(|snapshot| {
                change_selectors(snapshot, |selector| {
                    each(selector, "/matchExpressions").for_each(|one| keep_first(one.get_mut("values")));
                });
            })
        }),
    },
    Fault {
        name: "selects-whatever-must-not-be-there",
        summary: "Lets a namespace in that has a label which it must not have.",
        clauses: &["GEP1364-35", "blind:HTTPRouteCrossNamespace.3"],
        seam: Seam::Snapshot(|| view(|snapshot| change_selectors(snapshot, forget_what_must_not_be))),
    },
    Fault {
        name: "ignores-selectors-for-calls",
        summary: "Lets GRPCRoutes of every namespace in where a listener selects some.",
        clauses: &["blind:HTTPRouteCrossNamespace.1", "blind:HTTPRouteCrossNamespace.2"],
        seam: Seam::Snapshot(|| view(open_selecting_to_calls)),
    },
    Fault {
        name: "ignores-selectors-for-streams",
        summary: "Lets TCPRoutes of every namespace in where a listener selects some.",
        clauses: &["blind:HTTPRouteCrossNamespace.1", "blind:HTTPRouteCrossNamespace.2"],
        seam: Seam::Snapshot(|| view(|snapshot| open_selecting(snapshot, "TCP"))),
    },
    Fault {
        name: "ignores-selectors-for-tls",
        summary: "Lets TLSRoutes of every namespace in where a listener selects some.",
        clauses: &["blind:HTTPRouteCrossNamespace.1", "blind:HTTPRouteCrossNamespace.2"],
        seam: Seam::Snapshot(|| view(|snapshot| open_selecting(snapshot, "TLS"))),
    },
    Fault {
        name: "ignores-selectors-for-datagrams",
        summary: "Lets UDPRoutes of every namespace in where a listener selects some.",
        clauses: &["blind:HTTPRouteCrossNamespace.1", "blind:HTTPRouteCrossNamespace.2"],
        seam: Seam::Snapshot(|| view(|snapshot| open_selecting(snapshot, "UDP"))),
    },
    Fault {
        name: "overlooks-certificates-behind-the-first",
        summary: "Looks at the first of several certificates of a listener alone.",
        clauses: &["OWN-98"],
        seam: Seam::Snapshot(|| {
            view(|snapshot| {
                snapshot.edit(Kind::Gateway, |gateway| {
                    each(gateway, "/spec/listeners")
                        .for_each(|one| keep_first(one.pointer_mut("/tls/certificateRefs")));
                });
            })
        }),
    },
    Fault {
        name: "resolves-policies-by-one-authority",
        summary: "Says ResolvedRefs=True of a policy as soon as one of its authorities can be had.",
        clauses: &["OWN-98"],
        seam: Seam::Statuses(|| say(resolve_policies_by_one)),
    },
    Fault {
        name: "resolves-listeners-by-one-authority",
        summary: "Says ResolvedRefs=True of a listener as soon as one of the authorities of its clients can be had.",
        clauses: &["OWN-98"],
        seam: Seam::Statuses(|| say(resolve_clients_by_one)),
    },
    Fault {
        name: "validates-clients-of-open-ports",
        summary: "Asks clients for what the default says on a port of which nothing is to be validated.",
        clauses: &["OWN-99"],
        seam: Seam::Snapshot(|| {
            view(|snapshot| {
                snapshot.edit(Kind::Gateway, |gateway| {
                    let ports = gateway.pointer_mut("/spec/tls/frontend/perPort").and_then(Value::as_array_mut);
                    if let Some(ports) = ports {
                        ports.retain(|one| one["tls"].get("validation").is_some());
                    }
                });
            })
        }),
    },
    Fault {
        name: "takes-unsaid-readiness-for-none",
        summary: "Sends nothing to endpoints of which nobody says whether they are ready.",
        clauses: &["OWN-100"],
        seam: Seam::Snapshot(|| {
            view(|snapshot| {
                snapshot.edit(Kind::EndpointSlice, |slice| {
                    for endpoint in each(slice, "/endpoints").filter(|one| one["conditions"]["ready"].is_null()) {
                        endpoint["conditions"] = json!({"ready": false});
                    }
                });
            })
        }),
    },
    Fault {
        name: "has-hosts-of-two-ports-overlap",
        summary: "Says OverlappingTLSConfig=True of listeners of one hostname that are on different ports.",
        clauses: &["GEP1364-16"],
        seam: Seam::Statuses(|| say(overlap_across_ports)),
    },
    Fault {
        name: "takes-backends-of-other-groups",
        summary: "Compares the kind of a backend without its API group.",
        clauses: &["GEP1364-38"],
        seam: Seam::Snapshot(|| view(take_backends_of_other_groups)),
    },
    Fault {
        name: "takes-parents-of-other-groups",
        summary: "Compares the kind of a parent without its API group.",
        clauses: &["IMPL-34"],
        seam: Seam::Snapshot(|| {
            view(|snapshot| {
                snapshot.edit(Kind::HttpRoute, |route| {
                    let parents = each(route, "/spec/parentRefs");
                    parents.filter(|one| one["kind"] == "Gateway").for_each(|one| one["group"] = GATEWAY_GROUP.into());
                });
            })
        }),
    },
    Fault {
        name: "skips-unknown-filters-of-backends",
        summary: "Leaves a filter of a backend out that nobody knows, and forwards its requests.",
        clauses: &["GEP1364-52", "blind:HTTPRouteObservedGenerationBump.1"],
        seam: Seam::Snapshot(|| view(serve_unknown_filters_of_backends)),
    },
    Fault {
        name: "reads-one-part-of-durations",
        summary: "Reads the first part of a timeout that is written in several.",
        clauses: &["OWN-101"],
        seam: Seam::Snapshot(|| view(read_first_parts_of_durations)),
    },
    Fault {
        name: "takes-grants-to-httproutes-for-mirrors-of-calls",
        summary: "Reads a grant to HTTPRoutes as one to GRPCRoutes where these have their mirrors.",
        clauses: &["IMPL-41"],
        seam: Seam::Snapshot(|| view(take_grants_for_mirrors_of_calls)),
    },
    Fault {
        name: "hides-dropped-rules-of-calls",
        summary: "Drops an invalid rule of a GRPCRoute without saying PartiallyInvalid.",
        clauses: &["GEP1364-54"],
        seam: Seam::Statuses(|| {
            say(|_, statuses| {
                for update in statuses.iter_mut().filter(|update| update.kind == Kind::GrpcRoute) {
                    for conditions in update.condition_lists() {
                        conditions.retain(|condition| condition.r#type != "PartiallyInvalid");
                    }
                }
            })
        }),
    },
    Fault {
        name: "lets-refused-listener-sets-take-hosts",
        summary: "Says of a ListenerSet that it has lost to one that is not let in.",
        clauses: &["OWN-102"],
        seam: Seam::Statuses(|| say(|seen, statuses| let_refused_sets_take(seen, statuses))),
    },
];
