//! The folders of what did not pass: what was expected, the status history, the exchanges, what was written, also as a script, Kubernetes
//! Events, and what the controller's Pods said.
//!
//! They are made of the log event by event, and each is written once its execution has ended, so that a long log takes no more room than a
//! short one. Of what an execution shares with others they have how it stood when that began, and what came then.

mod script;

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use gateproof_report::record::{Outcome, RunRecord, ScenarioRecord};
use gateproof_report::terminal;

use super::Failure;
use super::shelf::Shelf;
use crate::cluster::pod_logs::PodLog;
use crate::log::{Body, Change, Event, ObjectKey, Scope};
use crate::run::shared_by;
use script::Script;

/// Whether a scenario has a folder of its own.
pub(super) fn has_evidence(scenario: &ScenarioRecord) -> bool {
    let outcome = scenario.outcome;
    matches!(outcome, Outcome::Failed | Outcome::Late | Outcome::Inconclusive | Outcome::KnownFailure)
}

/// Writes the folders of a run, or of a part of it.
pub(super) struct Folders<'a> {
    again: Cow<'a, [String]>,
    /// Those that are to be written.
    wanted: BTreeMap<&'a str, &'a ScenarioRecord>,
    /// What Pods said.
    logs: &'a BTreeMap<String, Vec<PodLog>>,
    shared: HashMap<Scope, Shared>,
    open: HashMap<Arc<str>, Folder>,
}

/// How it stands with what several executions share.
#[derive(Default)]
struct Shared {
    /// By what each object is shown.
    objects: HashMap<ObjectKey, Arc<Event>>,
    /// By what it is told that Kubernetes Events are missing.
    missing: Vec<Arc<Event>>,
    /// By what it was made.
    made: Vec<Arc<Event>>,
}

/// The files of an execution that has not ended.
#[derive(Default)]
struct Folder {
    scopes: Vec<Scope>,
    objects: String,
    exchanges: String,
    writes: String,
    script: Script,
    told: String,
}

impl<'a> Folders<'a> {
    /// Of every scenario of a record that has one.
    pub(super) fn of(record: &'a RunRecord, logs: &'a BTreeMap<String, Vec<PodLog>>) -> Folders<'a> {
        let wanted = record.scenarios.iter().filter(|one| has_evidence(one));
        let wanted = wanted.map(|one| (&*one.name, one)).collect();
        Folders { again: record.again(), wanted, logs, shared: HashMap::new(), open: HashMap::new() }
    }

    /// Whether any is left to be written.
    pub(super) fn are_wanted(&self) -> bool {
        !self.wanted.is_empty()
    }

    /// Takes the next event, and writes what it ends.
    pub(super) fn event(&mut self, event: &Arc<Event>, dir: &mut dyn Shelf) -> Result<(), Failure> {
        let Scope::Scenario(name) = &event.scope else {
            let sharing = self.open.values_mut().filter(|folder| folder.scopes.contains(&event.scope));
            sharing.for_each(|folder| folder.add(event));
            self.shared.entry(event.scope.clone()).or_default().observe(event);
            return Ok(());
        };
        if !self.wanted.contains_key(&**name) {
            return Ok(());
        }
        if let Body::ScenarioStarted(bindings) = &event.body {
            let mut folder = Folder { scopes: shared_by(bindings), ..Folder::default() };
            let shared = folder.scopes.iter().filter_map(|scope| self.shared.get(scope));
            let mut before: Vec<Arc<Event>> = shared.flat_map(Shared::as_it_stands).cloned().collect();
            before.sort_unstable_by_key(|event| event.seq);
            before.iter().for_each(|event| folder.add(event));
            self.open.insert(Arc::clone(name), folder);
        }
        if let Some(folder) = self.open.get_mut(name) {
            folder.add(event);
        }
        if matches!(event.body, Body::ScenarioEnded(_))
            && let (Some(folder), Some(scenario)) = (self.open.remove(name), self.wanted.remove(&**name))
        {
            self.write(scenario, &folder, dir)?;
        }
        Ok(())
    }

    /// Writes the folders of what the log does not tell of.
    pub(super) fn finish(mut self, dir: &mut dyn Shelf) -> Result<(), Failure> {
        for (name, scenario) in std::mem::take(&mut self.wanted) {
            let folder = self.open.remove(name).unwrap_or_default();
            self.write(scenario, &folder, dir)?;
        }
        Ok(())
    }

    fn write(&self, scenario: &ScenarioRecord, folder: &Folder, dir: &mut dyn Shelf) -> Result<(), Failure> {
        let mut file = |name: &str, text: &str| dir.write(&["failures", &scenario.name, name], text);
        file("failure.txt", &terminal::failure(scenario, &self.again))?;
        file("status-history.jsonl", &folder.objects)?;
        file("exchanges.jsonl", &folder.exchanges)?;
        file("kubernetes-events.jsonl", &folder.told)?;
        file("writes.jsonl", &folder.writes)?;
        if let Some(script) = folder.script.text(scenario) {
            file("kubectl.sh", &script)?;
        }
        let logs = self.logs.get(&scenario.name).map(Vec::as_slice).unwrap_or_default();
        let mut missing = String::new();
        for PodLog { name, text } in logs {
            match text {
                Ok(text) => file(&format!("{name}.log"), text)?,
                Err(why) => missing.push_str(&format!("{name}: {why}\n")),
            }
        }
        if missing.is_empty() { Ok(()) } else { file("no-logs.txt", &missing) }
    }
}

impl Shared {
    fn observe(&mut self, event: &Arc<Event>) {
        match &event.body {
            Body::Observed { key, change: Change::Deleted, .. } => drop(self.objects.remove(key)),
            Body::Observed { key, .. } => drop(self.objects.insert(key.clone(), Arc::clone(event))),
            Body::NoKubernetesEvents { .. } => self.missing.push(Arc::clone(event)),
            Body::Made(write) if script::is_part(&event.scope, write) => self.made.push(Arc::clone(event)),
            _ => {}
        }
    }

    fn as_it_stands(&self) -> impl Iterator<Item = &Arc<Event>> {
        self.objects.values().chain(&self.missing).chain(&self.made)
    }
}

impl Folder {
    fn add(&mut self, event: &Event) {
        self.script.add(event);
        let into = match &event.body {
            Body::Observed { .. } => &mut self.objects,
            Body::Probed { .. } | Body::Journal { .. } => &mut self.exchanges,
            Body::Wrote(_) => &mut self.writes,
            Body::KubernetesEvent(_) | Body::NoKubernetesEvents { .. } => &mut self.told,
            _ => return,
        };
        if let Ok(line) = serde_json::to_string(event) {
            into.push_str(&line);
            into.push('\n');
        }
    }
}

#[cfg(test)]
#[path = "failures/tests.rs"]
mod tests;
