//! Names of objects as the manifest's author wrote them, the same in every run.

use crate::log::Bindings;
use crate::scenario::ObjectRef;

/// `Kind/name`, `Kind/alias/name`, `Kind/alias` or `${gw}` for a bound reference.
pub(super) fn label(object: &ObjectRef, bindings: &Bindings) -> String {
    let namespace = object.namespace.as_deref();
    if object.kind == "Gateway" {
        let alias = bindings
            .gateways
            .iter()
            .find(|(_, gateway)| gateway.name == object.name && Some(gateway.namespace.as_str()) == namespace);
        if let Some((alias, _)) = alias {
            return format!("${{{alias}}}");
        }
    }
    match namespace {
        None => match bindings.names.iter().find(|(_, name)| **name == object.name) {
            Some((alias, _)) => format!("{}/{alias}", object.kind),
            None => format!("{}/{}", object.kind, object.name),
        },
        Some(namespace) => match bindings.namespaces.iter().find(|(_, real)| *real == namespace) {
            Some((alias, _)) if alias == "ns" => format!("{}/{}", object.kind, object.name),
            Some((alias, _)) => format!("{}/{alias}/{}", object.kind, object.name),
            None => object.to_string(),
        },
    }
}
