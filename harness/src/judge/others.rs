//! What others did to what the run made, to the class under test, or to the definitions of the dialect: nothing but the target decides
//! a verdict.
//!
//! Known are an object's uid and the fields that the run sent. What the run did itself explains itself, and so do its
//! consequences: what goes with a namespace or an owner that it deleted. Status, finalizers, defaults and whatever else makes no new
//! generation beside what was sent is no interference.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde_json::{Value, json};

use super::conditions::{array, uid};
use super::history::names;
use crate::dialects::Dialect;
use crate::log::{Bindings, Body, Change, Elapsed, Event, ObjectKey, Scope, Write, WriteOutcome, WriteVerb};
use crate::scenario::MadeObject;
use crate::scenario::scope::DEFINITION;

/// Field manager of our own writes.
const OURS: &str = "gateproof";

/// What somebody else did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Foreign {
    /// To which object.
    pub(super) key: ObjectKey,
    /// What.
    pub(super) what: String,
    /// Where in the log.
    pub(super) seq: u64,
    /// When it was seen.
    pub(super) at: Elapsed,
    /// Who, as far as the object tells.
    pub(super) by: Vec<String>,
}

/// What is known of the objects that others should leave alone.
#[derive(Debug, Clone)]
pub(super) struct Others {
    dialect: Arc<Dialect>,
    made: HashMap<ObjectKey, Made>,
    class: Option<String>,
    /// Those of which something was seen that is yet to be explained.
    unexplained: Vec<ObjectKey>,
    /// What somebody else made, changed or deleted in a namespace of the scenario.
    intruders: Vec<Foreign>,
    /// What the target makes there, as the scenario says.
    of_target: Vec<MadeObject>,
    /// Who writes statuses of the dialect: the target.
    writes_statuses: HashSet<String>,
}

#[derive(Debug, Clone, Default)]
struct Made {
    uid: String,
    /// The fields that must stay; nothing if that is not known.
    sent: Option<Value>,
    /// resourceVersion of the run's last write.
    written: String,
    /// The generation that came of it: whatever is wished for by others makes a newer one. 0 where there are none.
    generation: i64,
    deleted: bool,
    /// Who had written the last version that was explained.
    writers: Vec<Value>,
    seen: Option<Seen>,
}

#[derive(Debug, Clone)]
struct Seen {
    object: Arc<Value>,
    gone: bool,
    seq: u64,
    at: Elapsed,
}

impl Others {
    /// Nothing is known yet.
    pub(super) fn of(dialect: Arc<Dialect>) -> Others {
        Others {
            dialect,
            made: HashMap::new(),
            class: None,
            unexplained: Vec::new(),
            intruders: Vec::new(),
            of_target: Vec::new(),
            writes_statuses: HashSet::new(),
        }
    }

    /// Objects that the target makes are no interference.
    pub(super) fn beside(&mut self, made: &[MadeObject]) {
        made.clone_into(&mut self.of_target);
    }

    /// Takes in what is known of other objects.
    pub(super) fn join(&mut self, other: &Others) {
        self.made.extend(other.made.iter().map(|(key, made)| (key.clone(), made.clone())));
        other.unexplained.iter().for_each(|key| self.doubt(key));
        self.writes_statuses.extend(other.writes_statuses.iter().cloned());
    }

    /// The scenario begins, on this class.
    pub(super) fn begin(&mut self, bindings: &Bindings) {
        self.class.clone_from(&bindings.gateway_class);
    }

    /// Takes in an event.
    pub(super) fn observe(&mut self, event: &Event) {
        match &event.body {
            Body::Made(write) | Body::Wrote(write) => self.wrote(write),
            Body::Observed { key, change, object } => {
                self.learn(object);
                // What these are when the run first sees them, they have to stay.
                let sent = match (&event.scope, key.kind.as_str()) {
                    (Scope::Run, kind) if self.dialect.is_class(kind) => {
                        Some(object.get("spec").map(|spec| json!({"spec": spec})))
                    }
                    (Scope::Run, DEFINITION) => Some(Some(definition(object, &self.dialect))),
                    _ => None,
                };
                if let Some(sent) = sent.filter(|_| !self.made.contains_key(key)) {
                    let generation = generation(object);
                    let made = Made { uid: uid(object).to_owned(), sent, generation, ..Made::default() };
                    self.made.insert(key.clone(), made);
                }
                let Some(made) = self.made.get_mut(key) else { return };
                let gone = *change == Change::Deleted;
                made.seen = Some(Seen { object: object.clone(), gone, seq: event.seq, at: event.at });
                self.doubt(key);
            }
            Body::Stirred { key, change, object }
                if matches!(event.scope, Scope::Scenario(_)) && !self.is_of_target(key) =>
            {
                let (what, tells) = match change {
                    Change::Added => ("made", true),
                    Change::Modified => ("changed", true),
                    Change::Deleted => ("deleted", false),
                };
                let by = if tells { authors(object, &[]) } else { Vec::new() };
                let what = format!("{what} in a namespace of the scenario");
                self.intruders.push(Foreign { key: key.clone(), what, seq: event.seq, at: event.at, by });
            }
            _ => {}
        }
    }

    fn is_of_target(&self, key: &ObjectKey) -> bool {
        self.of_target.iter().any(|made| made.group == key.group && names(&made.object, key))
    }

    fn doubt(&mut self, key: &ObjectKey) {
        if !self.unexplained.contains(key) {
            self.unexplained.push(key.clone());
        }
    }

    /// Who writes statuses of the dialect.
    fn learn(&mut self, object: &Value) {
        self.writes_statuses.extend(status_writers(object, &self.dialect).map(str::to_owned));
    }

    fn wrote(&mut self, write: &Write) {
        let WriteOutcome::Admitted { uid, resource_version, generation } = &write.outcome else { return };
        let made = self.made.entry(write.key.clone()).or_default();
        match write.verb {
            WriteVerb::Apply => {
                // Of definitions little is seen, and their generation tells of changes.
                let sent = write.sent.as_deref().filter(|_| write.key.kind != DEFINITION).cloned();
                let seen = made.seen.take().filter(|seen| super::conditions::uid(&seen.object) == uid);
                let writers = std::mem::take(&mut made.writers);
                let written = resource_version.clone();
                *made =
                    Made { uid: uid.clone(), sent, written, generation: *generation, deleted: false, writers, seen };
            }
            WriteVerb::Patch => {
                made.uid.clone_from(uid);
                made.written.clone_from(resource_version);
                made.generation = made.generation.max(*generation);
                made.sent = made.sent.take().zip(write.sent.as_deref()).and_then(|(sent, patch)| patched(sent, patch));
            }
            WriteVerb::Delete => made.deleted = true,
        }
        self.doubt(&write.key);
    }

    /// What nothing that the run did explains. To be asked while no write of the scenario is under way: a watch may be faster than
    /// the answer to a write.
    pub(super) fn interference(&mut self) -> Vec<Foreign> {
        let mut found = std::mem::take(&mut self.intruders);
        // What the target makes for itself is its own.
        found.retain(|foreign| !self.is_targets(foreign));
        for key in std::mem::take(&mut self.unexplained) {
            // A class of another run, or another one of this cluster.
            if self.dialect.is_class(&key.kind) && self.is_other_class(&key) {
                continue;
            }
            let deleted: Vec<&ObjectKey> =
                self.made.iter().filter(|(_, made)| made.deleted).map(|(key, _)| key).collect();
            let Some(made) = self.made.get(&key) else { continue };
            let Some(seen) = &made.seen else { continue };
            let goes_along = goes_along(&key, &seen.object, &deleted);
            if made.deleted || goes_along {
                continue;
            }
            let what = made.difference(seen);
            if let Some(Difference { what, tells }) = what {
                let by = if tells { authors(&seen.object, &made.writers) } else { Vec::new() };
                found.push(Foreign { key: key.clone(), what, seq: seen.seq, at: seen.at, by });
                // It is told once.
                self.made.remove(&key);
            } else if let Some(made) = self.made.get_mut(&key) {
                made.settle();
                made.writers = made.seen.as_ref().map(|seen| entries(&seen.object).to_vec()).unwrap_or_default();
            }
        }
        found
    }

    fn is_other_class(&self, key: &ObjectKey) -> bool {
        self.class.as_ref().is_some_and(|class| *class != key.name)
            && self.made.get(key).is_some_and(|made| made.written.is_empty())
    }

    /// Whether it was the target itself, as far as it is known: whoever changed it writes statuses too.
    pub(super) fn is_targets(&self, foreign: &Foreign) -> bool {
        // Of definitions nothing says that a target must not install its own, as long as it takes no step back: that is a rule
        // of the contract.
        foreign.key.kind != DEFINITION
            && !foreign.by.is_empty()
            && foreign.by.iter().all(|name| self.is_writer_of_statuses(name))
    }

    /// Whether somebody writes statuses of the dialect, as the target does.
    pub(super) fn is_writer_of_statuses(&self, name: &str) -> bool {
        self.writes_statuses.contains(name)
    }
}

/// What of a definition has to stay: what it serves, by its generation, and of which release it is.
fn definition(object: &Value, dialect: &Dialect) -> Value {
    let annotations = object.pointer("/metadata/annotations").and_then(Value::as_object);
    let is_own = |name: &str| name.split_once('/').is_some_and(|(domain, _)| dialect.has_group(domain));
    let of_release = annotations.into_iter().flatten().filter(|(name, _)| is_own(name));
    let annotations: serde_json::Map<String, Value> =
        of_release.map(|(name, value)| (name.clone(), value.clone())).collect();
    json!({"metadata": {"generation": object.pointer("/metadata/generation"), "annotations": annotations}})
}

/// How an object differs from what the run made.
struct Difference {
    what: String,
    /// Whether the object says by whom.
    tells: bool,
}

impl Made {
    /// How an object differs from what the run made, if others changed it.
    fn difference(&self, seen: &Seen) -> Option<Difference> {
        // Whoever deletes leaves no trace of it.
        let deleted = |what: &str| Some(Difference { what: what.to_owned(), tells: false });
        if seen.gone {
            return deleted("deleted");
        }
        if uid(&seen.object) != self.uid {
            return deleted("deleted and made anew");
        }
        if seen.object.pointer("/metadata/deletionTimestamp").is_some() {
            return deleted("deleted");
        }
        // What comes of a write at once is the server's doing, and that of whoever it asks.
        if !is_after(&seen.object, &self.written) {
            return None;
        }
        let Some((sent, path)) = self.sent.as_ref().and_then(|sent| Some((sent, missing(sent, &seen.object, "")?)))
        else {
            // Whatever was added beside what was sent.
            let is_newer = self.generation > 0 && generation(&seen.object) > self.generation;
            return is_newer.then(|| Difference { what: "added to".to_owned(), tells: true });
        };
        // Nor does whoever takes a field away, or something out of a list.
        let place = format!("/{}", path.replace(['.', '['], "/").replace(']', ""));
        let tells = match (sent.pointer(&place), seen.object.pointer(&place)) {
            (Some(Value::Array(sent)), Some(Value::Array(seen))) => seen.len() > sent.len(),
            (_, seen) => seen.is_some(),
        };
        Some(Difference { what: format!("changed at {path}"), tells })
    }

    /// The version that came of the write itself says which of the fields stay as they were sent.
    fn settle(&mut self) {
        let Some(seen) = self.seen.as_ref().filter(|seen| resource_version(&seen.object) == self.written) else {
            return;
        };
        self.sent = self.sent.take().and_then(|sent| common(sent, &seen.object));
    }
}

/// Whether a version is newer than the run's last write, if it ever wrote. resourceVersions that are no numbers say nothing.
fn is_after(object: &Value, written: &str) -> bool {
    match (resource_version(object).parse::<u64>(), written.parse::<u64>()) {
        (Ok(seen), Ok(written)) => seen > written,
        _ => written.is_empty(),
    }
}

fn generation(object: &Value) -> i64 {
    object.pointer("/metadata/generation").and_then(Value::as_i64).unwrap_or_default()
}

fn resource_version(object: &Value) -> &str {
    object.pointer("/metadata/resourceVersion").and_then(Value::as_str).unwrap_or_default()
}

/// Whether an object goes with its namespace, its definition or an owner, which the run deleted.
fn goes_along(key: &ObjectKey, object: &Value, deleted: &[&ObjectKey]) -> bool {
    let owners = array(object.pointer("/metadata/ownerReferences"));
    deleted.iter().any(|gone| {
        let lies_in = gone.kind == "Namespace" && gone.group.is_empty() && key.namespace.as_ref() == Some(&gone.name);
        let defines = gone.kind == DEFINITION
            && gone
                .name
                .split_once('.')
                .is_some_and(|(plural, group)| group == key.group && plural.starts_with(&key.kind.to_lowercase()));
        let owns = |owner: &Value| owner["kind"] == gone.kind.as_str() && owner["name"] == gone.name.as_str();
        lies_in || defines || owners.iter().any(owns)
    })
}

/// Who wrote the status of an object, if it is one of the dialect, beside the run.
pub(super) fn status_writers<'o>(object: &'o Value, dialect: &Dialect) -> impl Iterator<Item = &'o str> {
    let version = object.get("apiVersion").and_then(Value::as_str);
    let is_own = version.is_some_and(|version| dialect.has_version(version));
    let of_status = managers(object).filter(move |(_, subresource)| is_own && *subresource == "status");
    of_status.map(|(manager, _)| manager).filter(|manager| *manager != OURS)
}

/// The newest entries of `metadata.managedFields`.
pub(super) fn entries(object: &Value) -> &[Value] {
    array(object.pointer("/metadata/managedFields"))
}

/// Who wrote an object last, beside the run.
pub(super) fn writers(object: &Value) -> impl Iterator<Item = &str> {
    managers(object).map(|(manager, _)| manager).filter(|manager| *manager != OURS)
}

/// The managers of the newest entries of `metadata.managedFields`, each with its subresource.
fn managers(object: &Value) -> impl Iterator<Item = (&str, &str)> {
    entries(object).iter().filter_map(named)
}

fn named(entry: &Value) -> Option<(&str, &str)> {
    Some((entry.get("manager")?.as_str()?, entry.get("subresource").and_then(Value::as_str).unwrap_or_default()))
}

/// Who wrote the newest of an object beside its status, as far as it tells: not who had written the version before already.
/// Entries count in seconds, so who writes twice in one may leave no new entry: then it was one of those who wrote last.
pub(super) fn authors(object: &Value, before: &[Value]) -> Vec<String> {
    let time = |entry: &Value| entry.get("time").and_then(Value::as_str).unwrap_or_default().to_owned();
    let beside_status = || {
        let all = entries(object).iter().filter_map(|entry| Some((entry, named(entry)?)));
        all.filter(|(_, (manager, subresource))| *manager != OURS && subresource.is_empty())
    };
    let newest = beside_status().map(|(entry, _)| time(entry)).max().unwrap_or_default();
    let (new, old): (Vec<_>, Vec<_>) = beside_status().partition(|(entry, _)| !before.contains(entry));
    let last = old.into_iter().filter(|(entry, _)| time(entry) == newest);
    let by: Vec<_> = if new.is_empty() { last.collect() } else { new };
    by.into_iter().map(|(_, (manager, _))| manager.to_owned()).collect()
}

/// What was sent, with what was changed of it since; nothing if that cannot be told.
fn patched(mut sent: Value, patch: &Value) -> Option<Value> {
    if patch.is_array() {
        let patch: json_patch::Patch = serde_json::from_value(patch.clone()).ok()?;
        if patch.0.iter().all(|operation| operation.path().to_string().starts_with("/status")) {
            return Some(sent);
        }
        json_patch::patch(&mut sent, &patch).ok()?;
        return Some(sent);
    }
    let mut patch = patch.clone();
    patch.as_object_mut()?.remove("status");
    json_patch::merge(&mut sent, &patch);
    Some(sent)
}

/// The path of the first value of `sent` that `seen` does not have. What is sent empty may be left out, and `seen` may have more.
fn missing(sent: &Value, seen: &Value, path: &str) -> Option<String> {
    match (sent, seen) {
        (Value::Object(sent), Value::Object(seen)) => {
            sent.iter().filter(|(name, _)| is_kept(path, name)).find_map(|(name, value)| {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                match seen.get(name) {
                    None => (!is_empty(value)).then_some(path),
                    Some(seen) => missing(value, seen, &path),
                }
            })
        }
        (Value::Array(sent), Value::Array(seen)) if sent.len() == seen.len() => sent
            .iter()
            .zip(seen)
            .enumerate()
            .find_map(|(index, (sent, seen))| missing(sent, seen, &format!("{path}[{index}]"))),
        (Value::Number(sent), Value::Number(seen)) if sent.as_f64() == seen.as_f64() => None,
        (sent, seen) => (sent != seen).then(|| path.to_owned()),
    }
}

/// What of `sent` is in `seen` as it was sent.
fn common(sent: Value, seen: &Value) -> Option<Value> {
    match (sent, seen) {
        (Value::Object(sent), Value::Object(seen)) => {
            let fields =
                sent.into_iter().filter_map(|(name, value)| Some((name.clone(), common(value, seen.get(&name)?)?)));
            Some(Value::Object(fields.collect()))
        }
        (sent, seen) => missing(&sent, seen, "").is_none().then_some(sent),
    }
}

/// Fields that the server does not give back as they were sent.
fn is_kept(path: &str, name: &str) -> bool {
    match path {
        "" => !matches!(name, "apiVersion" | "stringData"),
        "metadata" => !matches!(name, "managedFields" | "resourceVersion" | "uid"),
        _ => true,
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.values().all(is_empty),
        Value::String(text) => text.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}
