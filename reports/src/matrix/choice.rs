//! Which reports become columns.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::known::release;
use super::{Column, Entry};

/// What the user chooses; everything by default.
#[derive(Debug, Clone, Default)]
pub struct Choice {
    /// Projects, organisations, or both with a slash between them; in any case.
    pub projects: Vec<String>,
    /// Releases of Gateway API, such as `v1.6.1`, or `v1.6` for all of a minor one.
    pub releases: Vec<String>,
    /// Of each implementation what it reported last: everything of its last version at its last release.
    pub latest: bool,
}

/// The user chooses something that no report has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unmatched {
    /// What was chosen.
    pub chosen: String,
    /// What there is.
    pub there: Vec<String>,
}

impl fmt::Display for Unmatched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no report is of {}; there are {}", self.chosen, self.there.join(", "))
    }
}

impl Choice {
    pub(super) fn of(&self, mut entries: Vec<Entry>) -> Result<Vec<Entry>, Unmatched> {
        entries = keep(entries, &self.projects, is_of, |column| format!("{}/{}", column.organization, column.project))?;
        entries = keep(entries, &self.releases, is_at, |column| column.release.clone())?;
        if self.latest {
            latest(&mut entries);
        }
        Ok(entries)
    }
}

/// Those of which one of the words is true; each word has to be true of one.
fn keep(
    mut entries: Vec<Entry>,
    words: &[String],
    is: fn(&Column, &str) -> bool,
    name: fn(&Column) -> String,
) -> Result<Vec<Entry>, Unmatched> {
    if let Some(word) = words.iter().find(|word| !entries.iter().any(|entry| is(&entry.column, word))) {
        let there: BTreeSet<String> = entries.iter().map(|entry| name(&entry.column)).collect();
        return Err(Unmatched { chosen: word.clone(), there: there.into_iter().collect() });
    }
    entries.retain(|entry| words.is_empty() || words.iter().any(|word| is(&entry.column, word)));
    Ok(entries)
}

fn is_of(column: &Column, word: &str) -> bool {
    let (organization, project) = column.who();
    let word = word.to_lowercase();
    word == project || word == organization || word == format!("{organization}/{project}")
}

fn is_at(column: &Column, word: &str) -> bool {
    let begins = |rest: &str| rest.is_empty() || rest.starts_with(['.', '-', '+']);
    column.release.strip_prefix(word).is_some_and(begins)
}

/// What tells which of two reports is the newer one.
type Age = (Option<(u32, u32, u32)>, Option<jiff::Timestamp>);

fn latest(entries: &mut Vec<Entry>) {
    let mut last: BTreeMap<(String, String), (Age, String)> = BTreeMap::new();
    let age = |column: &Column| -> Age { (release(&column.release), column.date.parse().ok()) };
    for Entry { column, .. } in entries.iter() {
        if last.get(&column.who()).is_none_or(|(newest, _)| age(column) > *newest) {
            last.insert(column.who(), (age(column), column.version.clone()));
        }
    }
    entries.retain(|Entry { column, .. }| {
        let newest = last.get(&column.who());
        newest.is_some_and(|((at, _), version)| *at == release(&column.release) && *version == column.version)
    });
}
