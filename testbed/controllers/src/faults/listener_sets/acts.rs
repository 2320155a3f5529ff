//! The acts of these faults: what they change in what is read, judged or served.

use std::collections::BTreeMap;

use gateproof_proxy::config::{Config, Protocol};
use serde_json::{Value, json};

use super::super::tools::{each, find, set, widen_grants};
use crate::{
    model::ParentRef,
    runtime::seams::Seen,
    snapshot::{Kind, ObjectKey, Snapshot},
    status::{Condition, DesiredStatus, ListenerStatus, ParentStatus, StatusUpdate, Truth},
};

pub(super) fn allow(snapshot: &mut Snapshot, from: &str, other: &str) {
    snapshot.edit(Kind::Gateway, |gateway| {
        if gateway.pointer("/spec/allowedListeners/namespaces/from").and_then(Value::as_str) == Some(from) {
            gateway["spec"]["allowedListeners"] = json!({"namespaces": {"from": other}});
        }
    });
}

pub(super) fn allow_unasked(snapshot: &mut Snapshot) {
    snapshot.edit(Kind::Gateway, |gateway| {
        if gateway["spec"].get("allowedListeners").is_none() {
            gateway["spec"]["allowedListeners"] = json!({"namespaces": {"from": "Same"}});
        }
    });
}

pub(super) fn allow_all(snapshot: &mut Snapshot) {
    snapshot
        .edit(Kind::Gateway, |gateway| gateway["spec"]["allowedListeners"] = json!({"namespaces": {"from": "All"}}));
}

/// Takes a Gateway's own namespace for one that it selects.
pub(super) fn select_own(snapshot: &mut Snapshot) {
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

pub(super) fn ignore_expressions(snapshot: &mut Snapshot) {
    snapshot.edit(Kind::Gateway, |gateway| {
        if let Some(selector) = gateway.pointer_mut("/spec/allowedListeners/namespaces/selector")
            && let Some(selector) = selector.as_object_mut()
        {
            selector.remove("matchExpressions");
        }
    });
}

/// The Gateway that an object such as a ListenerSet refers to.
pub(super) fn parent(snapshot: &Snapshot, key: &ObjectKey) -> Option<ObjectKey> {
    let (set, spec) = snapshot.listener_set(&key.namespace, &key.name)?;
    let namespace = spec.parent_ref.namespace.as_ref().unwrap_or(&set.meta.namespace);
    Some(ObjectKey::new(namespace, &spec.parent_ref.name))
}

/// What is said of each ListenerSet: its Gateway, its conditions and its entries.
pub(super) fn sets<'a>(
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
pub(super) fn with_sets(
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

pub(super) fn accept_entries_of_refused(seen: Seen<'_>, statuses: &mut [StatusUpdate]) {
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
pub(super) fn overlook(seen: Seen<'_>, statuses: &mut [StatusUpdate], reason: &str) {
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
pub(super) fn blame_winners(seen: Seen<'_>, statuses: &mut [StatusUpdate]) {
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

/// Says of the listeners that share a port with one of their set that has lost that they have lost too.
pub(super) fn blame_neighbours(seen: Seen<'_>, statuses: &mut [StatusUpdate]) {
    for update in statuses {
        let DesiredStatus::ListenerSet { listeners, .. } = &mut update.status else { continue };
        let Some((_, spec)) = seen.snapshot.listener_set(&update.key.namespace, &update.key.name) else { continue };
        let port = |name: &str| spec.listeners.iter().find(|one| one.name == name).map(|one| one.port);
        let lost: Vec<_> = listeners
            .iter_mut()
            .filter_map(|one| Some((port(&one.name), find(&mut one.conditions, "Conflicted")?.clone())))
            .collect();
        for listener in listeners {
            let Some((_, conflict)) = lost.iter().find(|(of, _)| *of == port(&listener.name)) else { continue };
            if find(&mut listener.conditions, "Conflicted").is_none() {
                let reason = conflict.reason.clone();
                listener.conditions.push(conflict.clone());
                set(&mut listener.conditions, "Accepted", Truth::False, &reason);
                set(&mut listener.conditions, "Programmed", Truth::False, &reason);
            }
        }
    }
}

/// When a ListenerSet was made, its namespace and its name.
type Age = (String, String, String);

/// Gives ListenerSets ages by which they come in this order.
pub(super) fn order(snapshot: &mut Snapshot, compare: fn(&Age, &Age) -> std::cmp::Ordering) {
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
pub(super) fn take_grants_of_gateways(snapshot: &mut Snapshot) {
    widen_grants(snapshot, "Gateway", &["ListenerSet"]);
}

pub(super) fn drop_grants(snapshot: &mut Snapshot) {
    snapshot.edit(Kind::ReferenceGrant, |grant| {
        if let Some(from) = grant.pointer_mut("/spec/from").and_then(Value::as_array_mut) {
            from.retain(|one| one["kind"] != "ListenerSet");
        }
    });
}

/// The ListenerSet of a Gateway that has the listener which a reference to that Gateway names, and the Gateway has not.
pub(super) fn adding(snapshot: &Snapshot, reference: &ParentRef, own: &str) -> Option<ObjectKey> {
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
pub(super) fn follow_sections(snapshot: &mut Snapshot) {
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

pub(super) fn accept_sections(seen: Seen<'_>, statuses: &mut [StatusUpdate]) {
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
pub(super) fn speak_of_gateways(seen: Seen<'_>, statuses: &mut [StatusUpdate]) {
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
pub(super) fn confuse_kinds(statuses: &mut [StatusUpdate]) {
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
pub(super) fn take_same_for_the_gateways(snapshot: &mut Snapshot) {
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

pub(super) fn serve_near_sets_alone(snapshot: &mut Snapshot) {
    snapshot.retain(Kind::ListenerSet, |set| {
        set.raw.pointer("/spec/parentRef/namespace").is_none_or(|of| *of == set.meta.namespace.as_str())
    });
}

/// Leaves out the listeners of ListenerSets on ports that their Gateways have not.
pub(super) fn open_no_ports(snapshot: &mut Snapshot) {
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
pub(super) fn present_first_certificates(config: &mut Config) {
    for lane in &mut config.listeners {
        if let Protocol::Https(listeners) = &mut lane.protocol
            && let [first, rest @ ..] = &mut listeners[..]
        {
            rest.iter_mut().for_each(|other| other.certificates = first.certificates.clone());
        }
    }
}

/// Names of the kinds that a listener can carry, whatever it allows.
pub(super) fn list_all_kinds(snapshot: &mut Snapshot) {
    snapshot.edit(Kind::ListenerSet, |set| {
        for listener in each(set, "/spec/listeners") {
            if let Some(allowed) = listener.get_mut("allowedRoutes").and_then(Value::as_object_mut) {
                allowed.remove("kinds");
            }
        }
    });
}
