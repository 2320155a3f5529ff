//! What a namespace that ends tells of itself.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::Cluster;
use crate::meta;
use crate::patch::{Writer, track_update};
use crate::store::{Address, Object};

/// The manager of the conditions, as in a real cluster.
const MANAGER: &str = "kube-controller-manager";

impl Cluster {
    /// Writes into a namespace what keeps it: how many objects of which kinds, and their finalizers.
    pub(super) fn tell_what_remains(&self, namespace: &Address, contents: &[Address]) {
        let objects: Vec<(&str, Object)> = contents
            .iter()
            .filter_map(|address| Some((&*address.collection, self.store.get(&address.collection, &address.key)?)))
            .collect();
        let Some(resource) = self.registry().stored(&namespace.collection).cloned() else { return };
        self.amend(namespace, |object| {
            if !meta::is_deleting(object) {
                return false;
            }
            let before = object.clone();
            let now = meta::now();
            meta::child(object, "status").insert("conditions".into(), conditions(&before, &objects, &now));
            if *object == before {
                return false;
            }
            let writer = Writer { manager: MANAGER, api_version: "v1", subresource: "status", now: &now };
            track_update(Some(&before), object, &resource.schema.get(), writer);
            true
        });
    }
}

fn counted<'t>(what: &str, names: impl Iterator<Item = &'t str>) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    names.for_each(|name| *counts.entry(name).or_default() += 1);
    let each: Vec<String> = counts.iter().map(|(name, count)| format!("{name} ({count})")).collect();
    format!("{what}: {}", each.join(", "))
}

fn conditions(namespace: &Value, objects: &[(&str, Object)], now: &str) -> Value {
    let old = namespace["status"]["conditions"].as_array();
    let finalizers: Vec<&str> = objects.iter().flat_map(|(_, object)| meta::finalizers(object)).collect();
    let condition = |kind: &str, status: bool, reasons: [&str; 2], message: String| {
        let status = if status { "True" } else { "False" };
        let same = old.into_iter().flatten().find(|old| old["type"] == kind && old["status"] == status);
        let since = same.and_then(|old| old["lastTransitionTime"].as_str()).unwrap_or(now);
        let reason = reasons[usize::from(status == "True")];
        json!({"type": kind, "status": status, "lastTransitionTime": since, "reason": reason, "message": message})
    };
    let good = |kind, reason, message: &str| condition(kind, false, [reason, reason], message.to_owned());
    json!([
        good("NamespaceDeletionDiscoveryFailure", "ResourcesDiscovered", "all kinds are known"),
        good("NamespaceDeletionGroupVersionParsingFailure", "ParsedGroupVersions", "all kinds are known"),
        good("NamespaceDeletionContentFailure", "ContentDeleted", "all objects were told to go"),
        condition(
            "NamespaceContentRemaining",
            !objects.is_empty(),
            ["ContentRemoved", "SomeResourcesRemain"],
            counted("objects that remain", objects.iter().map(|(collection, _)| *collection)),
        ),
        condition(
            "NamespaceFinalizersRemaining",
            !finalizers.is_empty(),
            ["ContentHasNoFinalizers", "SomeFinalizersRemain"],
            counted("finalizers that hold objects", finalizers.into_iter()),
        ),
    ])
}
