//! What can go wrong about ListenerSets: who may add listeners, whose they are, and which of them are served.

use std::collections::BTreeMap;

use gateproof_proxy::config::{Config, Protocol};
use serde_json::{Value, json};

use super::{
    Fault, Seam,
    tools::{Remembering, SayFrom, View, each, find, say, serve, serve_from, serve_past, set, view},
};
use crate::{
    model::ParentRef,
    runtime::seams::Seen,
    snapshot::{Kind, ObjectKey, Snapshot},
    status::{Condition, DesiredStatus, ListenerStatus, ParentStatus, StatusUpdate, Truth},
};

/// Lets ListenerSets in from elsewhere than the Gateways say that say `from`.
fn allow(snapshot: &mut Snapshot, from: &str, other: &str) {
    snapshot.edit(Kind::Gateway, |gateway| {
        if gateway.pointer("/spec/allowedListeners/namespaces/from").and_then(Value::as_str) == Some(from) {
            gateway["spec"]["allowedListeners"] = json!({"namespaces": {"from": other}});
        }
    });
}

fn allow_unasked(snapshot: &mut Snapshot) {
    snapshot.edit(Kind::Gateway, |gateway| {
        if gateway["spec"].get("allowedListeners").is_none() {
            gateway["spec"]["allowedListeners"] = json!({"namespaces": {"from": "Same"}});
        }
    });
}

fn allow_all(snapshot: &mut Snapshot) {
    snapshot
        .edit(Kind::Gateway, |gateway| gateway["spec"]["allowedListeners"] = json!({"namespaces": {"from": "All"}}));
}

/// Takes a Gateway's own namespace for one that it selects.
fn select_own(snapshot: &mut Snapshot) {
    let labels = |gateway: &Value| gateway.pointer("/spec/allowedListeners/namespaces/selector/matchLabels").cloned();
    let selecting: BTreeMap<String, Value> = snapshot
        .all(Kind::Gateway)
        .filter_map(|gateway| Some((gateway.meta.namespace.clone(), labels(&gateway.raw)?)))
        .collect();
    snapshot.edit(Kind::Namespace, |namespace| {
        let name = namespace["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        for (label, value) in selecting.get(&name).and_then(Value::as_object).into_iter().flatten() {
            namespace["metadata"]["labels"][label] = value.clone();
        }
    });
}

fn ignore_expressions(snapshot: &mut Snapshot) {
    snapshot.edit(Kind::Gateway, |gateway| {
        if let Some(selector) = gateway.pointer_mut("/spec/allowedListeners/namespaces/selector")
            && let Some(selector) = selector.as_object_mut()
        {
            selector.remove("matchExpressions");
        }
    });
}

/// The Gateway that an object such as a ListenerSet refers to.
fn parent(snapshot: &Snapshot, key: &ObjectKey) -> Option<ObjectKey> {
    let (set, spec) = snapshot.listener_set(&key.namespace, &key.name)?;
    let namespace = spec.parent_ref.namespace.as_ref().unwrap_or(&set.meta.namespace);
    Some(ObjectKey::new(namespace, &spec.parent_ref.name))
}

/// What is said of each ListenerSet: its Gateway, its conditions and its entries.
fn sets<'a>(
    snapshot: &Snapshot,
    statuses: &'a mut [StatusUpdate],
) -> Vec<(Option<ObjectKey>, &'a mut Vec<Condition>, &'a mut Vec<ListenerStatus>)> {
    let one = |update: &'a mut StatusUpdate| match &mut update.status {
        DesiredStatus::ListenerSet { conditions, listeners } => {
            Some((parent(snapshot, &update.key), conditions, listeners))
        }
        _ => None,
    };
    statuses.iter_mut().filter_map(one).collect()
}

/// What is said of each Gateway that has ListenerSets, with what is said of those.
fn with_sets(
    seen: Seen<'_>,
    statuses: &mut [StatusUpdate],
    mut change: impl FnMut(&mut DesiredStatus, &[Vec<ListenerStatus>]),
) {
    let mut known: BTreeMap<ObjectKey, Vec<Vec<ListenerStatus>>> = BTreeMap::new();
    for (parent, _, listeners) in sets(seen.snapshot, statuses) {
        known.entry(parent.unwrap_or_else(|| ObjectKey::new("", ""))).or_default().push(listeners.clone());
    }
    for update in statuses.iter_mut().filter(|update| update.kind == Kind::Gateway) {
        if let Some(sets) = known.get(&update.key) {
            change(&mut update.status, sets);
        }
    }
}

fn accept_entries_of_refused(seen: Seen<'_>, statuses: &mut [StatusUpdate]) {
    for (_, conditions, listeners) in sets(seen.snapshot, statuses) {
        if find(conditions, "Accepted").is_some_and(|accepted| accepted.reason == "NotAllowed") {
            for listener in listeners {
                set(&mut listener.conditions, "Accepted", Truth::True, "Accepted");
                set(&mut listener.conditions, "Programmed", Truth::True, "Programmed");
            }
        }
    }
}

/// Says of entries with this conflict that nothing is wrong with them.
fn overlook(seen: Seen<'_>, statuses: &mut [StatusUpdate], reason: &str) {
    for (_, _, listeners) in sets(seen.snapshot, statuses) {
        for listener in listeners {
            if find(&mut listener.conditions, "Conflicted").is_some_and(|conflict| conflict.reason == reason) {
                listener.conditions.retain(|condition| condition.r#type != "Conflicted");
                set(&mut listener.conditions, "Accepted", Truth::True, "Accepted");
                set(&mut listener.conditions, "Programmed", Truth::True, "Programmed");
            }
        }
    }
}

/// Says of everything that a Gateway gets from ListenerSets that it conflicts, once something of that does.
fn blame_winners(seen: Seen<'_>, statuses: &mut [StatusUpdate]) {
    let conflict = |listener: &mut ListenerStatus| find(&mut listener.conditions, "Conflicted").cloned();
    let known: Vec<(Option<ObjectKey>, Condition)> = sets(seen.snapshot, statuses)
        .into_iter()
        .flat_map(|(parent, _, listeners)| {
            listeners.iter_mut().filter_map(conflict).map(|one| (parent.clone(), one)).collect::<Vec<_>>()
        })
        .collect();
    for (parent, _, listeners) in sets(seen.snapshot, statuses) {
        let Some((_, conflict)) = known.iter().find(|(of, _)| *of == parent) else { continue };
        for listener in listeners {
            if find(&mut listener.conditions, "Conflicted").is_none() {
                listener.conditions.push(conflict.clone());
            }
        }
    }
}

/// Gives ListenerSets ages by which they come in this order.
fn order(
    snapshot: &mut Snapshot,
    compare: fn(&(String, String, String), &(String, String, String)) -> std::cmp::Ordering,
) {
    let of = |object: &Value| {
        let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default().to_owned();
        (text("creationTimestamp"), text("namespace"), text("name"))
    };
    let mut all: Vec<_> = snapshot.all(Kind::ListenerSet).map(|set| of(&set.raw)).collect();
    all.sort_by(compare);
    snapshot.edit(Kind::ListenerSet, |set| {
        let place = all.iter().position(|one| *one == of(set)).unwrap_or_default();
        set["metadata"]["creationTimestamp"] =
            json!(format!("2026-01-01T{:02}:{:02}:{:02}Z", place / 3600, place / 60 % 60, place % 60));
    });
}

/// Reads every grant to Gateways as one to ListenerSets too.
fn widen_grants(snapshot: &mut Snapshot) {
    snapshot.edit(Kind::ReferenceGrant, |grant| {
        let Some(from) = grant.pointer_mut("/spec/from").and_then(Value::as_array_mut) else { return };
        let mut more: Vec<Value> = from.iter().filter(|one| one["kind"] == "Gateway").cloned().collect();
        more.iter_mut().for_each(|one| one["kind"] = json!("ListenerSet"));
        from.extend(more);
    });
}

fn drop_grants(snapshot: &mut Snapshot) {
    snapshot.edit(Kind::ReferenceGrant, |grant| {
        if let Some(from) = grant.pointer_mut("/spec/from").and_then(Value::as_array_mut) {
            from.retain(|one| one["kind"] != "ListenerSet");
        }
    });
}

/// The ListenerSet of a Gateway that has the listener which a reference to that Gateway names, and the Gateway has not.
fn adding(snapshot: &Snapshot, reference: &ParentRef, own: &str) -> Option<ObjectKey> {
    let section = reference.section_name.as_ref().filter(|_| reference.is_gateway())?;
    let gateway = ObjectKey::new(reference.namespace.as_deref().unwrap_or(own), &reference.name);
    let has = |listeners: &[crate::model::Listener]| listeners.iter().any(|listener| listener.name == *section);
    if has(&snapshot.gateway(&gateway.namespace, &gateway.name)?.1.listeners) {
        return None;
    }
    let mut sets = snapshot.listener_sets();
    sets.find(|(set, spec)| has(&spec.listeners) && parent(snapshot, &set.key()).as_ref() == Some(&gateway))
        .map(|(set, _)| set.key())
}

/// Takes a section of a Gateway for that of a ListenerSet which adds it.
fn follow_sections(snapshot: &mut Snapshot) {
    let known = snapshot.clone();
    snapshot.edit(Kind::HttpRoute, |route| {
        let own = route["metadata"]["namespace"].as_str().unwrap_or_default().to_owned();
        for reference in each(route, "/spec/parentRefs") {
            let Ok(read) = serde_json::from_value::<ParentRef>(reference.clone()) else { continue };
            if let Some(set) = adding(&known, &read, &own) {
                reference["kind"] = json!("ListenerSet");
                reference["namespace"] = json!(set.namespace);
                reference["name"] = json!(set.name);
            }
        }
    });
}

fn accept_sections(seen: Seen<'_>, statuses: &mut [StatusUpdate]) {
    for update in statuses {
        let DesiredStatus::Route { parents } = &mut update.status else { continue };
        for entry in parents {
            if adding(seen.snapshot, &entry.parent_ref, &update.key.namespace).is_some() {
                set(&mut entry.conditions, "Accepted", Truth::True, "Accepted");
            }
        }
    }
}

/// Speaks of the Gateway too where a route names nothing but a ListenerSet of it.
fn speak_of_gateways(seen: Seen<'_>, statuses: &mut [StatusUpdate]) {
    for update in statuses {
        let DesiredStatus::Route { parents } = &mut update.status else { continue };
        let [ParentStatus { parent_ref, .. }] = &parents[..] else { continue };
        let namespace = parent_ref.namespace.as_ref().unwrap_or(&update.key.namespace);
        let set = ObjectKey::new(namespace, &parent_ref.name);
        let Some(gateway) = parent(seen.snapshot, &set).filter(|_| parent_ref.is_listener_set()) else { continue };
        let parent_ref = ParentRef { name: gateway.name, namespace: Some(gateway.namespace), ..ParentRef::default() };
        parents.push(ParentStatus { parent_ref, ..parents[0].clone() });
    }
}

/// Calls a ListenerSet a Gateway in the entries of routes that have both for parents.
fn confuse_kinds(statuses: &mut [StatusUpdate]) {
    for update in statuses {
        let DesiredStatus::Route { parents } = &mut update.status else { continue };
        if parents.iter().any(|entry| entry.parent_ref.is_gateway()) {
            for entry in parents.iter_mut().filter(|entry| entry.parent_ref.section_name.is_some()) {
                entry.parent_ref.kind = None;
            }
        }
    }
}

/// Lets the namespace of the Gateway in where a ListenerSet of another one says `Same`.
fn take_same_for_the_gateways(snapshot: &mut Snapshot) {
    const NAME: &str = "kubernetes.io/metadata.name";
    snapshot.edit(Kind::Namespace, |namespace| {
        namespace["metadata"]["labels"][NAME] = namespace["metadata"]["name"].clone();
    });
    snapshot.edit(Kind::ListenerSet, |set| {
        let own = set["metadata"]["namespace"].clone();
        let Some(gateway) = set.pointer("/spec/parentRef/namespace").cloned().filter(|of| *of != own) else { return };
        for listener in each(set, "/spec/listeners") {
            let from = listener.pointer("/allowedRoutes/namespaces/from").and_then(Value::as_str);
            if from.is_none_or(|from| from == "Same") {
                let selector = json!({"matchExpressions": [{"key": NAME, "operator": "In", "values": [own, gateway]}]});
                listener["allowedRoutes"]["namespaces"] = json!({"from": "Selector", "selector": selector});
            }
        }
    });
}

fn serve_near_sets_alone(snapshot: &mut Snapshot) {
    snapshot.retain(Kind::ListenerSet, |set| {
        set.raw.pointer("/spec/parentRef/namespace").is_none_or(|of| *of == set.meta.namespace.as_str())
    });
}

/// Leaves out the listeners of ListenerSets on ports that their Gateways have not.
fn open_no_ports(snapshot: &mut Snapshot) {
    let known = snapshot.clone();
    snapshot.edit(Kind::ListenerSet, |set| {
        let text = |field: &str| set["metadata"][field].as_str().unwrap_or_default().to_owned();
        let Some(gateway) = parent(&known, &ObjectKey::new(text("namespace"), text("name"))) else { return };
        let Some((_, gateway)) = known.gateway(&gateway.namespace, &gateway.name) else { return };
        if let Some(listeners) = set.pointer_mut("/spec/listeners").and_then(Value::as_array_mut) {
            listeners.retain(|one| gateway.listeners.iter().any(|own| one["port"] == own.port));
        }
    });
}

/// Presents on a port the certificates of the first listener, which is the Gateway's own if it has one.
fn present_first_certificates(config: &mut Config) {
    for lane in &mut config.listeners {
        if let Protocol::Https(listeners) = &mut lane.protocol
            && let [first, rest @ ..] = &mut listeners[..]
        {
            rest.iter_mut().for_each(|other| other.certificates = first.certificates.clone());
        }
    }
}

/// Names of the kinds that a listener can carry, whatever it allows.
fn list_all_kinds(snapshot: &mut Snapshot) {
    snapshot.edit(Kind::ListenerSet, |set| {
        for listener in each(set, "/spec/listeners") {
            if let Some(allowed) = listener.get_mut("allowedRoutes").and_then(Value::as_object_mut) {
                allowed.remove("kinds");
            }
        }
    });
}

const NOT_LET_IN: &str = "blind:ListenerSetAllowedNamespaceNone.1";
const SELECTED: &str = "blind:ListenerSetAllowedNamespaceSelector.2";
const SERVED: &str = "blind:ListenerSetHTTPRouting.1";
const BY_AGE: &str = "blind:ListenerSetHostnameConflict.1";
const LOSER: &str = "blind:ListenerSetHostnameConflict.2";
const GRANTED: &str = "blind:ListenerSetReferenceGrant.1";

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "lets-listener-sets-in-unasked",
        summary: "Lets the ListenerSets of its own namespace add listeners to a Gateway that says nothing of them.",
        clauses: &["upstream:ListenerSetDefaultNotAllowed"],
        seam: Seam::Snapshot(|| view(allow_unasked)),
    },
    Fault {
        name: "lets-listener-sets-in-where-none-may",
        summary: "Reads None in allowedListeners as Same.",
        clauses: &["upstream:ListenerSetAllowedNamespaceNone"],
        seam: Seam::Snapshot(|| view(|snapshot| allow(snapshot, "None", "Same"))),
    },
    Fault {
        name: "lets-listener-sets-in-from-everywhere",
        summary: "Reads Same in allowedListeners as All.",
        clauses: &["upstream:ListenerSetAllowedNamespaceSame"],
        seam: Seam::Snapshot(|| view(|snapshot| allow(snapshot, "Same", "All"))),
    },
    Fault {
        name: "ignores-selectors-for-listener-sets",
        summary: "Reads Selector in allowedListeners as All.",
        clauses: &["upstream:ListenerSetAllowedNamespaceSelector", SELECTED],
        seam: Seam::Snapshot(|| view(|snapshot| allow(snapshot, "Selector", "All"))),
    },
    Fault {
        name: "selects-own-namespace-for-listener-sets",
        summary: "Lets ListenerSets of the Gateway's namespace in although its selector does not select that.",
        clauses: &[SELECTED],
        seam: Seam::Snapshot(|| view(select_own)),
    },
    Fault {
        name: "ignores-expressions-for-listener-sets",
        summary: "Reads of the selector in allowedListeners nothing but matchLabels.",
        clauses: &[SELECTED],
        seam: Seam::Snapshot(|| view(ignore_expressions)),
    },
    Fault {
        name: "serves-refused-listener-sets",
        summary: "Serves the listeners of ListenerSets that are not let in, while status refuses them.",
        clauses: &[NOT_LET_IN, SELECTED],
        seam: Seam::Config(|| serve_from(allow_all)),
    },
    Fault {
        name: "accepts-listeners-of-refused-listener-sets",
        summary: "Says of the listeners of a ListenerSet that is not let in that they are accepted and programmed.",
        clauses: &[NOT_LET_IN],
        seam: Seam::Statuses(|| say(|seen, statuses| accept_entries_of_refused(seen, statuses))),
    },
    Fault {
        name: "counts-refused-listener-sets",
        summary: "Counts for a Gateway every ListenerSet that refers to it.",
        clauses: &[
            "upstream:ListenerSetAllowedNamespaceNone",
            "upstream:ListenerSetAllowedNamespaceSame",
            "upstream:ListenerSetAllowedNamespaceSelector",
            "upstream:ListenerSetDefaultNotAllowed",
            "upstream:ListenerSetHostnameConflict",
            "upstream:ListenerSetProtocolConflict",
            "upstream:ListenerSetReferenceGrant",
        ],
        seam: Seam::Statuses(|| {
            say(|seen, statuses| {
                with_sets(seen, statuses, |gateway, sets| {
                    if let DesiredStatus::Gateway { attached_listener_sets: Some(count), .. } = gateway {
                        *count = sets.len();
                    }
                });
            })
        }),
    },
    Fault {
        name: "mixes-listener-sets-into-gateways",
        summary: "Puts entries for the listeners of ListenerSets into the status of the Gateway.",
        clauses: &[SERVED],
        seam: Seam::Statuses(|| {
            say(|seen, statuses| {
                with_sets(seen, statuses, |gateway, sets| {
                    let DesiredStatus::Gateway { listeners, .. } = gateway else { return };
                    for entry in sets.iter().flatten() {
                        if listeners.iter().all(|own| own.name != entry.name) {
                            listeners.push(entry.clone());
                        }
                    }
                });
            })
        }),
    },
    Fault {
        name: "counts-routes-of-listener-sets-for-gateways",
        summary: "Counts the routes of ListenerSets at the Gateway's own listeners too.",
        clauses: &[SERVED, "blind:ListenerSetDualParentRefIndependence.1"],
        seam: Seam::Statuses(|| {
            say(|seen, statuses| {
                with_sets(seen, statuses, |gateway, sets| {
                    let DesiredStatus::Gateway { listeners, .. } = gateway else { return };
                    let more: usize = sets.iter().flatten().map(|entry| entry.attached_routes).sum();
                    listeners.iter_mut().for_each(|own| own.attached_routes += more);
                });
            })
        }),
    },
    Fault {
        name: "serves-near-listener-sets-alone",
        summary: "Serves no ListenerSet of another namespace than the Gateway's.",
        clauses: &[
            "upstream:ListenerSetHTTPRouting",
            "upstream:ListenerSetAllowedNamespaceSelector",
            "upstream:ListenerSetAllowedRoutesNamespaces",
            SELECTED,
        ],
        seam: Seam::Config(|| serve_from(serve_near_sets_alone)),
    },
    Fault {
        name: "opens-no-ports-for-listener-sets",
        summary: "Does not listen on ports that only a ListenerSet has.",
        clauses: &[SERVED, "upstream:ListenerSetProtocolConflict"],
        seam: Seam::Config(|| serve_from(open_no_ports)),
    },
    Fault {
        name: "presents-own-certificate-for-listener-sets",
        summary: "Presents the certificate of the Gateway's listener on the port for those of ListenerSets.",
        clauses: &[SERVED],
        seam: Seam::Config(|| {
            serve(|seen, config| {
                if seen.snapshot.listener_sets().next().is_some() {
                    present_first_certificates(config);
                }
            })
        }),
    },
    Fault {
        name: "serves-listener-sets-as-they-were",
        summary: "Does not see changes of a ListenerSet on the data path.",
        clauses: &[SERVED],
        seam: Seam::Config(|| serve_past(|memory, snapshot| memory.keep_first(snapshot, Kind::ListenerSet))),
    },
    Fault {
        name: "serves-deleted-listener-sets",
        summary: "Goes on serving the listeners of a ListenerSet after it is deleted.",
        clauses: &[SERVED, LOSER],
        seam: Seam::Config(|| serve_past(|memory, snapshot| memory.keep_removed(snapshot, Kind::ListenerSet))),
    },
    Fault {
        name: "remembers-deleted-listener-sets",
        summary: "Goes on judging ListenerSets by those that are deleted, so that what lost against them never wins.",
        clauses: &[LOSER],
        seam: Seam::Statuses(|| {
            Box::new(SayFrom(Remembering(super::tools::Memory::default(), |memory, snapshot| {
                let names = snapshot.clone();
                memory.keep_removed(snapshot, Kind::ListenerSet);
                // Its own Gateway does count it no more while nobody is in its way.
                if names.listener_sets().next().is_none() {
                    *snapshot = names;
                }
            })))
        }),
    },
    Fault {
        name: "decides-conflicts-of-listener-sets-by-name",
        summary: "Lets of two ListenerSets in conflict the first by name win, even if the other one is older.",
        clauses: &[BY_AGE],
        seam: Seam::Snapshot(|| view(|snapshot| order(snapshot, |a, b| (&a.1, &a.2).cmp(&(&b.1, &b.2))))),
    },
    Fault {
        name: "decides-ties-of-listener-sets-backwards",
        summary: "Lets of two ListenerSets of one age in conflict the last by name win.",
        clauses: &[BY_AGE],
        seam: Seam::Snapshot(|| {
            view(|snapshot| order(snapshot, |a, b| a.0.cmp(&b.0).then((&b.1, &b.2).cmp(&(&a.1, &a.2)))))
        }),
    },
    Fault {
        name: "serves-losing-listener-sets",
        summary: "Serves of two ListenerSets in conflict the one that status says has lost.",
        clauses: &[BY_AGE, LOSER],
        seam: Seam::Config(|| serve_from(|snapshot| order(snapshot, |a, b| b.cmp(a)))),
    },
    Fault {
        name: "overlooks-hostname-conflicts-of-listener-sets",
        summary: "Says that a listener of a ListenerSet is well though another one has its port and hostname.",
        clauses: &["upstream:ListenerSetHostnameConflict", LOSER, BY_AGE],
        seam: Seam::Statuses(|| say(|seen, statuses| overlook(seen, statuses, "HostnameConflict"))),
    },
    Fault {
        name: "overlooks-protocol-conflicts-of-listener-sets",
        summary: "Says that a listener of a ListenerSet is well though another protocol is spoken on its port.",
        clauses: &["upstream:ListenerSetProtocolConflict"],
        seam: Seam::Statuses(|| say(|seen, statuses| overlook(seen, statuses, "ProtocolConflict"))),
    },
    Fault {
        name: "blames-winning-listener-sets",
        summary: "Says of all listeners of a Gateway's ListenerSets that they conflict once one of them does.",
        clauses: &["upstream:ListenerSetHostnameConflict", "upstream:ListenerSetProtocolConflict", BY_AGE, LOSER],
        seam: Seam::Statuses(|| say(|seen, statuses| blame_winners(seen, statuses))),
    },
    Fault {
        name: "honours-grants-to-gateways-for-listener-sets",
        summary: "Takes a grant to Gateways for one to ListenerSets of that namespace.",
        clauses: &["upstream:ListenerSetReferenceGrant", GRANTED],
        seam: Seam::Snapshot(|| view(widen_grants)),
    },
    Fault {
        name: "ignores-grants-to-listener-sets",
        summary: "Takes no grant to ListenerSets into account.",
        clauses: &["upstream:ListenerSetReferenceGrant"],
        seam: Seam::Snapshot(|| view(drop_grants)),
    },
    Fault {
        name: "serves-listener-sets-without-grants",
        summary: "Presents for a ListenerSet a certificate that only Gateways may use, while status refuses it.",
        clauses: &[GRANTED],
        seam: Seam::Config(|| serve_from(widen_grants)),
    },
    Fault {
        name: "serves-gateway-routes-on-listener-sets",
        summary: "Serves a route for a Gateway on the listener of a ListenerSet that its sectionName happens to name.",
        clauses: &["blind:ListenerSetGatewayParentSectionNameNotFound.1"],
        seam: Seam::Config(|| serve_from(follow_sections)),
    },
    Fault {
        name: "accepts-gateway-routes-for-listener-sets",
        summary: "Accepts a route for a Gateway whose sectionName names a listener of a ListenerSet.",
        clauses: &[
            "upstream:ListenerSetGatewayParentSectionNameNotFound",
            "upstream:ListenerSetDualParentRefIndependence",
            "blind:ListenerSetDualParentRefIndependence.2",
        ],
        seam: Seam::Statuses(|| say(|seen, statuses| accept_sections(seen, statuses))),
    },
    Fault {
        name: "speaks-of-gateways-of-listener-sets",
        summary: "Gives a route that names a ListenerSet an entry for the Gateway of that as well.",
        clauses: &[
            "upstream:ListenerSetRouteStatusScopedToParentRef",
            "blind:ListenerSetRouteStatusScopedToParentRef.1",
            "upstream:ListenerSetHTTPRouting",
            "upstream:ListenerSetAllowedRoutesNamespaces",
            "upstream:ListenerSetGatewayParentSectionNameNotFound",
        ],
        seam: Seam::Statuses(|| say(|seen, statuses| speak_of_gateways(seen, statuses))),
    },
    Fault {
        name: "calls-listener-sets-gateways",
        summary: "Leaves the kind out of the entry for a section of a ListenerSet where the route names a Gateway too.",
        clauses: &["blind:ListenerSetDualParentRefIndependence.2", "upstream:ListenerSetDualParentRefIndependence"],
        seam: Seam::Statuses(|| say(|_, statuses| confuse_kinds(statuses))),
    },
    Fault {
        name: "takes-same-for-the-namespace-of-the-gateway",
        summary: "Lets routes of the Gateway's namespace in at a ListenerSet of another one that says Same.",
        clauses: &["upstream:ListenerSetAllowedRoutesNamespaces", "upstream:ListenerSetHTTPRouting"],
        seam: Seam::Snapshot(|| view(take_same_for_the_gateways)),
    },
    Fault {
        name: "lists-all-kinds-for-listener-sets",
        summary: "Does not look at the kinds that a listener of a ListenerSet allows.",
        clauses: &["blind:ListenerSetAllowedRoutesSupportedKinds.1"],
        seam: Seam::Statuses(|| Box::new(SayFrom(View(list_all_kinds)))),
    },
];
