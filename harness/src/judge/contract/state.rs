//! Folding over events: what was seen of each object, and which rules it broke.

mod unspoken;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use gateproof_report::record::Breach;
use indexmap::IndexMap;
use serde_json::Value;

use super::data::Contract;
use super::definitions::Definitions;
use super::finding::{Finding, held};
use super::foreign::Marks;
use super::list::{List, entries, lists};
use super::rule::Rule;
use super::steady::{Calm, Changes, Steady};
use super::terms::Kind;
use super::times::{self, Memory};
use super::whole::{listeners_complete, quiescent, resource_version, sorted, unique_entries};
use super::wording::Wording;
use super::{graded, version};
use crate::dialects::{Dialect, StatusList};
use crate::judge::conditions::{array, generation, may_be_older, own, uid};
use crate::judge::history::names;
use crate::log::{Body, Change, Elapsed, Event, ObjectKey, Scope, Timing, WriteOutcome, WriteVerb};
use crate::scenario::scope::DEFINITION;
use crate::scenario::{Basis, ObjectRef, SubjectExpectation};

/// The contract's account of the objects of one scenario, or of pool Gateways over a run.
#[derive(Debug, Clone)]
pub struct ContractState {
    contract: Arc<Contract>,
    basis: Basis,
    controller: String,
    objects: IndexMap<ObjectKey, Seen>,
    found: Vec<Found>,
    watched: BTreeSet<ObjectKey>,
    /// The names of what is known to be ours and handles others, such as GatewayClasses.
    handlers: BTreeSet<String>,
    changes: Changes,
    calm: Calm,
    definitions: Definitions,
    /// Where in the log somebody else changed something, if anybody did.
    disturbed: Option<u64>,
    /// How late the harness was, all in all.
    late: Duration,
}

/// What is remembered of one object.
#[derive(Debug, Clone, Default)]
struct Seen {
    last: Option<Last>,
    /// Versions may have been missed before the next one.
    gap: bool,
    memories: HashMap<String, Memory>,
    /// Condition types of each list that the controller has written to.
    visited: HashMap<String, HashSet<String>>,
    marks: Marks,
    steady: Steady,
    wording: Wording,
    /// resourceVersions that the harness itself wrote.
    ours: HashSet<String>,
    /// Those of them that changed the status and that no watch has shown yet.
    unshown: HashSet<String>,
    /// Who handled it at first, as far as its kind says.
    handler: Option<Value>,
}

#[derive(Debug, Clone)]
struct Last {
    object: Arc<Value>,
    seq: u64,
    at: Elapsed,
    deleted: bool,
    scenario: String,
    /// When its generation last changed under the eyes of the run.
    turned: Option<Elapsed>,
}

#[derive(Debug, Clone)]
struct Found {
    key: ObjectKey,
    resource_version: String,
    name: String,
    breach: Breach,
}

/// One version with all that its rules look at.
struct Look<'a> {
    object: &'a Arc<Value>,
    at: Elapsed,
    /// Whether the harness wrote this version: it says nothing of the controller.
    ours: bool,
}

impl ContractState {
    /// Nothing seen yet. Only entries of `controller_name` are judged.
    pub fn new(contract: Arc<Contract>, basis: Basis, controller_name: String) -> ContractState {
        ContractState {
            contract,
            basis,
            controller: controller_name,
            objects: IndexMap::new(),
            found: Vec::new(),
            watched: BTreeSet::new(),
            handlers: BTreeSet::new(),
            changes: Changes::default(),
            calm: Calm::default(),
            definitions: Definitions::default(),
            disturbed: None,
            late: Duration::ZERO,
        }
    }

    /// What follows from configuration has to stand still under these limits. Without, nothing is asked.
    #[must_use]
    pub fn limits(mut self, timing: &Timing) -> ContractState {
        self.calm = Calm::of(timing);
        self
    }

    /// Takes in an event about what others share with the objects, and that is held against the contract elsewhere.
    pub fn around(&mut self, event: &Event) {
        self.changes.observe(event);
        self.definitions.observe(event, self.contract.dialect());
        if let Body::Observed { key, object, .. } = &event.body {
            self.learn(key, object);
        }
    }

    /// When something last changed that conditions may follow from.
    #[cfg(test)]
    pub fn stands_since(&self) -> Elapsed {
        self.changes.last
    }

    /// Takes in what another account has of what others share with the objects.
    pub fn join(&mut self, other: &ContractState) {
        self.changes.join(&other.changes);
        self.definitions.join(&other.definitions);
        self.handlers.extend(other.handlers.iter().cloned());
    }

    /// Whoever is ours and handles others is known by name from its first version on.
    fn learn(&mut self, key: &ObjectKey, object: &Value) {
        if self.contract.dialect().is_class(&key.kind) && self.is_ours(key, object) {
            self.handlers.insert(key.name.clone());
        }
    }

    /// Takes in an event.
    pub fn observe(&mut self, event: &Event) {
        self.changes.observe(event);
        self.definitions.observe(event, self.contract.dialect());
        match &event.body {
            Body::Observed { key, .. } if key.kind == DEFINITION => {
                self.watched.insert(key.clone());
            }
            Body::Observed { key, change, object } => {
                let scenario = match &event.scope {
                    Scope::Scenario(name) => name.to_string(),
                    Scope::Run | Scope::Pool(_) => String::new(),
                };
                self.version_seen(key, *change, object, event, scenario);
            }
            Body::Wrote(write) => {
                if let WriteOutcome::Admitted { resource_version, .. } = &write.outcome {
                    if let (WriteVerb::Apply, Some(sent)) = (write.verb, &write.sent) {
                        self.watch(&write.key, sent);
                    }
                    let seen = self.objects.entry(write.key.clone()).or_default();
                    seen.ours.insert(resource_version.clone());
                    let of_status = write.verb == WriteVerb::Patch && write.sent.as_deref().is_some_and(is_of_status);
                    let last = seen.last.as_ref().and_then(|last| self::resource_version(&last.object));
                    if of_status && last.is_none_or(|last| is_older(last, resource_version)) {
                        seen.unshown.insert(resource_version.clone());
                    }
                    // The watch may have been faster than the answer to the write.
                    self.found.retain(|f| !(f.key == write.key && f.resource_version == *resource_version));
                    if let (WriteVerb::Patch, Some(sent)) = (write.verb, &write.sent) {
                        let last = seen.last.as_ref().map(|last| &*last.object);
                        seen.marks.written(sent, &self.controller, last, self.contract.dialect());
                    }
                }
            }
            Body::Lagged { by } if event.scope == Scope::Run => self.late += Duration::from_micros(*by),
            Body::Gap { .. } => self.objects.values_mut().for_each(|seen| seen.gap = true),
            _ => {}
        }
    }

    /// An object's status has stood still for a quiet window: the rules about settled states hold now, for what was waited
    /// for. What else there is to say, a controller may still be about to. `None` is the whole status.
    pub fn settled(&mut self, object: &ObjectRef, awaited: Option<&SubjectExpectation>) {
        let Some((key, seen)) = self.objects.iter().find(|(key, _)| names(object, key)) else { return };
        let (key, contract) = (key.clone(), self.contract.clone());
        let (Some(last), Some(kind)) = (seen.last.clone(), contract.kind(&key.group, &key.kind)) else { return };
        if !self.is_ours(&key, &last.object) {
            return;
        }
        let mut found = Vec::new();
        let generation = generation(&last.object);
        let dialect = contract.dialect();
        let lists = lists(kind, &last.object, &self.controller, dialect);
        for list in lists.iter().filter(|list| list.visited() && !list.is_left_over(&last.object, dialect)) {
            let is_awaited = |type_: &str| awaited.is_none_or(|awaited| list.is_awaited(type_, awaited, dialect));
            for condition in &list.conditions {
                let is_known = list.terms(condition.type_, self.basis).is_some();
                if !is_known || !is_awaited(condition.type_) || condition.is_placeholder() {
                    continue;
                }
                let good = condition.observed_generation == Some(generation)
                    || may_be_older(condition, &list.conditions, dialect);
                let path = list.path_of(condition.type_);
                found.push(held(Rule::ObservedGenerationCurrent, path, good, || {
                    format!("{condition} at generation {generation}")
                }));
            }
            for type_ in list.always(self.basis).filter(|type_| is_awaited(type_)) {
                let there = list.conditions.iter().any(|c| c.type_ == type_);
                found.push(held(Rule::AlwaysPresent, list.path_of(type_), there, || "it is not there".to_owned()));
            }
        }
        let visited = lists.iter().any(List::visited);
        let is_awaited = awaited.is_none_or(|awaited| !awaited.listeners.is_empty());
        if visited && is_awaited && kind.subjects.iter().any(|s| s.one_per_listener) {
            found.extend(listeners_complete(&last.object));
        }
        self.take(&key, &last, found);
    }

    /// The target did something to an object beside its status. Returns whether the contract has a rule about that.
    pub fn touched(&mut self, key: &ObjectKey, what: &str, seq: u64, scenario: &str) -> bool {
        let contract = self.contract.clone();
        let Some(kind) = contract.kind(&key.group, &key.kind) else { return false };
        if !contract.holds(Rule::ObjectsUntouched, kind, self.basis) {
            return false;
        }
        let found = vec![held(Rule::ObjectsUntouched, "spec".to_owned(), false, || what.to_owned())];
        let (object, at, scenario) = (Arc::new(Value::Null), Elapsed(0), scenario.to_owned());
        self.take(key, &Last { object, seq, at, deleted: false, scenario, turned: None }, found);
        true
    }

    /// Takes in an event about objects that no scenario settles: pool Gateways and the GatewayClass. One of them is settled
    /// once it is what a run waits for, and no other version of it comes for a quiet window. What changed its generation was
    /// a wish, and standing still no answer to it: that takes as long as a scenario would wait.
    pub fn observe_shared(&mut self, event: &Event, timing: &Timing) {
        let still = match &event.body {
            Body::Observed { key, .. } => vec![key.clone()],
            Body::RunEnded { .. } => self.objects.keys().cloned().collect(),
            _ => Vec::new(),
        };
        for key in still {
            let is_settled =
                self.objects.get(&key).filter(|seen| !seen.gap).and_then(|seen| seen.last.as_ref()).is_some_and(
                    |last| {
                        let is_class = self.contract.dialect().is_class(&key.kind);
                        let budget = if is_class { timing.gateway_class } else { timing.gateway };
                        let answered = last.turned.is_none_or(|turned| event.at - turned >= budget);
                        !last.deleted
                            && answered
                            && event.at - last.at >= timing.quiet
                            && is_ready(&key, &last.object, self.contract.dialect())
                    },
                );
            if is_settled {
                let ObjectKey { kind, namespace, name, .. } = key;
                self.settled(&ObjectRef { kind, namespace, name, pool: false }, None);
            }
        }
        self.observe(event);
    }

    /// Every breach with its rule's name `contract/<kind>/<rule>`, in order of time; one a rule, object and place.
    pub fn breaches(&self) -> Vec<(String, Breach)> {
        let is_targets = |breach: &Breach| self.disturbed.is_none_or(|since| breach.seq < since);
        let found = self.found.iter().filter(|f| is_targets(&f.breach)).map(|f| (f.name.clone(), f.breach.clone()));
        found.chain(self.definitions.breaches(&self.contract, self.basis)).collect()
    }

    /// Whether the target put a definition back, which is told as a breach.
    pub fn steps_back(&self, definition: &ObjectKey) -> bool {
        let object = definition.to_string();
        self.definitions.breaches(&self.contract, self.basis).iter().any(|(_, breach)| breach.object == object)
    }

    /// Somebody else changed something at this place of the log: what comes from there on may come of that.
    pub fn disturbed(&mut self, seq: u64) {
        self.disturbed.get_or_insert(seq);
    }

    /// The objects whose status is held against the contract, from the moment of their first write, so that it does not
    /// matter how soon a watch shows them.
    pub fn watched(&self) -> &BTreeSet<ObjectKey> {
        &self.watched
    }

    fn watch(&mut self, key: &ObjectKey, object: &Value) {
        if self.contract.kind(&key.group, &key.kind).is_some() && self.is_ours(key, object) {
            self.watched.insert(key.clone());
        }
    }

    /// A GatewayClass of another controller is none of ours.
    fn is_ours(&self, key: &ObjectKey, object: &Value) -> bool {
        !self.contract.dialect().is_class(&key.kind)
            || object.pointer("/spec/controllerName").and_then(Value::as_str) == Some(self.controller.as_str())
    }

    fn version_seen(&mut self, key: &ObjectKey, change: Change, object: &Arc<Value>, event: &Event, scenario: String) {
        let contract = self.contract.clone();
        let Some(kind) = contract.kind(&key.group, &key.kind) else { return };
        if !self.is_ours(key, object) {
            return;
        }
        self.watch(key, object);
        self.learn(key, object);
        let mut seen = self.objects.swap_remove(key).unwrap_or_default();
        // A watch may leave out versions. What follows a status that the harness wrote does not follow what was seen before it.
        if let Some(version) = resource_version(object) {
            seen.unshown.remove(version);
            let owed = seen.unshown.len();
            seen.unshown.retain(|ours| !is_older(ours, version));
            seen.gap |= seen.unshown.len() < owed;
        }
        let reborn = seen.last.as_ref().is_some_and(|last| uid(&last.object) != uid(object));
        let handled_by =
            |object: &Value| kind.handled_by.as_deref().and_then(|pointer| object.pointer(pointer)).cloned();
        let handler = handled_by(object);
        let first = if reborn || seen.last.is_none() { handler.clone() } else { seen.handler.take() };
        // Whoever handles an object no more may clear its status (IMPL-33), so nothing is remembered of it; nor of what others
        // said before.
        let passed_on = seen.last.as_ref().is_some_and(|last| handled_by(&last.object) != handler);
        let is_ours = handler.as_ref().and_then(Value::as_str).is_some_and(|name| self.handlers.contains(name));
        if reborn || passed_on || (first != handler && !is_ours) || seen.gap {
            let (ours, unshown) = (std::mem::take(&mut seen.ours), std::mem::take(&mut seen.unshown));
            let marks = if reborn { Marks::default() } else { std::mem::take(&mut seen.marks) };
            seen = Seen { ours, unshown, marks, ..Seen::default() };
        }
        seen.handler = first;
        let deleted = change == Change::Deleted;
        let turned = seen.last.as_ref().and_then(|before| {
            if generation(&before.object) == generation(object) { before.turned } else { Some(event.at) }
        });
        let last = Last { object: object.clone(), seq: event.seq, at: event.at, deleted, scenario, turned };
        if !deleted {
            let ours = resource_version(object).is_some_and(|v| seen.ours.contains(v));
            let look = Look { object, at: event.at, ours };
            let found = self.look(kind, &mut seen, &look);
            if !ours {
                self.take(key, &last, found);
            }
        }
        seen.last = Some(last);
        self.objects.insert(key.clone(), seen);
    }

    /// All rules against one version; what it shows is remembered for the next.
    fn look(&self, kind: &Kind, seen: &mut Seen, look: &Look<'_>) -> Vec<Finding> {
        let object = look.object;
        let taken = times::Look::of(object, look.at, self.late);
        let mut found = Vec::new();
        let dialect = self.contract.dialect();
        let all = lists(kind, object, &self.controller, dialect);
        let mut memories = HashMap::new();
        let mut visited = HashMap::new();
        for list in &all {
            found.extend(version::check(list, object, &self.contract, self.basis));
            let before = seen.visited.get(&list.path);
            if list.visited() || before.is_some() {
                found.extend(self.presence(list, before));
                visited.insert(list.path.clone(), list.conditions.iter().map(|c| c.type_.to_owned()).collect());
            }
            for condition in &list.conditions {
                let path = list.path_of(condition.type_);
                let before = seen.memories.get(&path);
                if list.terms(condition.type_, self.basis).is_some() {
                    found.extend(times::ahead(&path, condition, taken));
                }
                if let (Some(before), Some(terms)) = (before, list.terms(condition.type_, self.basis)) {
                    found.extend(graded::step(&path, &before.raw, condition, &terms.graded));
                    let may_be_older = may_be_older(condition, &list.conditions, self.contract.dialect());
                    let transition = self.contract.transition;
                    found.extend(times::check(&path, before, condition, taken, transition, may_be_older));
                }
                memories.insert(path, Memory::of(condition, before, taken));
            }
        }
        if look.ours {
            seen.steady = Steady::default();
            seen.wording = Wording::default();
        } else {
            for list in &all {
                found.extend(seen.wording.check(list, &self.changes, self.calm, look.at, self.basis));
                found.extend(seen.steady.check(list, &self.changes, self.calm, look.at, self.basis));
            }
        }
        seen.memories = memories;
        seen.visited = visited;
        found.extend(kind.subjects.iter().flat_map(|subject| unique_entries(subject.at, object, dialect)));
        found.extend(kind.subjects.iter().flat_map(|subject| self.controller_names(subject.at, object)));
        found.extend(kind.sorted.iter().filter_map(|field| sorted(field, object)));
        found.extend(kind.typed.iter().flat_map(|of| of.check(object)));
        found.extend(seen.marks.check(object, look.ours, dialect));
        if let Some(last) = &seen.last {
            found.extend(quiescent(&last.object, object));
        }
        found
    }

    fn presence(&self, list: &List<'_>, before: Option<&HashSet<String>>) -> Vec<Finding> {
        list.always(self.basis)
            .filter_map(|type_| {
                let there = list.conditions.iter().any(|c| c.type_ == type_);
                let path = list.path_of(type_);
                match before {
                    None => Some(held(Rule::AlwaysFromFirstWrite, path, there, || "not in the first write".to_owned())),
                    Some(before) if before.contains(type_) => {
                        Some(held(Rule::AlwaysPresent, path, there, || "it was there, and is gone".to_owned()))
                    }
                    Some(_) => None,
                }
            })
            .collect()
    }

    fn controller_names(&self, at: StatusList, object: &Value) -> Vec<Finding> {
        if !matches!(at, StatusList::Parents | StatusList::Ancestors) {
            return Vec::new();
        }
        entries(at, object, self.contract.dialect())
            .into_iter()
            .map(|(entry, parent)| {
                let name = entry.get("controllerName").and_then(Value::as_str).unwrap_or_default();
                let path = format!("status.{}[{parent}].controllerName", at.field());
                let good = self.contract.controller_form.as_ref().is_none_or(|form| form.is_match(name));
                held(Rule::ControllerNameForm, path, good, || format!("{name:?}"))
            })
            .collect()
    }

    fn take(&mut self, key: &ObjectKey, last: &Last, found: Vec<Finding>) {
        for Finding { rule, path, seen } in found {
            if !self.contract.rule(rule).is_some_and(|terms| terms.known_at(self.basis)) {
                continue;
            }
            debug_assert!(
                self.contract.kind(&key.group, &key.kind).is_some_and(|k| self.contract.holds(rule, k, self.basis)),
                "{rule:?} is held against {key}, but the contract does not say so"
            );
            let name = format!("contract/{}/{}", key.kind, rule.name());
            let Some(seen) = seen else { continue };
            let object = key.to_string();
            if self.found.iter().any(|f| f.name == name && f.breach.object == object && f.breach.path == path) {
                continue;
            }
            self.found.push(Found {
                key: key.clone(),
                resource_version: resource_version(&last.object).unwrap_or_default().to_owned(),
                name,
                breach: Breach { scenario: last.scenario.clone(), object, path, seen, seq: last.seq },
            });
        }
    }
}

/// Whether one resourceVersion comes before another. Those that are no numbers have no order, and may.
fn is_older(one: &str, other: &str) -> bool {
    match (one.parse::<u64>(), other.parse::<u64>()) {
        (Ok(one), Ok(other)) => one < other,
        _ => one != other,
    }
}

/// Whether a patch, a merge or a list of operations, is of the status.
fn is_of_status(patch: &Value) -> bool {
    let is_there = |operation: &Value| {
        let path = operation.get("path").and_then(Value::as_str);
        path.is_some_and(|path| path == "/status" || path.starts_with("/status/"))
    };
    patch.get("status").is_some() || array(Some(patch)).iter().any(is_there)
}

/// Whether an object is as a run waits for it, at its current generation: before, a controller may have more to say,
/// however long it has been silent.
fn is_ready(key: &ObjectKey, object: &Value, dialect: &Dialect) -> bool {
    let wanted = if dialect.is_entry(&key.kind) { Some(dialect.ready()) } else { dialect.accepted() };
    let Some(wanted) = wanted else { return false };
    own(object, dialect).iter().any(|condition| {
        condition.type_ == wanted
            && condition.status == "True"
            && condition.observed_generation == Some(generation(object))
    })
}
