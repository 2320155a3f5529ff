//! What is around a run and not its own: the definitions of a dialect, and other people's objects of its groups. A run must know when
//! somebody changes them, and of each its metadata is enough: definitions are large, and a generation tells of a change.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::api::{Api, ApiError, encode};
use super::executions::Executions;
use super::kinds::Kind;
use super::log_writer::LogWriter;
use super::names::{self, RUN_LABEL};
use super::redact::redact;
use super::watching::Followed;
use crate::log::{Body, Change, ObjectKey, Scope};

/// What the API server is asked for: metadata.
const LIST: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
const ONE: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";

/// Objects a page of a list.
const PAGE: u32 = 500;

/// Whose objects are watched.
enum Of {
    /// Definitions of the dialect: what there is of them is logged.
    Definitions,
    /// Everything that is not of this run: that it changed is logged, with the scenario in whose namespace it did.
    Others { query: String, executions: Arc<Executions> },
}

/// A watch of metadata.
pub(super) struct AroundWatcher {
    api: Api,
    log: Arc<LogWriter>,
    kind: Kind,
    of: Of,
    /// The API groups whose annotations are kept, and definitions watched.
    groups: Vec<String>,
    /// As text: other people may have thousands of objects, and none of them may ever change.
    known: HashMap<ObjectKey, Box<str>>,
    /// Whether what there is from the beginning has been listed.
    began: bool,
}

impl AroundWatcher {
    /// Of the definitions of some API groups.
    pub(super) fn definitions(groups: &[String], api: &Api, log: &Arc<LogWriter>) -> AroundWatcher {
        AroundWatcher::of(Of::Definitions, definition(), groups.to_vec(), api, log)
    }

    /// Of the objects of a kind that are not of this run.
    pub(super) fn others(
        kind: Kind,
        run_id: &str,
        executions: &Arc<Executions>,
        api: &Api,
        log: &Arc<LogWriter>,
    ) -> AroundWatcher {
        let query = format!("labelSelector={}&", encode(&format!("{RUN_LABEL}!={run_id}")));
        let groups = vec![kind.group.clone()];
        AroundWatcher::of(Of::Others { query, executions: Arc::clone(executions) }, kind, groups, api, log)
    }

    fn of(of: Of, kind: Kind, groups: Vec<String>, api: &Api, log: &Arc<LogWriter>) -> AroundWatcher {
        let known = HashMap::new();
        AroundWatcher { api: api.clone(), log: Arc::clone(log), kind, of, groups, known, began: false }
    }

    /// Takes in what is there, and says from which version to go on.
    pub(super) async fn begin(&mut self) -> Result<String, ApiError> {
        let mut missing: HashSet<ObjectKey> = self.known.keys().cloned().collect();
        let mut more = String::new();
        let version = loop {
            let mut list = self.api.through(&format!("{}limit={PAGE}{more}", self.path()), "accept", LIST).await?;
            for item in list.get_mut("items").and_then(Value::as_array_mut).map(std::mem::take).unwrap_or_default() {
                if let Some(key) = self.seen(item) {
                    missing.remove(&key);
                }
            }
            let metadata = |field: &str| {
                list.pointer("/metadata").and_then(|m| m.get(field)).and_then(Value::as_str).unwrap_or_default()
            };
            if metadata("continue").is_empty() {
                break metadata("resourceVersion").to_owned();
            }
            more = format!("&continue={}", encode(metadata("continue")));
        };
        for key in missing {
            self.lost(&key);
        }
        self.began = true;
        Ok(version)
    }

    fn seen(&mut self, mut object: Value) -> Option<ObjectKey> {
        let key = self.key(&object)?;
        let is_definition = matches!(self.of, Of::Definitions);
        if is_definition && key.name.split_once('.').is_none_or(|(_, group)| !is_among(&self.groups, group)) {
            return None;
        }
        let object = Arc::new(brief(&mut object, &self.kind, &self.groups));
        let change = match self.known.get(&key).map(|known| read(known)) {
            Some(known) if known["metadata"]["uid"] != object["metadata"]["uid"] => {
                self.lost(&key);
                Change::Added
            }
            Some(known) if is_same(&known, &object) => return Some(key),
            Some(_) => Change::Modified,
            None => Change::Added,
        };
        self.known.insert(key.clone(), object.to_string().into());
        self.append(key.clone(), change, object);
        Some(key)
    }

    fn lost(&mut self, key: &ObjectKey) {
        if let Some(known) = self.known.remove(key) {
            self.append(key.clone(), Change::Deleted, Arc::new(read(&known)));
        }
    }

    fn append(&self, key: ObjectKey, change: Change, object: Arc<Value>) {
        match &self.of {
            Of::Definitions => self.log.append(Scope::Run, Body::Observed { key, change, object }),
            Of::Others { .. } if !self.began => {}
            Of::Others { executions, .. } => {
                let token = key.namespace.as_deref().and_then(names::token_of);
                let scenario = token.and_then(|token| executions.named(token));
                self.log.append(scenario.map_or(Scope::Run, Scope::Scenario), Body::Stirred { key, change, object });
            }
        }
    }

    fn key(&self, object: &Value) -> Option<ObjectKey> {
        let text = |name: &str| object.get("metadata")?.get(name)?.as_str().map(str::to_owned);
        let (group, kind) = (self.kind.group.clone(), self.kind.kind.clone());
        Some(ObjectKey { group, kind, namespace: text("namespace"), name: text("name")? })
    }
}

impl Followed for AroundWatcher {
    fn path(&self) -> String {
        let query = match &self.of {
            Of::Definitions => "",
            Of::Others { query, .. } => query,
        };
        format!("{}?{query}", self.kind.collection(None))
    }

    fn accepts(&self) -> &'static str {
        ONE
    }

    fn changed(&mut self, object: Value) {
        self.seen(object);
    }

    fn gone(&mut self, object: Value) {
        if let Some(key) = self.key(&object) {
            self.lost(&key);
        }
    }

    fn blind(&mut self, reason: &str, _: bool) {
        tracing::debug!(reason, kind = self.kind.kind, "watch of what is around lost");
    }

    fn sighted(&mut self) {}

    async fn relist(&mut self, _: &str) -> Result<String, ApiError> {
        self.begin().await
    }

    fn is_over(&self, error: &ApiError) -> bool {
        error.is_refusal()
    }
}

/// What was kept as text.
fn read(known: &str) -> Value {
    serde_json::from_str(known).unwrap_or_default()
}

fn definition() -> Kind {
    Kind {
        group: "apiextensions.k8s.io".to_owned(),
        versions: vec!["v1".to_owned()],
        kind: "CustomResourceDefinition".to_owned(),
        plural: "customresourcedefinitions".to_owned(),
        namespaced: false,
        later: false,
    }
}

fn is_among(groups: &[String], group: &str) -> bool {
    groups.iter().any(|one| one == group)
}

/// What is kept of an object: which it is, its generation, the annotations of these groups, who wrote last.
fn brief(object: &mut Value, kind: &Kind, groups: &[String]) -> Value {
    redact(object);
    let mut metadata = Map::new();
    for name in ["name", "namespace", "uid", "generation", "resourceVersion", "deletionTimestamp", "managedFields"] {
        if let Some(value) = object.pointer_mut(&format!("/metadata/{name}")) {
            metadata.insert(name.to_owned(), value.take());
        }
    }
    let annotations = object.pointer("/metadata/annotations").and_then(Value::as_object);
    let annotations: Map<String, Value> = annotations
        .into_iter()
        .flatten()
        .filter(|(name, _)| name.split('/').next().is_some_and(|domain| is_among(groups, domain)))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    metadata.insert("annotations".to_owned(), annotations.into());
    json!({"apiVersion": kind.api_version(), "kind": kind.kind, "metadata": metadata})
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
    fn little_is_kept() {
        let mut object = json!({"kind": "PartialObjectMetadata", "metadata": {
            "name": "httproutes.gateway.networking.k8s.io", "uid": "u", "generation": 2, "labels": {"a": "b"},
            "annotations": {
                "gateway.networking.k8s.io/bundle-version": "v1.6.1",
                "kubectl.kubernetes.io/last-applied-configuration": "{}",
            },
        }});
        let kept =
            brief(&mut object, &definition(), &["example.com".to_owned(), "gateway.networking.k8s.io".to_owned()]);
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
