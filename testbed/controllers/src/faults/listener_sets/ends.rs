//! TLS that comes to its end at listeners of ListenerSets: whose certificates these present.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::super::{
    Fault, Seam,
    tools::{serve_from, view},
};
use crate::snapshot::{Kind, Object, ObjectKey, Snapshot};

/// What the listeners of protocol TLS name as certificates, each with the namespace of its ListenerSet and that of the Gateway.
fn named(snapshot: &Snapshot) -> Vec<(String, String, Value)> {
    let mut named = Vec::new();
    for set in snapshot.all(Kind::ListenerSet) {
        let own = &set.meta.namespace;
        let gateway = set.raw.pointer("/spec/parentRef/namespace").and_then(Value::as_str).unwrap_or(own);
        let listeners = set.raw.pointer("/spec/listeners").and_then(Value::as_array).into_iter().flatten();
        for listener in listeners.filter(|listener| listener["protocol"] == "TLS") {
            let references = listener.pointer("/tls/certificateRefs").and_then(Value::as_array).into_iter().flatten();
            named.extend(references.map(|reference| (own.clone(), gateway.to_owned(), reference.clone())));
        }
    }
    named
}

/// Has Secrets hold what those of the same name in the namespace of the Gateway hold.
fn take_those_of_the_gateway(snapshot: &mut Snapshot) {
    for (own, gateway, reference) in named(snapshot).into_iter().filter(|(.., of)| of.get("namespace").is_none()) {
        let name = reference["name"].as_str().unwrap_or_default();
        let Some(other) = snapshot.get(Kind::Secret, &gateway, name).cloned() else { continue };
        snapshot.edit(Kind::Secret, |secret| {
            if secret["metadata"]["namespace"] == own.as_str() && secret["metadata"]["name"] == name {
                secret["data"] = other.raw["data"].clone();
            }
        });
    }
}

/// Reads grants to the ListenerSets of a namespace as grants to all those whose Gateway is there.
fn grant_to_all_of_a_gateway(snapshot: &mut Snapshot) {
    let own = |set: &Object| set.meta.namespace.clone();
    let of_gateway = |set: &Object| set.raw.pointer("/spec/parentRef/namespace")?.as_str().map(str::to_owned);
    let sets: BTreeSet<(String, String)> =
        snapshot.all(Kind::ListenerSet).filter_map(|set| Some((of_gateway(set)?, own(set)))).collect();
    snapshot.edit(Kind::ReferenceGrant, |grant| {
        let Some(from) = grant.pointer_mut("/spec/from").and_then(Value::as_array_mut) else { return };
        let granted: Vec<Value> = from.iter().filter(|one| one["kind"] == "ListenerSet").cloned().collect();
        for (mut one, (gateway, own)) in granted.iter().flat_map(|one| sets.iter().map(|set| (one.clone(), set))) {
            if one["namespace"] == gateway.as_str() {
                one["namespace"] = json!(own);
                from.push(one);
            }
        }
    });
}

/// Reads grants to Gateways as grants to ListenerSets too, where these name what is granted for listeners of protocol TLS.
fn widen_grants(snapshot: &mut Snapshot) {
    let far =
        |(_, _, of): (String, String, Value)| Some(ObjectKey::new(of["namespace"].as_str()?, of["name"].as_str()?));
    let far: BTreeSet<ObjectKey> = named(snapshot).into_iter().filter_map(far).collect();
    snapshot.edit(Kind::ReferenceGrant, |grant| {
        let namespace = grant["metadata"]["namespace"].as_str().unwrap_or_default().to_owned();
        let to = grant.pointer("/spec/to").and_then(Value::as_array).into_iter().flatten();
        let mut names = to.filter_map(|to| Some(ObjectKey::new(&namespace, to["name"].as_str()?)));
        if !names.any(|name| far.contains(&name)) {
            return;
        }
        let Some(from) = grant.pointer_mut("/spec/from").and_then(Value::as_array_mut) else { return };
        let mut more: Vec<Value> = from.iter().filter(|one| one["kind"] == "Gateway").cloned().collect();
        more.iter_mut().for_each(|one| one["kind"] = json!("ListenerSet"));
        from.extend(more);
    });
}

pub(in crate::faults) const FAULTS: &[Fault] = &[
    Fault {
        name: "ends-tls-of-listener-sets-as-the-gateway",
        summary: "Looks in the namespace of the Gateway for the certificate under which a ListenerSet ends TLS.",
        clauses: &["blind:ListenerSetHTTPRouting.1"],
        seam: Seam::Config(|| serve_from(take_those_of_the_gateway)),
    },
    Fault {
        name: "ends-tls-of-listener-sets-by-grants-to-gateways",
        summary: "Takes a grant to Gateways for one to ListenerSets too, where these end TLS.",
        clauses: &["upstream:ListenerSetReferenceGrant", "blind:ListenerSetReferenceGrant.1", "IMPL-41"],
        seam: Seam::Snapshot(|| view(widen_grants)),
    },
    Fault {
        name: "takes-grants-to-sets-beside-the-gateway-for-all",
        summary: "Takes a grant to the ListenerSets of a namespace for one to those of others, too, whose Gateway is there.",
        clauses: &["upstream:ListenerSetReferenceGrant", "blind:ListenerSetReferenceGrant.1", "IMPL-41"],
        seam: Seam::Snapshot(|| view(grant_to_all_of_a_gateway)),
    },
];
