//! What an execution wrote, as a script for `kubectl`: for whoever has no Gateproof, such as the maintainers of a controller. Pure.
//!
//! It writes what was written, in that order, with the names of that run. It waits for nothing but a status that is to be written to: what
//! was waited for is in failure.txt.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use gateproof_report::record::ScenarioRecord;
use gateproof_report::reproduce;
use gateproof_report::terminal::printable;
use serde_json::Value;

use crate::log::{Body, Event, ObjectKey, Scope, Write, WriteOutcome, WriteVerb};

const HEAD: &str = "\
# What was written, in that order and with the names of that run. What each step waited for, and what came of it, is in failure.txt.
# Backends were Gateproof's own: where an answer matters, let the EndpointSlices name one that is there (`gateproof echo` is such).
set -eu
";

/// How often a status is tried to be written to, once a second.
const TRIES: &str = "1 2 3 4 5 6 7 8 9 10";

/// The writes of an execution, and those by which what it shares with others was made.
#[derive(Default)]
pub(super) struct Script {
    /// Each with its step, if the scenario asked for it.
    writes: Vec<(Option<usize>, Write)>,
}

impl Script {
    /// Takes an event in, if it is a write that belongs to it.
    pub(super) fn add(&mut self, event: &Event) {
        match &event.body {
            Body::Wrote(write) => self.writes.push((Some(write.step), (**write).clone())),
            Body::Made(write) if is_part(&event.scope, write) => self.writes.push((None, (**write).clone())),
            _ => {}
        }
    }

    /// The script; nothing if nothing was written for the scenario itself.
    pub(super) fn text(&self, scenario: &ScenarioRecord) -> Option<String> {
        let used: BTreeSet<&str> = self.writes.iter().filter_map(|(_, write)| write.key.namespace.as_deref()).collect();
        let is_used = |write: &Write| write.key.kind != "Namespace" || used.contains(&*write.key.name);
        let writes: Vec<_> = self.writes.iter().filter(|(step, write)| step.is_some() || is_used(write)).collect();
        if !writes.iter().any(|(step, _)| step.is_some()) {
            return None;
        }
        let mut out = format!("#!/bin/sh\n# {}: {}\n{HEAD}", printable(&scenario.name), printable(&scenario.summary));
        let mut before = None;
        for (step, write) in writes {
            if before != Some(*step) {
                let what = step.map_or_else(|| "made for it".to_owned(), |step| format!("steps[{step}]"));
                let _ = writeln!(out, "\n# {what}");
                before = Some(*step);
            }
            out.push_str(&command(write));
        }
        Some(out)
    }
}

/// Whether something that was made stands behind what an execution sees: its own objects and those that it shares. Of the run's own there
/// are namespaces, of which not each is used.
pub(super) fn is_part(scope: &Scope, write: &Write) -> bool {
    write.verb == WriteVerb::Apply && (*scope != Scope::Run || write.key.kind == "Namespace")
}

/// One write, with what the API server said if it was refused.
fn command(write: &Write) -> String {
    let key = &write.key;
    if key.group.is_empty() && key.kind == "Secret" && write.verb != WriteVerb::Delete {
        return format!("# Here {} was written. What is in a Secret is in no log.\n", printable(&key.to_string()));
    }
    let sent = write.sent.as_deref();
    let command = match (write.verb, sent) {
        (WriteVerb::Apply, Some(sent)) => {
            from_here(&["kubectl", "apply", "--server-side", "--force-conflicts", "-f", "-"], sent)
        }
        (WriteVerb::Patch, Some(sent)) => {
            let target = of(key, &write.api_version);
            let mut words = vec!["kubectl", "patch"];
            words.extend(target.iter().map(String::as_str));
            words.extend(is_of_status(sent).then_some("--subresource=status"));
            words.push(if sent.is_array() { "--type=json" } else { "--type=merge" });
            words.push("--patch-file=/dev/stdin");
            from_here(&words, sent)
        }
        (WriteVerb::Delete, _) => {
            let target = of(key, &write.api_version);
            let line = reproduce::line(["kubectl", "delete"].into_iter().chain(target.iter().map(String::as_str)));
            (line, String::new())
        }
        (WriteVerb::Apply | WriteVerb::Patch, None) => return String::new(),
    };
    let (line, document) = command;
    match &write.outcome {
        WriteOutcome::Admitted { .. } if write.verb == WriteVerb::Patch && sent.is_some_and(is_of_status) => {
            format!(
                "# Once the status that it is put into is there:\nfor try in {TRIES}; do {line} && break || sleep 1{document}\ndone\n"
            )
        }
        WriteOutcome::Admitted { .. } => format!("{line}{document}\n"),
        WriteOutcome::Refused { code, message, .. } => {
            format!("# The API server answered {code}: {}\n{line} || :{document}\n", printable(message))
        }
        WriteOutcome::Failed { error } => format!("# No answer: {}\n{line} || :{document}\n", printable(error)),
    }
}

/// A command, and behind it what it reads. In YAML of an object or a list no line that is not indented is a word
/// alone, so none ends it early.
fn from_here(words: &[&str], sent: &Value) -> (String, String) {
    let text = serde_yaml::to_string(sent).unwrap_or_else(|_| sent.to_string());
    let line = reproduce::line(words.iter().copied());
    (format!("{line} <<'END'"), format!("\n{}\nEND", text.trim_end_matches('\n')))
}

/// Words that name an object.
fn of(key: &ObjectKey, api_version: &str) -> Vec<String> {
    let kind = key.kind.to_lowercase();
    let kind = match api_version.split_once('/') {
        Some((group, version)) => format!("{kind}.{version}.{group}"),
        None => kind,
    };
    let namespace = key.namespace.as_ref().map(|namespace| ["-n".to_owned(), namespace.to_string()]);
    [kind, key.name.to_string()].into_iter().chain(namespace.into_iter().flatten()).collect()
}

/// Whether a patch is one of the status, which the API server takes as such alone.
fn is_of_status(sent: &Value) -> bool {
    match sent {
        Value::Array(operations) => operations.iter().all(|one| {
            one.get("path")
                .and_then(Value::as_str)
                .is_some_and(|path| path == "/status" || path.starts_with("/status/"))
        }),
        Value::Object(fields) => fields.keys().eq(["status"]),
        _ => false,
    }
}

#[cfg(test)]
#[path = "script_tests.rs"]
mod tests;
