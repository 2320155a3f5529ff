//! From the log to what `report.html` shows of each scenario.

mod exchange;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use gateproof_report::html::{Evidence, Note, Object, Write};
use gateproof_report::words::counted;
use serde_json::Value;

use crate::log::{Body, Change, Event, JournalEntry, KubernetesEvent, ObjectKey, Scope, WriteOutcome, WriteVerb};

/// Takes events in log order, and gives the evidence of each execution when that has ended.
#[derive(Default)]
pub(super) struct Collector {
    open: HashMap<Arc<str>, Open>,
    /// The Gateways of the pool as they are, by name.
    pool: HashMap<Arc<str>, BTreeMap<ObjectKey, Arc<Value>>>,
}

/// An execution that has not ended.
struct Open {
    evidence: Evidence,
    /// Where each object is among those of the evidence.
    objects: HashMap<ObjectKey, usize>,
    /// Names of the Gateways of the pool that it shares.
    gateways: Vec<Arc<str>>,
}

impl Collector {
    /// Takes the next event.
    pub(super) fn event(&mut self, event: Event) -> Option<(Arc<str>, Evidence)> {
        match &event.scope {
            Scope::Run => {
                if let Some(text) = of_all(&event.body) {
                    self.open.values_mut().for_each(|open| open.note(event.at.0, "harness", text.clone()));
                }
                None
            }
            Scope::Pool(name) => {
                if let Body::Observed { key, change, object } = event.body {
                    for open in self.open.values_mut().filter(|open| open.gateways.contains(name)) {
                        open.saw(event.at.0, &key, change, &object);
                    }
                    let there = self.pool.entry(Arc::clone(name)).or_default();
                    if change == Change::Deleted {
                        there.remove(&key)
                    } else {
                        there.insert(key, object)
                    };
                }
                None
            }
            Scope::Scenario(name) => {
                let name = Arc::clone(name);
                if let Body::ScenarioStarted(bindings) = &event.body {
                    let gateways = bindings.gateways.values().map(|one| Arc::from(one.name.as_str())).collect();
                    let evidence = Evidence { began: event.at.0, ..Evidence::default() };
                    let mut open = Open { evidence, objects: HashMap::new(), gateways };
                    for name in open.gateways.clone() {
                        for (key, object) in self.pool.get(&name).into_iter().flatten() {
                            open.saw(event.at.0, key, Change::Added, object);
                        }
                    }
                    self.open.insert(name, open);
                    return None;
                }
                if matches!(event.body, Body::ScenarioEnded(_)) {
                    let mut evidence = self.open.remove(&name)?.evidence;
                    evidence.ended = event.at.0.saturating_sub(evidence.began);
                    return Some((name, evidence));
                }
                self.open.get_mut(&name)?.event(event);
                None
            }
        }
    }
}

impl Open {
    fn event(&mut self, event: Event) {
        let at = event.at.0;
        let since = at.saturating_sub(self.evidence.began);
        match event.body {
            Body::Wrote(write) => {
                self.evidence.in_step(write.step, since);
                let verb = match write.verb {
                    WriteVerb::Apply => "apply",
                    WriteVerb::Patch => "patch",
                    WriteVerb::Delete => "delete",
                };
                let (taken, answer) = answer(&write.outcome);
                self.evidence.writes.push(Write {
                    at: since,
                    step: write.step,
                    verb: verb.to_owned(),
                    object: write.key.to_string(),
                    answer,
                    taken,
                    sent: write.sent.as_deref().cloned(),
                });
            }
            Body::Observed { key, change, object } => self.saw(at, &key, change, &object),
            Body::Probed { step, attempt, role, exchange } => {
                let began = exchange.started.0.saturating_sub(self.evidence.began);
                self.evidence.in_step(step, began);
                self.evidence.in_step(step, since);
                let (request, row) = exchange::attempt(step, attempt, role, &exchange, (since, at));
                self.evidence.attempt(request, row);
            }
            Body::Journal { step, entries } => {
                self.evidence.in_step(step, since);
                self.note(at, "journal", journal(&entries));
            }
            Body::KubernetesEvent(told) => self.note(at, "event", told_of(&told)),
            Body::Scripted { step, service, key, error } => {
                self.evidence.in_step(step, since);
                let end = error.map_or_else(String::new, |error| format!(", which failed: {error}"));
                self.note(at, "service", format!("{service} was told what to do ({key}){end}"));
            }
            Body::Requested { step, service, requests, error, .. } => {
                self.evidence.in_step(step, since);
                let end = error.map_or_else(String::new, |error| format!(", which failed: {error}"));
                self.note(
                    at,
                    "service",
                    format!(
                        "{service} had {}{end}",
                        counted(requests.len(), "request that counts", "requests that count")
                    ),
                );
            }
            Body::Listed { step, found, error, .. } => {
                self.evidence.in_step(step, since);
                let end = error.map_or_else(String::new, |error| format!(", which failed: {error}"));
                self.note(
                    at,
                    "harness",
                    format!(
                        "{} found{end}",
                        counted(found.len(), "object that others made was", "objects that others made were")
                    ),
                );
            }
            Body::Looked { step, .. } | Body::Renewed { step, .. } | Body::Quiesced { step, .. } => {
                self.evidence.in_step(step, since);
            }
            body => {
                if let Some(text) = of_all(&body) {
                    self.note(at, "harness", text);
                }
            }
        }
    }

    fn saw(&mut self, at: u64, key: &ObjectKey, change: Change, object: &Value) {
        let index = *self.objects.entry(key.clone()).or_insert_with(|| {
            self.evidence.objects.push(Object::named(key.to_string()));
            self.evidence.objects.len() - 1
        });
        let since = at.saturating_sub(self.evidence.began);
        self.evidence.objects[index].saw(since, change == Change::Deleted, object);
    }

    fn note(&mut self, at: u64, sort: &str, text: String) {
        let at = at.saturating_sub(self.evidence.began);
        self.evidence.notes.push(Note { at, sort: sort.to_owned(), text });
    }
}

/// What explains a delay or a gap, whomever it concerns.
fn of_all(body: &Body) -> Option<String> {
    Some(match body {
        Body::Gap { resource, reason } => format!("{resource} were listed anew: {reason}"),
        Body::Blind { resource, reason, .. } => format!("the watch of {resource} is lost: {reason}"),
        Body::Sighted { resource, by, .. } => format!("the watch of {resource} is back after {} ms", by / 1000),
        Body::Lagged { by } => format!("the harness was late by {} ms", by / 1000),
        Body::Unreachable { by } => format!("the API server was out of reach for {} ms", by / 1000),
        Body::Waited { by } => format!("it waited {} ms for what another run had to itself", by / 1000),
        Body::LeftBehind { object, diagnosis } => format!("{object} is still there: {diagnosis}"),
        _ => return None,
    })
}

fn answer(outcome: &WriteOutcome) -> (bool, String) {
    match outcome {
        WriteOutcome::Admitted { generation: 0, .. } => (true, "taken".to_owned()),
        WriteOutcome::Admitted { generation, .. } => (true, format!("taken, generation {generation}")),
        WriteOutcome::Refused { code, reason, message, .. } => (false, format!("refused, {code} {reason}: {message}")),
        WriteOutcome::Failed { error } => (false, format!("no answer: {error}")),
    }
}

fn told_of(told: &KubernetesEvent) -> String {
    let KubernetesEvent { about, class, reason, message, from, count } = told;
    let often = if *count > 1 { format!(" ({count} times)") } else { String::new() };
    format!("{class} {reason} of {about} from {from}: {message}{often}")
}

/// How many requests each backend noted.
fn journal(entries: &[JournalEntry]) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for entry in entries {
        *counts.entry(&entry.backend).or_default() += 1;
    }
    let counts: Vec<String> = counts.iter().map(|(backend, count)| format!("{backend} {count}")).collect();
    let counts = if counts.is_empty() { "nobody".to_owned() } else { counts.join(", ") };
    format!("requests that reached a backend: {counts}")
}

#[cfg(test)]
#[path = "evidence/tests.rs"]
mod tests;
