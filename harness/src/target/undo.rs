//! Patches of objects that the run did not create, and the way back.
//!
//! What has to be restored is written into the cluster before the first patch, as a note: a ConfigMap in a namespace of the
//! scenario. The cluster and not the report directory, because `gateproof clean` may run on another machine than the run that
//! was killed, and because a note goes with the namespace whose removal says that all is well.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use serde_json::{Map, Value, json};

use super::api::{Api, ApiError, encode};
use super::clean::{CleanScope, Leftover};
use super::log_writer::LogWriter;
use super::names::{self, RUN_LABEL};
use super::pool::describe;
use super::write::{PatchType, Whose, Writer, is_ours};
use crate::log::{Bindings, Body, ObjectKey, Scope, Write, WriteOutcome};

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
            });
            notes.len() - 1
        });
        let note = &mut notes[place];
        note.restore = also_after(&note.restore, &live, &patched);
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
        let Some(note) = Note::read(&item).filter(|_| of_run) else {
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
            Ok(Some(uid)) => {
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
            Some(uid) => writer.delete_found(key, uid).await,
            None => writer.delete(0, 0, key).await,
        };
    }
    (restored, leftovers)
}

/// The uid of the object that a note is about, if it is still the one that was noted.
async fn original(api: &Api, writer: &Writer, note: &Note) -> Result<Option<String>, ApiError> {
    let Some(kind) = writer.kinds().of(&note.key.group, &note.key.kind) else { return Ok(None) };
    let live = match api.get(&kind.object(&note.key)).await {
        Ok(live) => live,
        Err(error) if error.is_not_found() => return Ok(None),
        Err(error) => return Err(error),
    };
    let uid = live.pointer("/metadata/uid").and_then(Value::as_str);
    Ok(uid.filter(|uid| note.uid.as_ref().is_none_or(|noted| noted == uid)).map(str::to_owned))
}

impl Note {
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
            let (mut restore, mut live) = (json!({}), original.clone());
            for (next, comes_through) in patches {
                restore = also_after(&restore, &live, &next);
                if comes_through {
                    live = next;
                }
                let mut restored = live.clone();
                json_patch::merge(&mut restored, &restore);
                prop_assert_eq!(&restored, &original, "{} restores {}", restore, live);
            }
        }
    }

    #[test]
    fn a_note_is_read_as_it_was_written() {
        let key = ObjectKey { group: "g".to_owned(), kind: "K".to_owned(), namespace: None, name: "n".to_owned() };
        let note = Note {
            namespace: "ns".to_owned(),
            name: "undo-0".to_owned(),
            key,
            uid: Some("u".to_owned()),
            found: None,
            subresource: Some("status".to_owned()),
            restore: json!({"a": null}),
        };
        assert_eq!(Note::read(&note.config_map("r", "t")), Some(note));
        assert_eq!(Note::read(&json!({"metadata": {"name": "x", "namespace": "y"}})), None);
    }
}
