//! Whether the target lets definitions be: by its hand none becomes one of an older release, or of another channel.
//!
//! What the run wrote itself comes between two versions and explains whatever differs. Whoever else does it may be somebody who manages the
//! cluster, so it is the target only if the same manager writes statuses.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use gateproof_report::record::Breach;
use serde_json::Value;

use super::data::Contract;
use super::rule::Rule;
use super::whole::resource_version;
use crate::dialects::{Dialect, Releases};
use crate::judge::others::{authors, entries, status_writers};
use crate::log::{Body, Change, Event, ObjectKey, WriteOutcome};
use crate::scenario::scope::DEFINITION;
use crate::scenario::{Basis, Version};

/// What was seen of definitions, and what the run wrote of them.
#[derive(Debug, Clone, Default)]
pub(super) struct Definitions {
    /// Every version, with its place in the log.
    seen: BTreeMap<ObjectKey, Vec<(u64, Arc<Value>)>>,
    /// resourceVersions of the run's own writes.
    written: BTreeMap<ObjectKey, Vec<String>>,
    /// Who writes statuses of the dialect: the target.
    writers: HashSet<String>,
}

/// The name of the rule in reports.
pub(super) fn name() -> String {
    format!("contract/{DEFINITION}/{}", Rule::DefinitionsKept.name())
}

/// Whether a contract holds the rule.
pub(super) fn are_held(contract: &Contract, basis: Basis) -> bool {
    contract.rule(Rule::DefinitionsKept).is_some_and(|terms| terms.known_at(basis))
}

impl Definitions {
    /// Takes in an event.
    pub(super) fn observe(&mut self, event: &Event, dialect: &Dialect) {
        match &event.body {
            Body::Observed { key, change, object } => {
                self.writers.extend(status_writers(object, dialect).map(str::to_owned));
                if key.kind == DEFINITION && *change != Change::Deleted {
                    let versions = self.seen.entry(key.clone()).or_default();
                    // Several watches may show the same, one later than the other.
                    let last = versions.last().and_then(|(_, last)| number(last));
                    if last.zip(number(object)).is_none_or(|(last, new)| last < new) {
                        versions.push((event.seq, Arc::clone(object)));
                    }
                }
            }
            Body::Made(write) | Body::Wrote(write) if write.key.kind == DEFINITION => {
                if let WriteOutcome::Admitted { resource_version, .. } = &write.outcome {
                    self.written.entry(write.key.clone()).or_default().push(resource_version.clone());
                }
            }
            _ => {}
        }
    }

    /// Takes in what was seen elsewhere.
    pub(super) fn join(&mut self, other: &Definitions) {
        self.seen.extend(other.seen.clone());
        self.written.extend(other.written.clone());
        self.writers.extend(other.writers.iter().cloned());
    }

    /// Every step back, each with the rule's name.
    pub(super) fn breaches(&self, contract: &Contract, basis: Basis) -> Vec<(String, Breach)> {
        let Some(releases) = contract.dialect().releases().filter(|_| are_held(contract, basis)) else {
            return Vec::new();
        };
        let mut found = Vec::new();
        for (key, versions) in &self.seen {
            for pair in versions.windows(2) {
                let [(_, before), (seq, after)] = pair else { continue };
                if self.is_of_run(key, before, after) {
                    continue;
                }
                let by = authors(after, entries(before));
                let is_targets = !by.is_empty() && by.iter().all(|manager| self.writers.contains(manager));
                if let Some((annotation, what)) = step_back(before, after, releases).filter(|_| is_targets) {
                    let (object, path) = (key.to_string(), format!("metadata.annotations.{annotation}"));
                    let seen = format!("{what}, by {}", by.join(", "));
                    found.push((name(), Breach { scenario: String::new(), object, path, seen, seq: *seq }));
                }
            }
        }
        found.sort_by_key(|(_, breach)| breach.seq);
        found
    }

    /// Whether the run wrote between two versions, as far as they have an order.
    fn is_of_run(&self, key: &ObjectKey, before: &Value, after: &Value) -> bool {
        let mut written = self.written.get(key).into_iter().flatten();
        match (number(before), number(after)) {
            (Some(before), Some(after)) => written
                .any(|version| version.parse().ok().is_none_or(|version: u64| before < version && version <= after)),
            _ => written.next().is_some(),
        }
    }
}

/// A resourceVersion, as far as it has an order.
fn number(object: &Value) -> Option<u64> {
    resource_version(object)?.parse().ok()
}

/// The annotation by which a version of a definition is of an older release or of another channel than that before, and what it says.
fn step_back<'r>(before: &Value, after: &Value, releases: &'r Releases) -> Option<(&'r str, String)> {
    let annotation = |object: &Value, name: &str| -> Option<String> {
        object.pointer("/metadata/annotations")?.get(name)?.as_str().map(str::to_owned)
    };
    let both = |name: &str| Some((annotation(before, name)?, annotation(after, name)?));
    // What is under development has no place among the releases.
    let release = |text: &str| text.parse::<Version>().ok().filter(|_| !text.ends_with("-dev"));
    if let Some((was, is)) = both(&releases.version)
        && release(&was).zip(release(&is)).is_some_and(|(was, is)| is < was)
    {
        return Some((&releases.version, format!("{is} after {was}")));
    }
    let (was, is) = both(&releases.channel)?;
    (was != is).then(|| (&*releases.channel, format!("{is} after {was}")))
}
