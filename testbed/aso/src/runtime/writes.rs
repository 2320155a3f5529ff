//! What is written into the cluster.

use std::sync::Arc;

use base64::{Engine, engine::general_purpose::STANDARD};
use jiff::Timestamp;
use kube::{
    Api,
    api::{ApiResource, DynamicObject, Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};

use super::{Shared, watch};
use crate::{
    behaviour::Write,
    decide::Decision,
    world::{FINALIZER, Facts, Key},
};

/// How often a write is repeated at once after somebody else was faster.
const CONFLICTS: usize = 5;

/// Writes what one decision asks for.
pub(super) struct Writer<'a> {
    pub(super) shared: &'a Shared,
    pub(super) key: &'a Key,
    pub(super) facts: &'a Facts,
    pub(super) decision: &'a Decision,
}

impl Writer<'_> {
    /// Writes annotations, labels and the finalizer.
    pub(super) async fn metadata(&self) -> kube::Result<()> {
        self.update(false, |live| {
            let mut wanted = with_metadata(live, self.decision);
            self.shared.behaviour.objects(&mut wanted);
            (&wanted != live).then_some(wanted)
        })
        .await
    }

    /// Writes the status.
    pub(super) async fn status(&self) -> kube::Result<()> {
        let count = self.statuses(&self.live()).len();
        for at in 0..count {
            self.update(true, |live| {
                let mut wanted = live.clone();
                // What came before may have made a write needless: the last one is always due.
                let mut statuses = self.statuses(live);
                statuses.truncate(at + 1);
                wanted["status"] = statuses.pop()?;
                let before = live.get("status").filter(|status| !status.is_null());
                let is_same = before.map_or(wanted["status"] == json!({}), |before| before == &wanted["status"]);
                (!is_same).then_some(wanted)
            })
            .await?;
        }
        Ok(())
    }

    fn statuses(&self, live: &Value) -> Vec<Value> {
        let now = Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let write = Write { live, desired: &self.decision.status, now: &now };
        self.shared.behaviour.statuses(self.shared.settings.edition, write)
    }

    /// Writes Secrets and ConfigMaps that belong to the object.
    pub(super) async fn exports(&self) -> kube::Result<()> {
        for ((kind, name), values) in &self.decision.exports {
            let is_secret = *kind == "Secret";
            let resource = watch::resource("", "v1", kind, if is_secret { "secrets" } else { "configmaps" });
            let api = Api::<DynamicObject>::namespaced_with(self.shared.client.clone(), &self.key.namespace, &resource);
            let held = |value: &String| if is_secret { STANDARD.encode(value) } else { value.clone() };
            let data: Value = values.iter().map(|(key, value)| (key.clone(), Value::from(held(value)))).collect();
            let of = self.facts.kind;
            let owner = json!({
                "apiVersion": format!("{}/{}", of.group, of.version), "kind": of.kind,
                "name": self.key.name, "uid": self.facts.meta("uid"),
            });
            let mut object = json!({
                "apiVersion": "v1", "kind": kind,
                "metadata": {"name": name, "namespace": self.key.namespace, "ownerReferences": [owner]},
                "data": data,
            });
            if let Some(spoiler) = self.shared.behaviour.spoiler() {
                let plain = object.clone();
                spoiler.spoil(kind, &plain, &mut object);
            }
            let data = object["data"].clone();
            match api.get_opt(name).await? {
                None => {
                    let object = serde_json::from_value(object).map_err(kube::Error::SerdeError)?;
                    api.create(&PostParams::default(), &object).await?;
                }
                Some(_) => {
                    api.patch(name, &PatchParams::default(), &Patch::Merge(json!({"data": data}))).await?;
                }
            }
        }
        Ok(())
    }

    /// Records a warning.
    pub(super) async fn event(&self) -> kube::Result<()> {
        let Some((reason, message)) = &self.decision.event else { return Ok(()) };
        let resource = watch::resource("", "v1", "Event", "events");
        let api = Api::<DynamicObject>::namespaced_with(self.shared.client.clone(), &self.key.namespace, &resource);
        let kind = self.facts.kind;
        let now = Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let event = json!({
            "apiVersion": "v1", "kind": "Event",
            "metadata": {"generateName": format!("{}.", self.key.name), "namespace": self.key.namespace},
            "involvedObject": {
                "apiVersion": format!("{}/{}", kind.group, kind.version), "kind": kind.kind,
                "namespace": self.key.namespace, "name": self.key.name, "uid": self.facts.meta("uid"),
            },
            "type": "Warning", "reason": reason, "message": message, "count": 1,
            "firstTimestamp": now, "lastTimestamp": now, "source": {"component": "gateproof-aso"},
        });
        let event = serde_json::from_value(event).map_err(kube::Error::SerdeError)?;
        api.create(&PostParams::default(), &event).await.map(drop)
    }

    /// The newest version of the object that is known.
    fn live(&self) -> Arc<Value> {
        self.shared.world().objects.get(self.key).map_or_else(|| Arc::clone(&self.facts.object), Arc::clone)
    }

    /// Writes what `change` makes of the object, and again of a newer one where somebody else was faster.
    async fn update(&self, is_status: bool, change: impl Fn(&Value) -> Option<Value>) -> kube::Result<()> {
        let resource = self.resource();
        let api = Api::<DynamicObject>::namespaced_with(self.shared.client.clone(), &self.key.namespace, &resource);
        let mut live = self.live();
        let mut tries = 0;
        loop {
            let Some(mut wanted) = self.wanted(is_status, &live, &change) else { return Ok(()) };
            // Objects out of a list do not say what they are.
            wanted["apiVersion"] = resource.api_version.clone().into();
            wanted["kind"] = resource.kind.clone().into();
            let object: DynamicObject = serde_json::from_value(wanted).map_err(kube::Error::SerdeError)?;
            let written = if is_status {
                api.replace_status(&self.key.name, &PostParams::default(), &object).await
            } else {
                api.replace(&self.key.name, &PostParams::default(), &object).await
            };
            let object = match written {
                Ok(object) => {
                    let object = serde_json::to_value(object).map_err(kube::Error::SerdeError)?;
                    watch::learn(&mut self.shared.world(), self.key.clone(), object);
                    return Ok(());
                }
                Err(kube::Error::Api(status)) if status.is_not_found() => return Ok(()),
                Err(kube::Error::Api(status)) if status.is_conflict() && tries < CONFLICTS => {
                    tries += 1;
                    api.get_opt(&self.key.name).await?
                }
                Err(error) => return Err(error),
            };
            let Some(object) = object else { return Ok(()) };
            let object = serde_json::to_value(object).map_err(kube::Error::SerdeError)?;
            if object["metadata"]["uid"] != live["metadata"]["uid"] {
                return Ok(());
            }
            live = Arc::new(object);
        }
    }

    /// What is to be written over the live object, if anything is.
    fn wanted(&self, is_status: bool, live: &Value, change: &impl Fn(&Value) -> Option<Value>) -> Option<Value> {
        let Some(spoiler) = self.shared.behaviour.spoiler() else { return change(live) };
        let kind = self.facts.kind.kind;
        let plain = spoiler.restore(kind, live).unwrap_or_else(|| live.clone());
        let mut wanted = change(&plain).unwrap_or(plain);
        spoiler.spoil(kind, live, &mut wanted);
        let part = if is_status { "status" } else { "metadata" };
        (wanted.get(part) != live.get(part)).then_some(wanted)
    }

    fn resource(&self) -> ApiResource {
        let kind = self.facts.kind;
        watch::resource(kind.group, kind.version, kind.kind, kind.plural)
    }
}

/// The object with the metadata that a decision asks for.
fn with_metadata(live: &Value, decision: &Decision) -> Value {
    let mut wanted = live.clone();
    let metadata = &mut wanted["metadata"];
    for (name, value) in &decision.annotations {
        match value {
            Some(value) => metadata["annotations"][*name] = value.clone().into(),
            None => {
                if let Some(annotations) = metadata["annotations"].as_object_mut() {
                    annotations.shift_remove(*name);
                }
            }
        }
    }
    for (name, value) in &decision.labels {
        metadata["labels"][*name] = value.clone().into();
    }
    let mut finalizers = metadata["finalizers"].as_array().cloned().unwrap_or_default();
    let is_there = finalizers.iter().any(|one| one == FINALIZER);
    match decision.finalizer {
        // None can be added to what is being deleted.
        Some(true) if !is_there && metadata["deletionTimestamp"].is_null() => finalizers.push(FINALIZER.into()),
        Some(false) if is_there => finalizers.retain(|one| one != FINALIZER),
        _ => return cleaned(wanted, live),
    }
    metadata["finalizers"] = finalizers.into();
    cleaned(wanted, live)
}

/// Looking into a field that is not there leaves a null behind, which is no change.
fn cleaned(mut wanted: Value, live: &Value) -> Value {
    for field in ["annotations", "labels", "finalizers", "deletionTimestamp"] {
        if live["metadata"].get(field).is_none()
            && wanted["metadata"][field].is_null()
            && let Some(metadata) = wanted["metadata"].as_object_mut()
        {
            metadata.shift_remove(field);
        }
    }
    wanted
}
