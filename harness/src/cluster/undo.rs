//! Patches of objects that the run did not create, and the way back.
//!
//! What has to be restored is written into the cluster before the first patch, as a note: a ConfigMap in a namespace of the
//! scenario. The cluster and not the report directory, because `gateproof clean` may run on another machine than the run that
//! was killed, and because a note goes with the namespace whose removal says that all is well.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use serde_json::{Map, Value, json};

use super::api::{Api, ApiError, encode};
use super::leftover::{CleanScope, Leftover};
use super::log_writer::LogWriter;
use super::names::{self, RUN_LABEL};
use super::pool::describe;
use super::write::{PatchType, Whose, Writer, is_ours};
use crate::dialects::Dialect;
use crate::log::{Bindings, Body, ObjectKey, Scope, Write, WriteOutcome};
use crate::scenario::scope::{ADMISSION, DEFINITION, POLICY_BINDING};

/// Label of notes.
pub const UNDO_LABEL: &str = "gateproof.dev/undo";

/// Why a patch was not noted, and must therefore not be made.
#[derive(Debug, thiserror::Error)]
pub enum UndoError {
    /// Objects of others are left alone.
    #[error("{object} is not the run's own, and the run was not permitted to change it (--allow-cluster-changes)")]
    NotPermitted {
        /// Which object.
        object: String,
    },
    /// Nobody would restore it.
    #[error(
        "{object} is not the run's own, and of what others own only the GatewayClass, the definitions of Gateway API and what binds \
         their policy can be patched: nothing else is restored"
    )]
    NotNoted {
        /// Which object.
        object: String,
    },
    /// The object cannot be read.
    #[error("cannot read {object} before it is patched: {source}")]
    Read {
        /// Which object.
        object: String,
        /// Why.
        source: ApiError,
    },
    /// The note cannot be written.
    #[error("cannot note what {object} was before it is patched: {outcome}")]
    Write {
        /// Which object.
        object: String,
        /// Why.
        outcome: String,
    },
}

/// What restores an object: a merge patch of the fields that were patched.
#[derive(Debug, Clone, PartialEq)]
struct Note {
    namespace: String,
    name: String,
    key: ObjectKey,
    /// Of the object that was noted: another one of its name is left alone. Notes of older releases have none.
    uid: Option<String>,
    /// Of the note itself, if it was found in the cluster.
    found: Option<String>,
    subresource: Option<String>,
    restore: Value,
    /// What each patch was to leave of the fields that are to be restored. Notes of older releases have none.
    patched: Vec<Value>,
}

/// Whether runs note what they patch of such an object. Notes lie in the cluster, and whoever restores may be permitted more than who
/// wrote them: nothing else is restored.
fn is_noted(key: &ObjectKey, dialect: &Dialect) -> bool {
    let is_beside = |group: &str, kind: &str| key.group == group && key.kind == kind;
    if is_beside("apiextensions.k8s.io", DEFINITION) || is_beside(ADMISSION, POLICY_BINDING) {
        return key.name.strip_suffix(dialect.group()).is_some_and(|plural| plural.is_empty() || plural.ends_with('.'));
    }
    dialect.is_class(&key.kind) && key.group == dialect.group_of(&key.kind)
}

/// Notes what patches change, and restores it.
pub struct Undo {
    api: Api,
    writer: Writer,
    permitted: bool,
    /// The notes by the token of their execution.
    notes: Mutex<HashMap<String, Vec<Note>>>,
}

impl Undo {
    /// With no notes yet. `permitted`: whether objects of others may be patched at all.
    pub fn new(api: Api, writer: Writer, permitted: bool) -> Undo {
        Undo { api, writer, permitted, notes: Mutex::default() }
    }

    /// Notes what a patch is going to change, unless the object is the run's own and goes with it. Says as whose it is to be patched.
    ///
    /// # Errors
    /// If the object is none to be patched, cannot be read or the note not be written: then the patch must not be made.
    pub async fn note(
        &self,
        bindings: &Bindings,
        key: &ObjectKey,
        patch_type: PatchType,
        subresource: Option<&str>,
        patch: &Value,
    ) -> Result<Whose, UndoError> {
        let (Some(namespace), Some(kind)) =
            (bindings.namespaces.get("ns"), self.writer.kinds().of(&key.group, &key.kind))
        else {
            return Ok(Whose::Own);
        };
        if self.writer.owns(key) {
            return Ok(Whose::Own);
        }
        if !self.permitted {
            return Err(UndoError::NotPermitted { object: key.to_string() });
        }
        if !is_noted(key, self.writer.kinds().dialect()) {
            return Err(UndoError::NotNoted { object: key.to_string() });
        }
        let live = match self.api.get(&kind.object(key)).await {
            Ok(live) => live,
            // The writer will say so itself.
            Err(error) if error.is_not_found() => return Ok(Whose::Own),
            Err(source) => return Err(UndoError::Read { object: key.to_string(), source }),
        };
        let uid = live.pointer("/metadata/uid").and_then(Value::as_str).unwrap_or_default().to_owned();
        let whose = Whose::Noted { uid: uid.clone() };
        // What does not apply here is refused there, and changes nothing.
        let Some(patched) = patched(&live, patch_type, patch) else { return Ok(whose) };
        let mut notes = self.take(&bindings.token);
        let same = |note: &Note| {
            note.key == *key && note.uid.as_ref() == Some(&uid) && note.subresource.as_deref() == subresource
        };
        let place = notes.iter().position(same).unwrap_or_else(|| {
            notes.push(Note {
                namespace: namespace.clone(),
                name: format!("undo-{}", notes.len()),
                key: key.clone(),
                uid: Some(uid),
                found: None,
                subresource: subresource.map(str::to_owned),
                restore: json!({}),
                patched: Vec::new(),
            });
            notes.len() - 1
        });
        let note = &mut notes[place];
        note.restore = also_after(&note.restore, &live, &patched);
        note.patched.push(part_of(&patched, &note.restore));
        let written = self.writer.apply(0, 0, &note.config_map(&bindings.run_id, &bindings.token)).await;
        self.put(&bindings.token, notes);
        match written.outcome {
            WriteOutcome::Admitted { .. } => Ok(whose),
            outcome => Err(UndoError::Write { object: key.to_string(), outcome: describe(&outcome) }),
        }
    }

    /// Restores what an execution patched, logs that, and returns what could not be restored. The notes of that stay.
    pub async fn restore(&self, token: &str, log: &LogWriter) -> Vec<Leftover> {
        let notes = self.take(token);
        let tell = |write: &Write| log.append(Scope::Run, Body::Made(Box::new(write.clone())));
        restore(&self.api, &self.writer, &notes, tell).await.1
    }

    fn take(&self, token: &str) -> Vec<Note> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).remove(token).unwrap_or_default()
    }

    fn put(&self, token: &str, notes: Vec<Note>) {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).insert(token.to_owned(), notes);
    }
}

/// What [`restore_all`] came to.
#[derive(Debug, Default)]
pub struct Restored {
    /// Objects that are as before, as `Kind/name`.
    pub restored: Vec<String>,
    /// Objects that are not.
    pub leftovers: Vec<Leftover>,
    /// Namespaces whose notes are still needed.
    pub needed: Vec<String>,
}

async fn noted(api: &Api, scope: &CleanScope) -> Result<Vec<Value>, ApiError> {
    let selector = format!("{UNDO_LABEL},{}", scope.selector());
    let mut list = api.get(&format!("/api/v1/configmaps?labelSelector={}", encode(&selector))).await?;
    Ok(list.get_mut("items").and_then(Value::as_array_mut).map(std::mem::take).unwrap_or_default())
}

/// Restores whatever notes in the cluster say, of one run or of all.
///
/// # Errors
/// If the notes cannot be listed.
pub async fn restore_all(api: &Api, writer: &Writer, scope: &CleanScope) -> Result<Restored, ApiError> {
    let mut found = Restored::default();
    for item in noted(api, scope).await? {
        let text = |pointer: &str| item.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (namespace, name) = (text("/metadata/namespace"), text("/metadata/name"));
        let run = item.pointer("/metadata/labels").and_then(|labels| labels.get(RUN_LABEL)).and_then(Value::as_str);
        let of_run = run.is_some_and(|run| names::is_of_run(&namespace, run)) && is_ours(&item);
        let is_note = |note: &Note| of_run && is_noted(&note.key, writer.kinds().dialect()) && note.uid.is_some();
        let Some(note) = Note::read(&item).filter(is_note) else {
            let diagnosis = "it is no note of what to restore; look at it and delete it".to_owned();
            found.leftovers.push(Leftover { object: format!("ConfigMap/{namespace}/{name}"), diagnosis });
            found.needed.push(namespace);
            continue;
        };
        let (mut restored, mut leftovers) = restore(api, writer, &[note], |_| {}).await;
        if !leftovers.is_empty() {
            found.needed.push(namespace);
        }
        found.restored.append(&mut restored);
        found.leftovers.append(&mut leftovers);
    }
    Ok(found)
}

async fn restore(api: &Api, writer: &Writer, notes: &[Note], tell: impl Fn(&Write)) -> (Vec<String>, Vec<Leftover>) {
    let (mut restored, mut leftovers) = (Vec::new(), Vec::new());
    for note in notes {
        let left = |why: String| Leftover {
            object: note.key.to_string(),
            diagnosis: format!("not restored to {}: {why}", note.restore),
        };
        match original(api, writer, note).await {
            Ok(Some(live)) => {
                let changed = note.changed(&live);
                if !changed.is_empty() {
                    let paths = changed.join(", ");
                    leftovers
                        .push(left(format!("somebody has changed {paths} since; look at it, and delete the note")));
                    continue;
                }
                let uid = live.pointer("/metadata/uid").and_then(Value::as_str).unwrap_or_default().to_owned();
                let (key, whose) = (note.key.clone(), Whose::Noted { uid });
                let subresource = note.subresource.as_deref();
                let patch = writer.patch(0, 0, key, &whose, PatchType::Merge, subresource, &note.restore).await;
                tell(&patch);
                match patch.outcome {
                    WriteOutcome::Admitted { .. } => restored.push(note.key.to_string()),
                    WriteOutcome::Refused { code: 404, .. } => {}
                    outcome => {
                        leftovers.push(left(describe(&outcome)));
                        continue;
                    }
                }
            }
            // Who deleted it wanted more than the old state.
            Ok(None) => {}
            Err(error) => {
                leftovers.push(left(error.to_string()));
                continue;
            }
        }
        // A note that stays is restored once more at worst, until its namespace goes.
        let key = writer.key("ConfigMap", Some(&note.namespace), &note.name);
        let _ = match &note.found {
            Some(uid) => writer.delete_found(key, uid, None).await,
            None => writer.delete(0, 0, key).await,
        };
    }
    (restored, leftovers)
}

/// The object that a note is about, if it is still the one that was noted.
async fn original(api: &Api, writer: &Writer, note: &Note) -> Result<Option<Value>, ApiError> {
    let Some(kind) = writer.kinds().of(&note.key.group, &note.key.kind) else { return Ok(None) };
    let live = match api.get(&kind.object(&note.key)).await {
        Ok(live) => live,
        Err(error) if error.is_not_found() => return Ok(None),
        Err(error) => return Err(error),
    };
    let uid = live.pointer("/metadata/uid").and_then(Value::as_str);
    let is_same = uid.is_some_and(|uid| note.uid.as_ref().is_none_or(|noted| noted == uid));
    Ok(is_same.then_some(live))
}

impl Note {
    /// The paths of what is neither as the run left it nor as it was before.
    fn changed(&self, live: &Value) -> Vec<String> {
        if self.patched.is_empty() {
            return Vec::new();
        }
        let mut changed = Vec::new();
        for (path, before) in leaves(&self.restore) {
            let now = live.pointer(&path).unwrap_or(&Value::Null);
            let is_ours = self.patched.iter().any(|patched| patched.pointer(&path).unwrap_or(&Value::Null) == now);
            if !is_ours && now != before {
                changed.push(path);
            }
        }
        changed
    }

    fn config_map(&self, run_id: &str, token: &str) -> Value {
        let mut labels = names::labels(run_id, Some(token));
        labels.insert(UNDO_LABEL.to_owned(), json!("true"));
        json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": self.name, "namespace": self.namespace, "labels": labels},
            "data": {
                "object": json!(self.key).to_string(),
                "uid": self.uid.as_deref().unwrap_or_default(),
                "subresource": self.subresource.as_deref().unwrap_or_default(),
                "restore": self.restore.to_string(),
                "patched": json!(self.patched).to_string(),
            },
        })
    }

    fn read(config_map: &Value) -> Option<Note> {
        let text = |pointer: &str| config_map.pointer(pointer).and_then(Value::as_str);
        Some(Note {
            namespace: text("/metadata/namespace")?.to_owned(),
            name: text("/metadata/name")?.to_owned(),
            key: serde_json::from_str(text("/data/object")?).ok()?,
            uid: text("/data/uid").filter(|uid| !uid.is_empty()).map(str::to_owned),
            found: text("/metadata/uid").map(str::to_owned),
            subresource: text("/data/subresource").filter(|name| !name.is_empty()).map(str::to_owned),
            restore: serde_json::from_str(text("/data/restore")?).ok()?,
            patched: text("/data/patched").map_or(Some(Vec::new()), |text| serde_json::from_str(text).ok())?,
        })
    }
}

fn patched(live: &Value, patch_type: PatchType, patch: &Value) -> Option<Value> {
    let mut patched = live.clone();
    match patch_type {
        PatchType::Merge => json_patch::merge(&mut patched, patch),
        PatchType::Json => {
            let patch: json_patch::Patch = serde_json::from_value(patch.clone()).ok()?;
            json_patch::patch_unsafe(&mut patched, &patch).ok()?;
        }
    }
    Some(patched)
}

/// The fields of an object that a merge patch is about.
fn part_of(object: &Value, patch: &Value) -> Value {
    let (Value::Object(fields), Value::Object(patch)) = (object, patch) else { return object.clone() };
    let part = |(name, patch): (&String, &Value)| Some((name.clone(), part_of(fields.get(name)?, patch)));
    Value::Object(patch.iter().filter_map(part).collect())
}

/// The values of a merge patch that are no objects, each with its JSON pointer.
fn leaves(patch: &Value) -> Vec<(String, &Value)> {
    let Value::Object(fields) = patch else { return vec![(String::new(), patch)] };
    let below = |(name, value): (&String, _)| {
        let name = name.replace('~', "~0").replace('/', "~1");
        leaves(value).into_iter().map(move |(path, value)| (format!("/{name}{path}"), value))
    };
    fields.iter().flat_map(below).collect()
}

/// The merge patch that turns one object into another.
fn way_back(from: &Value, to: &Value) -> Value {
    let (Value::Object(from), Value::Object(to)) = (from, to) else { return to.clone() };
    let mut patch = Map::new();
    for name in from.keys().filter(|name| !to.contains_key(*name)) {
        patch.insert(name.clone(), Value::Null);
    }
    for (name, value) in to {
        match from.get(name) {
            Some(same) if same == value => {}
            Some(other) => {
                patch.insert(name.clone(), way_back(other, value));
            }
            None => {
                patch.insert(name.clone(), value.clone());
            }
        }
    }
    Value::Object(patch)
}

/// What restores an object whether or not it is patched once more: `restore` does so from `live`, the new one from `patched` too.
fn also_after(restore: &Value, live: &Value, patched: &Value) -> Value {
    let mut original = live.clone();
    json_patch::merge(&mut original, restore);
    both(restore, &way_back(patched, &original))
}

/// Two merge patches that lead to the same object, in one.
fn both(first: &Value, second: &Value) -> Value {
    let (Value::Object(first), Value::Object(second)) = (first, second) else { return first.clone() };
    let mut all = first.clone();
    for (name, value) in second {
        let value = first.get(name).map_or_else(|| value.clone(), |first| both(first, value));
        all.insert(name.clone(), value);
    }
    Value::Object(all)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Objects without nulls, as an API server keeps them.
    fn object() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![any::<bool>().prop_map(Value::from), (0..3).prop_map(Value::from), Just(json!([1, 2]))];
        let members = leaf.prop_recursive(3, 16, 3, |inner| {
            prop::collection::btree_map("[a-c]", inner, 0..3).prop_map(|map| json!(map))
        });
        prop::collection::btree_map("[a-c]", members, 0..3).prop_map(|map| json!(map))
    }

    proptest! {
        #[test]
        fn the_way_back_leads_back(original in object(), patches in prop::collection::vec((object(), any::<bool>()), 1..5)) {
            // Each state is patched into the next, if the patch comes through at all.
            let (mut restore, mut live, mut patched) = (json!({}), original.clone(), Vec::new());
            for (next, comes_through) in patches {
                restore = also_after(&restore, &live, &next);
                if comes_through {
                    live = next.clone();
                }
                patched.push(part_of(&next, &restore));
                let mut restored = live.clone();
                json_patch::merge(&mut restored, &restore);
                prop_assert_eq!(&restored, &original, "{} restores {}", restore, live);
                let note = Note { restore: restore.clone(), patched: patched.clone(), ..note() };
                prop_assert_eq!(note.changed(&live), Vec::<String>::new(), "{} is as it was left", live);
            }
        }
    }

    fn note() -> Note {
        let key = ObjectKey { group: "g".to_owned(), kind: "K".to_owned(), namespace: None, name: "n".to_owned() };
        Note {
            namespace: "ns".to_owned(),
            name: "undo-0".to_owned(),
            key,
            uid: Some("u".to_owned()),
            found: None,
            subresource: Some("status".to_owned()),
            restore: json!({"metadata": {"annotations": {"x/a": "1", "b": null}}}),
            patched: vec![json!({"metadata": {"annotations": {"x/a": "2", "b": "2"}}})],
        }
    }

    #[test]
    fn a_note_is_read_as_it_was_written() {
        assert_eq!(Note::read(&note().config_map("r", "t")), Some(note()));
        assert_eq!(Note::read(&json!({"metadata": {"name": "x", "namespace": "y"}})), None);
    }

    #[rstest::rstest]
    #[case::as_the_run_left_it(json!({"x/a": "2", "b": "2"}), &[])]
    #[case::restored_in_part(json!({"x/a": "1", "b": "2"}), &[])]
    #[case::restored(json!({"x/a": "1"}), &[])]
    #[case::somebody_knew_better(json!({"x/a": "3", "b": "2"}), &["/metadata/annotations/x~1a"])]
    #[case::somebody_took_it_away(json!({"b": "2"}), &["/metadata/annotations/x~1a"])]
    #[case::beside_it(json!({"x/a": "2", "b": "2", "c": "3"}), &[])]
    fn what_others_changed_since_is_left_alone(#[case] annotations: Value, #[case] changed: &[&str]) {
        assert_eq!(note().changed(&json!({"metadata": {"annotations": annotations}})), changed);
    }

    #[rstest::rstest]
    #[case("gateway.networking.k8s.io", "GatewayClass", "any", true)]
    #[case("apiextensions.k8s.io", "CustomResourceDefinition", "httproutes.gateway.networking.k8s.io", true)]
    #[case("apiextensions.k8s.io", "CustomResourceDefinition", "certificates.cert-manager.io", false)]
    #[case("apiextensions.k8s.io", "CustomResourceDefinition", "x.evilgateway.networking.k8s.io", false)]
    #[case(ADMISSION, POLICY_BINDING, "safe-upgrades.gateway.networking.k8s.io", true)]
    #[case(ADMISSION, POLICY_BINDING, "safe-upgrades", false)]
    #[case("rbac.authorization.k8s.io", "ClusterRoleBinding", "admins", false)]
    fn notes_are_about_little(#[case] group: &str, #[case] kind: &str, #[case] name: &str, #[case] noted: bool) {
        let (group, kind, name) = (group.to_owned(), kind.to_owned(), name.to_owned());
        assert_eq!(is_noted(&ObjectKey { group, kind, namespace: None, name }, &Dialect::gateway_api()), noted);
    }
}
