//! What is made in the cluster for a Gateway, as implementations do whose data plane runs there: a Service, the ServiceAccount of
//! what would run behind it, and a ConfigMap with what that begins with.
//!
//! The data plane of this implementation is a part of itself, so none of them serves anything. They carry what
//! `spec.infrastructure` asks for, and are made only for Gateways that ask for something: all others can do without.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::{
    model::{GATEWAY_GROUP, GatewaySpec},
    snapshot::{Body, Kind, Object, ObjectKey, Snapshot},
    status::{DesiredStatus, StatusUpdate, Truth},
};

/// The label by which what is made for a Gateway names it (GEP-1762).
pub const GATEWAY_NAME: &str = "gateway.networking.k8s.io/gateway-name";

/// The longest name that a Service, or the value of a label, can have.
const LONGEST: usize = 63;

/// An object that is made for a Gateway.
#[derive(Clone, Debug, PartialEq)]
pub struct Made {
    /// The Gateway.
    pub gateway: ObjectKey,
    /// The object.
    pub object: Value,
}

/// What there should be for Gateways that a round has statuses for. `provided` has those that objects were made for so far, by
/// uid: theirs stay, whatever the spec asks for now.
pub fn objects(snapshot: &Snapshot, statuses: &[StatusUpdate], provided: &mut BTreeSet<String>) -> Vec<Made> {
    let ours = statuses.iter().filter(|update| update.kind == Kind::Gateway).filter_map(|update| {
        let object = snapshot.get(Kind::Gateway, &update.key.namespace, &update.key.name)?;
        let Body::Gateway(spec) = &object.body else { return None };
        Some((object, &**spec, is_programmed(&update.status)))
    });
    let (mut all, mut still) = (Vec::new(), BTreeSet::new());
    for (gateway, spec, programmed) in ours {
        let begins = programmed && asks(spec);
        if (begins || provided.contains(&gateway.meta.uid)) && gateway.meta.name.len() <= LONGEST {
            still.insert(gateway.meta.uid.clone());
            all.extend(made(gateway, spec).map(|object| Made { gateway: gateway.key(), object }));
        }
    }
    *provided = still;
    all
}

fn is_programmed(status: &DesiredStatus) -> bool {
    let DesiredStatus::Gateway { conditions, .. } = status else { return false };
    conditions.iter().any(|condition| condition.r#type == "Programmed" && condition.status == Truth::True)
}

/// Whether it has anything to say of what is made for it.
fn asks(spec: &GatewaySpec) -> bool {
    spec.infrastructure.as_ref().is_some_and(|of| !of.labels.is_empty() || !of.annotations.is_empty())
}

fn made(gateway: &Object, spec: &GatewaySpec) -> impl Iterator<Item = Value> {
    let infrastructure = spec.infrastructure.clone().unwrap_or_default();
    let mut labels = infrastructure.labels;
    // Its own label stays what it is, whatever the spec says: things are found by it.
    labels.insert(GATEWAY_NAME.to_owned(), gateway.meta.name.clone());
    let metadata = json!({
        "name": name(gateway, spec),
        "namespace": gateway.meta.namespace,
        "labels": labels,
        "annotations": infrastructure.annotations,
        "ownerReferences": [{
            "apiVersion": format!("{GATEWAY_GROUP}/v1"),
            "kind": Kind::Gateway.name(),
            "name": gateway.meta.name,
            "uid": gateway.meta.uid,
        }],
    });
    let of = move |kind: Kind, field: &str, value: Value| json!({"apiVersion": "v1", "kind": kind.name(), "metadata": metadata, field: value});
    let account = {
        let mut account = of(Kind::Service, "automountServiceAccountToken", json!(false));
        account["kind"] = "ServiceAccount".into();
        account
    };
    let service = of(Kind::Service, "spec", json!({"type": "ClusterIP", "ports": ports(spec)}));
    let config = of(Kind::ConfigMap, "data", json!({"gateway": gateway.key().to_string()}));
    [service, account, config].into_iter()
}

/// One port of the Service for each port and transport of the listeners.
fn ports(spec: &GatewaySpec) -> Vec<Value> {
    let of = |protocol: &str| if protocol == "UDP" { "UDP" } else { "TCP" };
    let ports: BTreeSet<_> = spec.listeners.iter().map(|one| (one.port, of(&one.protocol))).collect();
    let port = |(port, transport): (_, &str)| json!({"name": format!("{}-{port}", transport.to_lowercase()), "port": port, "protocol": transport});
    ports.into_iter().map(port).collect()
}

/// As GEP-1762 has it, GATEWAY-CLASS; where that is none for a Service, one that ends in a part of the uid, so that what is left of
/// two long names never is one.
fn name(gateway: &Object, spec: &GatewaySpec) -> String {
    let (gateway, uid) = (&gateway.meta.name, &gateway.meta.uid);
    let name = format!("{gateway}-{}", spec.gateway_class_name);
    let is_label =
        name.len() <= LONGEST && !name.contains('.') && name.starts_with(|first: char| first.is_ascii_lowercase());
    if is_label {
        return name;
    }
    let start: String = gateway.chars().take(40).map(|char| if char == '.' { '-' } else { char }).collect();
    let uid: String = uid.chars().filter(char::is_ascii_alphanumeric).take(8).collect();
    format!("gateway-{start}-{uid}")
}

/// The labels of an object, or its annotations, for who changes them.
pub(crate) fn carried<'o>(object: &'o mut Value, field: &str) -> Option<&'o mut serde_json::Map<String, Value>> {
    object.pointer_mut("/metadata")?.get_mut(field)?.as_object_mut()
}

/// What a Gateway asks everything that is made for it to carry: labels, and annotations.
pub(crate) fn asked(gateway: &Object) -> [(&'static str, BTreeMap<String, String>); 2] {
    let infrastructure = match &gateway.body {
        Body::Gateway(spec) => spec.infrastructure.clone().unwrap_or_default(),
        _ => Default::default(),
    };
    [("labels", infrastructure.labels), ("annotations", infrastructure.annotations)]
}
