//! What scenarios ask of the endpoints of their backends. Hosted ones have what slices of ours say; those of deployed ones are made
//! by the cluster, from Services and Pods, and made again whenever somebody changes them. Pure.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::cluster::backends::deployed;
use crate::cluster::services::ServicesOf;
use crate::log::ObjectKey;
use crate::scenario::objects::{applied, references};
use crate::scenario::{BackendDecl, Patch, PatchKind, Scenario, Step, Verb};

/// The alias of the namespace that is meant where none is named.
const MAIN: &str = "ns";

/// Services by alias of their namespace and name, as deployed backends would have them.
type Services = BTreeMap<(String, String), Value>;

/// The first thing that a scenario wants of endpoints and that cannot be where the cluster makes them from Pods, in words. Every step
/// of it counts.
pub fn only_hosted(scenario: &Scenario) -> Option<String> {
    if let Some(decl) = scenario.backends.iter().find(|decl| decl.service.is_some() && !decl.ready) {
        return Some(format!("its backend `{}` has an endpoint that is not ready", decl.name));
    }
    if let Some(decl) = scenario.backends.iter().find(|decl| decl.greets) {
        return Some(format!("its backend `{}` speaks first", decl.name));
    }
    if let Some(decl) = scenario.backends.iter().find(|decl| !decl.alpn.is_empty()) {
        return Some(format!("its backend `{}` agrees on protocols of its own", decl.name));
    }
    let is_long = |step: &Step| matches!(&step.verb, Verb::Probe(probe) if probe.method.is_none() && (probe.half_close || probe.empty || !probe.body.is_empty()));
    if scenario.steps.iter().any(is_long) {
        return Some("what it sends over a stream comes back from hosted backends alone".to_owned());
    }
    if let Some(decl) = scenario.backends.iter().find(|decl| decl.tls.is_some()) {
        return Some(format!("its backend `{}` shows a certificate that is made for the run", decl.name));
    }
    let own = |name: &str| applied(scenario).any(|key| key.kind == "EndpointSlice" && key.name == name);
    let slice = references(scenario).into_iter().find(|object| object.kind == "EndpointSlice" && !own(&object.name));
    if let Some(slice) = slice {
        return Some(format!("it names {slice}, which only hosted backends have"));
    }
    let mut services: Services = scenario.backends.iter().filter_map(service).collect();
    let before: BTreeMap<_, _> = services.iter().map(|(key, service)| (key.clone(), endpoints(service))).collect();
    for step in &scenario.steps {
        for (key, service) in written(&step.verb, &services) {
            let Some(endpoints_before) = before.get(&key) else { continue };
            if service.as_ref().map(endpoints).as_ref() != Some(endpoints_before) {
                return Some(format!("it changes which endpoints Service/{} has", key.1));
            }
            services.extend(service.map(|service| (key, service)));
        }
    }
    None
}

fn service(decl: &BackendDecl) -> Option<((String, String), Value)> {
    let service = || deployed::service(decl, (&decl.namespace, &decl.name), &serde_json::Map::new());
    decl.service.is_none().then(|| ((decl.namespace.clone(), decl.name.clone()), service()))
}

/// The Services that a step writes, as they are then; nothing where that is not known.
fn written(verb: &Verb, services: &Services) -> Vec<((String, String), Option<Value>)> {
    match verb {
        Verb::Apply(apply) => apply
            .objects
            .iter()
            .filter_map(|object| {
                let key = ObjectKey::of(object).filter(|key| key.group.is_empty() && key.kind == "Service")?;
                let mut service = object.clone();
                ServicesOf::Pods.fit(&mut service, &key.name);
                Some(((alias(key.namespace.as_deref()), key.name), Some(service)))
            })
            .collect(),
        Verb::Patch(patch) if patch.target.kind == "Service" && patch.subresource.is_none() => {
            let namespace = patch.target.namespace.clone().unwrap_or_else(|| MAIN.to_owned());
            let key = (namespace, patch.target.name.clone());
            let service = services.get(&key).and_then(|service| patched(service, patch));
            vec![(key, service)]
        }
        _ => Vec::new(),
    }
}

/// The alias in `${ns:ALIAS}`.
fn alias(namespace: Option<&str>) -> String {
    let alias = namespace.and_then(|text| text.strip_prefix("${ns:")?.strip_suffix('}'));
    alias.unwrap_or(MAIN).to_owned()
}

/// A Service after a patch, of its spec alone.
fn patched(service: &Value, patch: &Patch) -> Option<Value> {
    let mut service = service.clone();
    // What the API server sets may be named in a patch too.
    for port in service.pointer_mut("/spec/ports").and_then(Value::as_array_mut).into_iter().flatten() {
        port["targetPort"] = target(port);
    }
    match patch.kind {
        PatchKind::Merge => json_patch::merge(&mut service, &patch.patch),
        PatchKind::Json => {
            let of_spec = |operation: &&Value| {
                operation.get("path").and_then(Value::as_str).is_none_or(|path| path.starts_with("/spec"))
            };
            let operations: Value = patch.patch.as_array()?.iter().filter(of_spec).cloned().collect();
            json_patch::patch(&mut service, &serde_json::from_value::<json_patch::Patch>(operations).ok()?).ok()?;
        }
    }
    Some(service)
}

/// What of a Service decides which endpoints it has.
fn endpoints(service: &Value) -> Value {
    let spec = &service["spec"];
    let ports = spec["ports"].as_array().into_iter().flatten().map(|port| {
        let protocol = port.get("protocol").and_then(Value::as_str).unwrap_or("TCP");
        json!([port.get("name"), protocol, target(port)])
    });
    let external = spec["type"].as_str() == Some("ExternalName");
    json!({"ports": ports.collect::<Value>(), "selector": spec["selector"], "external": external})
}

fn target(port: &Value) -> Value {
    port.get("targetPort").filter(|target| !target.is_null()).unwrap_or(&port["port"]).clone()
}

#[cfg(test)]
#[path = "endpoints_tests.rs"]
mod tests;
