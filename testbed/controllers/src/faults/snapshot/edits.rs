//! What faults make of a snapshot before the reference sees it.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::{Value, json};

use crate::{
    faults::tools::{Memory, backend_refs, each},
    model::GATEWAY_GROUP,
    settings::CONTROLLER_NAME,
    snapshot::{Kind, Snapshot},
};

/// A grant in every namespace that lets everything of ours refer to everything there.
pub(in crate::faults) fn grant_everything(snapshot: &mut Snapshot) {
    let names: Vec<String> = snapshot.namespaces().map(|(object, _)| object.meta.name.clone()).collect();
    let kinds = ["HTTPRoute", "GRPCRoute", "TCPRoute", "TLSRoute", "UDPRoute", "Gateway"];
    let from = |kind| names.iter().map(move |from| json!({"group": GATEWAY_GROUP, "kind": kind, "namespace": from}));
    let from: Vec<Value> = kinds.into_iter().flat_map(from).collect();
    for namespace in &names {
        let grant = json!({
            "metadata": {"namespace": namespace, "name": "everything"},
            "spec": {"from": from, "to": [{"group": "", "kind": "Service"}, {"group": "", "kind": "Secret"}]},
        });
        if let Err(error) = snapshot.put(Kind::ReferenceGrant, grant) {
            tracing::error!(%error, "the fault made an unreadable grant");
        }
    }
}

/// One grant for each namespace with every `from` and every `to` of the grants there.
pub(in crate::faults) fn mix_grants(snapshot: &mut Snapshot) {
    let halves = |namespace: &Value, field: &str| -> Vec<Value> {
        let there = snapshot.all(Kind::ReferenceGrant).filter(|grant| grant.raw["metadata"]["namespace"] == *namespace);
        there.filter_map(|grant| grant.raw["spec"][field].as_array()).flatten().cloned().collect()
    };
    let mixed: Vec<Value> = snapshot
        .all(Kind::ReferenceGrant)
        .map(|grant| &grant.raw["metadata"])
        .map(|metadata| {
            let namespace = &metadata["namespace"];
            json!({"metadata": metadata, "spec": {"from": halves(namespace, "from"), "to": halves(namespace, "to")}})
        })
        .collect();
    for grant in mixed {
        if let Err(error) = snapshot.put(Kind::ReferenceGrant, grant) {
            tracing::error!(%error, "the fault made an unreadable grant");
        }
    }
}

/// Hides the grants of a namespace that were there beside one that is gone.
pub(in crate::faults) fn revoke_all_with_one(memory: &mut Memory, snapshot: &mut Snapshot) {
    memory
        .objects
        .extend(snapshot.all(Kind::ReferenceGrant).map(|one| ((Kind::ReferenceGrant, one.key()), one.clone())));
    let (there, gone): (Vec<_>, Vec<_>) = memory
        .objects
        .keys()
        .map(|(_, key)| key.clone())
        .partition(|key| snapshot.get(Kind::ReferenceGrant, &key.namespace, &key.name).is_some());
    for key in there.iter().filter(|key| gone.iter().any(|other| other.namespace == key.namespace)) {
        snapshot.remove(Kind::ReferenceGrant, key);
    }
}

/// Where in the order of all writes an object stood when it was first seen.
fn first_version(memory: &mut Memory, kind: Kind, object: &Arc<crate::snapshot::Object>) -> u64 {
    let first = memory.objects.entry((kind, object.key())).or_insert_with(|| Arc::clone(object));
    if first.meta.uid != object.meta.uid {
        *first = Arc::clone(object);
    }
    first.raw["metadata"]["resourceVersion"].as_str().and_then(|version| version.parse().ok()).unwrap_or_default()
}

/// Hides Services that came after a route which refers to them.
pub(in crate::faults) fn miss_late_services(memory: &mut Memory, snapshot: &mut Snapshot) {
    let mut wanted: BTreeMap<(String, String), u64> = BTreeMap::new();
    for route in snapshot.all(Kind::HttpRoute) {
        let since = first_version(memory, Kind::HttpRoute, route);
        let mut raw = (*route.raw).clone();
        for reference in backend_refs(&mut raw) {
            let namespace = reference["namespace"].as_str().unwrap_or(&route.meta.namespace).to_owned();
            let name = reference["name"].as_str().unwrap_or_default().to_owned();
            let known = wanted.entry((namespace, name)).or_insert(since);
            *known = since.min(*known);
        }
    }
    let services: Vec<_> = snapshot.all(Kind::Service).cloned().collect();
    for service in services {
        let of = (service.meta.namespace.clone(), service.meta.name.clone());
        if wanted.get(&of).is_some_and(|since| first_version(memory, Kind::Service, &service) > *since) {
            snapshot.remove(Kind::Service, &service.key());
        }
    }
}

/// Declares every port that a route asks an existing Service for, under the name of its first port.
pub(in crate::faults) fn invent_ports(snapshot: &mut Snapshot) {
    let mut asked = Vec::new();
    for route in snapshot.all(Kind::HttpRoute) {
        let mut raw = (*route.raw).clone();
        for reference in backend_refs(&mut raw) {
            let namespace = reference["namespace"].as_str().unwrap_or(&route.meta.namespace).to_owned();
            asked.push((namespace, reference["name"].clone(), reference["port"].clone()));
        }
    }
    snapshot.edit(Kind::Service, |service| {
        for (namespace, name, port) in &asked {
            let is_here =
                service["metadata"]["namespace"] == namespace.as_str() && service["metadata"]["name"] == *name;
            let Some(ports) = service.pointer_mut("/spec/ports").and_then(Value::as_array_mut).filter(|_| is_here)
            else {
                continue;
            };
            if let Some(mut invented) = ports.first().cloned()
                && !ports.iter().any(|known| known["port"] == *port)
            {
                invented["port"] = port.clone();
                ports.push(invented);
            }
        }
    });
}

pub(in crate::faults) fn let_all_in(listener: &mut Value) {
    listener["allowedRoutes"]["namespaces"] = json!({"from": "All"});
}

pub(in crate::faults) fn open_to_far_calls(snapshot: &mut Snapshot) {
    let asked: Vec<(String, String)> = snapshot
        .grpc_routes()
        .flat_map(|(route, spec)| {
            let far = spec.parent_refs.iter().filter_map(|of| Some((of.namespace.clone()?, of.name.clone())));
            far.filter(|(namespace, _)| *namespace != route.meta.namespace)
        })
        .collect();
    snapshot.edit(Kind::Gateway, |gateway| {
        let metadata = &gateway["metadata"];
        if asked.iter().any(|(namespace, name)| metadata["namespace"] == **namespace && metadata["name"] == **name) {
            each(gateway, "/spec/listeners").for_each(let_all_in);
        }
    });
}

/// Gives every Gateway whose class does not exist a class of ours.
pub(in crate::faults) fn serve_classless(snapshot: &mut Snapshot) {
    let known: Vec<String> = snapshot.gateway_classes().map(|(object, _)| object.meta.name.clone()).collect();
    take_up(snapshot, |class| !known.iter().any(|name| class == name));
}

pub(in crate::faults) fn serve_refused(snapshot: &mut Snapshot) {
    let classes = snapshot.gateway_classes().filter(|(_, class)| class.controller_name == CONTROLLER_NAME);
    let refused = classes.filter(|(_, class)| class.parameters_ref.is_some());
    let refused: Vec<String> = refused.map(|(object, _)| object.meta.name.clone()).collect();
    take_up(snapshot, |class| refused.iter().any(|name| class == name));
}

/// Puts the Gateways of classes with such names under one that is served.
fn take_up(snapshot: &mut Snapshot, is_meant: impl Fn(&Value) -> bool) {
    let served = snapshot
        .gateway_classes()
        .find(|(_, class)| class.controller_name == CONTROLLER_NAME && class.parameters_ref.is_none());
    let Some(served) = served.map(|(object, _)| object.meta.name.clone()) else { return };
    snapshot.edit(Kind::Gateway, |gateway| {
        let class = &mut gateway["spec"]["gatewayClassName"];
        if is_meant(class) {
            *class = served.clone().into();
        }
    });
}
