//! Which scenarios serve whatever host they are asked for, and so answer for others where Gateways share a data path. What
//! has `parentRefs` is a route, and what has `listeners` is a parent, whatever their kinds.

use serde_json::Value;

use super::model::{Patch, PatchKind, Scenario, Verb};

/// Protocols of listeners that are told apart by hosts.
const PROTOCOLS: [&str; 2] = ["HTTP", "HTTPS"];

/// Whether a route of the scenario has, at some time, every host of a listener that has no hostname either. What is not to be seen in
/// the scenario, such as the listeners of a pool Gateway, counts as having none.
pub fn takes_any_host(scenario: &Scenario) -> bool {
    let listeners = listeners(scenario);
    scenario.steps.iter().any(|step| match &step.verb {
        Verb::Apply(apply) => apply
            .objects
            .iter()
            .filter(|route| names_no_host(route.pointer("/spec/hostnames")))
            .any(|route| is_open(route, &listeners)),
        Verb::Patch(patch) => frees_of_hosts(patch),
        _ => false,
    })
}

/// Every listener that a Gateway of the scenario ever has, by the name of the Gateway.
fn listeners(scenario: &Scenario) -> Vec<(&str, &Value)> {
    let mut found = Vec::new();
    for step in &scenario.steps {
        match &step.verb {
            Verb::Apply(apply) => {
                for gateway in &apply.objects {
                    let name = text(gateway, "/metadata/name");
                    found.extend(each(gateway.pointer("/spec/listeners")).map(|listener| (name, listener)));
                }
            }
            Verb::Patch(Patch { target, patch, .. }) => {
                let operations =
                    each(Some(patch)).filter(|operation| text(operation, "/path").starts_with("/spec/listeners"));
                let added = operations.filter_map(|operation| operation.get("value")).filter(|value| value.is_object());
                let all = each(patch.pointer("/spec/listeners")).chain(added);
                found.extend(all.map(|listener| (target.name.as_str(), listener)));
            }
            _ => {}
        }
    }
    found
}

/// Whether a parent of the route has a listener for every host, as far as can be seen.
fn is_open(route: &Value, listeners: &[(&str, &Value)]) -> bool {
    each(route.pointer("/spec/parentRefs")).any(|parent| {
        let mut own = listeners.iter().filter(|(gateway, _)| text(parent, "/name") == *gateway).peekable();
        own.peek().is_none()
            || own.any(|(_, listener)| {
                let is_meant = parent.get("sectionName").is_none_or(|section| listener.get("name") == Some(section));
                is_meant && PROTOCOLS.contains(&text(listener, "/protocol")) && text(listener, "/hostname").is_empty()
            })
    })
}

/// Whether a patch leaves a route without hostnames.
fn frees_of_hosts(patch: &Patch) -> bool {
    const HOSTNAMES: &str = "/spec/hostnames";
    match patch.kind {
        PatchKind::Merge => patch.patch.pointer(HOSTNAMES).is_some_and(|hostnames| names_no_host(Some(hostnames))),
        PatchKind::Json => each(Some(&patch.patch)).any(|operation| {
            text(operation, "/path") == HOSTNAMES
                && text(operation, "/op") != "test"
                && names_no_host(operation.get("value"))
        }),
    }
}

fn names_no_host(hostnames: Option<&Value>) -> bool {
    hostnames.and_then(Value::as_array).is_none_or(Vec::is_empty)
}

fn each(list: Option<&Value>) -> impl Iterator<Item = &Value> {
    list.and_then(Value::as_array).into_iter().flatten()
}

fn text<'v>(object: &'v Value, pointer: &str) -> &'v str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
#[path = "hosts_tests.rs"]
mod tests;
