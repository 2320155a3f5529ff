//! The definitions of Gateway API, of which a run must know when somebody changes or takes away one: of each its metadata alone, since
//! definitions are large, and its generation tells of a change.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::api::{Api, ApiError};
use super::kinds::GATEWAY_GROUP;
use super::log_writer::LogWriter;
use super::observe::refused;
use super::redact::redact;
use super::watching::Followed;
use crate::log::{Body, Change, ObjectKey, Scope};

/// Where they are.
const PATH: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
/// What the API server is asked for: metadata.
const LIST: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
const ONE: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";

/// The watch of definitions.
pub(super) struct DefinitionWatcher {
    api: Api,
    log: Arc<LogWriter>,
    known: HashMap<String, Arc<Value>>,
}

impl DefinitionWatcher {
    pub(super) fn new(api: &Api, log: &Arc<LogWriter>) -> DefinitionWatcher {
        DefinitionWatcher { api: api.clone(), log: Arc::clone(log), known: HashMap::new() }
    }

    /// Takes in what is there, and says from which version to go on.
    pub(super) async fn begin(&mut self) -> Result<String, ApiError> {
        let mut list = self.api.through(PATH, "accept", LIST).await?;
        let mut missing: Vec<String> = self.known.keys().cloned().collect();
        for item in list.get_mut("items").and_then(Value::as_array_mut).map(std::mem::take).unwrap_or_default() {
            missing.retain(|name| item.pointer("/metadata/name").and_then(Value::as_str) != Some(name));
            self.changed(item);
        }
        for name in missing {
            self.lost(&name);
        }
        Ok(list.pointer("/metadata/resourceVersion").and_then(Value::as_str).unwrap_or_default().to_owned())
    }

    fn lost(&mut self, name: &str) {
        if let Some(object) = self.known.remove(name) {
            self.log.append(Scope::Run, Body::Observed { key: key(name), change: Change::Deleted, object });
        }
    }
}

impl Followed for DefinitionWatcher {
    fn path(&self) -> String {
        format!("{PATH}?")
    }

    fn accepts(&self) -> &'static str {
        ONE
    }

    fn changed(&mut self, mut object: Value) {
        let Some(name) = object.pointer("/metadata/name").and_then(Value::as_str).map(str::to_owned) else { return };
        if name.split_once('.').is_none_or(|(_, group)| group != GATEWAY_GROUP) {
            return;
        }
        let object = Arc::new(brief(&mut object));
        let change = match self.known.get(&name) {
            Some(known) if known["metadata"]["uid"] != object["metadata"]["uid"] => {
                self.lost(&name);
                Change::Added
            }
            Some(known) if is_same(known, &object) => return,
            Some(_) => Change::Modified,
            None => Change::Added,
        };
        self.known.insert(name.clone(), Arc::clone(&object));
        self.log.append(Scope::Run, Body::Observed { key: key(&name), change, object });
    }

    fn gone(&mut self, object: Value) {
        if let Some(name) = object.pointer("/metadata/name").and_then(Value::as_str) {
            self.lost(name);
        }
    }

    fn blind(&mut self, reason: &str, _: bool) {
        tracing::debug!(reason, "watch of definitions lost");
    }

    fn sighted(&mut self) {}

    async fn relist(&mut self, _: &str) -> Result<String, ApiError> {
        self.begin().await
    }

    fn is_over(&self, error: &ApiError) -> bool {
        refused(error)
    }
}

fn key(name: &str) -> ObjectKey {
    let (group, kind) = ("apiextensions.k8s.io".to_owned(), "CustomResourceDefinition".to_owned());
    ObjectKey { group, kind, namespace: None, name: name.to_owned() }
}

/// What is kept of a definition: which it is, its generation, the annotations of Gateway API, who wrote last.
fn brief(object: &mut Value) -> Value {
    redact(object);
    let mut metadata = Map::new();
    for name in ["name", "uid", "generation", "resourceVersion", "deletionTimestamp", "managedFields"] {
        if let Some(value) = object.pointer_mut(&format!("/metadata/{name}")) {
            metadata.insert(name.to_owned(), value.take());
        }
    }
    let annotations = object.pointer("/metadata/annotations").and_then(Value::as_object);
    let annotations: Map<String, Value> = annotations
        .into_iter()
        .flatten()
        .filter(|(name, _)| name.split('/').next() == Some(GATEWAY_GROUP))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    metadata.insert("annotations".to_owned(), annotations.into());
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": metadata})
}

/// Whether two versions differ in nothing but their status and in what is not kept.
fn is_same(one: &Value, other: &Value) -> bool {
    ["generation", "annotations", "deletionTimestamp"]
        .iter()
        .all(|name| one["metadata"][*name] == other["metadata"][*name])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn little_is_kept_of_a_definition() {
        let mut object = json!({"kind": "PartialObjectMetadata", "metadata": {
            "name": "httproutes.gateway.networking.k8s.io", "uid": "u", "generation": 2, "labels": {"a": "b"},
            "annotations": {
                "gateway.networking.k8s.io/bundle-version": "v1.6.1",
                "kubectl.kubernetes.io/last-applied-configuration": "{}",
            },
        }});
        let kept = brief(&mut object);
        let annotations = json!({"gateway.networking.k8s.io/bundle-version": "v1.6.1"});
        let metadata = json!({
            "name": "httproutes.gateway.networking.k8s.io", "uid": "u", "generation": 2, "annotations": annotations,
        });
        assert_eq!(kept["metadata"], metadata);
        let with = |name: &str, value: Value| {
            let mut object = kept.clone();
            object["metadata"][name] = value;
            object
        };
        assert!(is_same(&kept, &with("resourceVersion", json!("9"))));
        assert!(!is_same(&kept, &with("generation", json!(3))));
        assert!(!is_same(&kept, &with("annotations", json!({}))));
    }
}
