//! What has been run of which manifests, and so what a change of them touches. Pure.

use std::collections::{BTreeMap, BTreeSet};

use crate::scenario::{Diagnostic, Scenario};

/// Of many names so many are said.
const NAMED: usize = 3;

/// A scenario as a file has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Written {
    pub(super) file: String,
    /// Of its text.
    pub(super) digest: String,
}

/// What has been run, and what the manifests were when they were last looked at.
#[derive(Debug, Default)]
pub(super) struct Memory {
    /// Digests of scenarios as they were last run, by name.
    ran: BTreeMap<String, String>,
    /// Every scenario by name. Of a file that cannot be read any more, those that it had.
    written: BTreeMap<String, Written>,
    files: BTreeSet<String>,
    problems: Vec<Diagnostic>,
}

/// What is new since the manifests were last looked at.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct News {
    /// Files that are new, or have a scenario that is, or is another one.
    pub(super) changed: BTreeSet<String>,
    /// What is gone or has moved, a line for each.
    pub(super) lines: Vec<String>,
}

/// The scenarios by name.
pub(super) fn written<'s>(scenarios: impl IntoIterator<Item = &'s Scenario>) -> BTreeMap<String, Written> {
    let one = |one: &Scenario| (one.name.clone(), Written { file: one.file.clone(), digest: one.digest.clone() });
    scenarios.into_iter().map(one).collect()
}

impl Memory {
    /// Takes in which files there are, which of these have problems, and what the others hold.
    pub(super) fn look(
        &mut self,
        files: BTreeSet<String>,
        unreadable: &BTreeSet<String>,
        mut now: BTreeMap<String, Written>,
    ) -> News {
        let is_other = |(name, one): &(&String, &Written)| {
            self.written.get(*name).is_none_or(|before| before.digest != one.digest)
        };
        let changed: BTreeSet<String> = now.iter().filter(is_other).map(|(_, one)| one.file.clone()).collect();
        let mut lines = Vec::new();
        for file in self.files.difference(&files) {
            let had: Vec<&String> = self.of(file).collect();
            let to: BTreeSet<&str> = had.iter().filter_map(|name| now.get(*name)).map(|one| &*one.file).collect();
            lines.push(match (to.first(), &had[..]) {
                (Some(to), _) => format!("{file} is {to} now"),
                (None, []) => format!("{file} is gone"),
                (None, had) => format!("{file} is gone, and with it {}", some(had.iter().map(|name| &***name))),
            });
        }
        for file in self.files.intersection(&files).filter(|file| !unreadable.contains(*file)) {
            let gone: Vec<&str> = self.of(file).filter(|name| !now.contains_key(*name)).map(|name| &**name).collect();
            if !gone.is_empty() {
                lines.push(format!("{file} changed, and no longer has {}", some(gone.into_iter())));
            }
        }
        let kept = self.written.iter().filter(|(name, one)| unreadable.contains(&one.file) && !now.contains_key(*name));
        let kept: Vec<(String, Written)> = kept.map(|(name, one)| (name.clone(), one.clone())).collect();
        now.extend(kept);
        // What comes back is run again.
        self.ran.retain(|name, _| now.contains_key(name));
        self.written = now;
        self.files = files;
        News { changed, lines }
    }

    /// The scenarios that a file had.
    fn of(&self, file: &str) -> impl Iterator<Item = &String> {
        self.written.iter().filter(move |(_, one)| one.file == file).map(|(name, _)| name)
    }

    /// Whether a scenario is another one than was run, or was not run yet.
    pub(super) fn is_touched(&self, scenario: &Scenario) -> bool {
        self.ran.get(&scenario.name) != Some(&scenario.digest)
    }

    /// These were run.
    pub(super) fn ran(&mut self, scenarios: BTreeMap<String, Written>) {
        self.ran.extend(scenarios.into_iter().map(|(name, one)| (name, one.digest)));
    }

    /// From now on nothing counts as run.
    pub(super) fn forget(&mut self) {
        self.ran.clear();
    }

    /// The files that have problems.
    pub(super) fn spoilt(&self) -> BTreeSet<&str> {
        self.problems.iter().map(|problem| &*problem.file).collect()
    }

    /// Problems that were not told yet of those that there are.
    pub(super) fn untold(&mut self, problems: Vec<Diagnostic>) -> Vec<Diagnostic> {
        let told = std::mem::take(&mut self.problems);
        let is_new = |one: &&Diagnostic| !told.iter().any(|before| before.is_same(one));
        let untold = problems.iter().filter(is_new).cloned().collect();
        self.problems = problems;
        untold
    }
}

/// A few of these names, and how many more there are.
pub(super) fn some<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let names: Vec<&str> = names.collect();
    let more = if names.len() > NAMED { format!(" and {} more", names.len() - NAMED) } else { String::new() };
    format!("{}{more}", names[..names.len().min(NAMED)].join(", "))
}

#[cfg(test)]
#[path = "memory_tests.rs"]
mod tests;
