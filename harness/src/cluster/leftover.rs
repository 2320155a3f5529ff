//! What of runs is to be removed, and what of it did not go.

use std::collections::BTreeSet;

use super::names::RUN_LABEL;

/// What is to be removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CleanScope {
    /// Everything of these runs.
    Runs(BTreeSet<String>),
    /// Everything of every run, and what runs share. Runs under way lose their objects too.
    All,
}

impl CleanScope {
    /// One run.
    pub fn run(id: &str) -> CleanScope {
        CleanScope::Runs(BTreeSet::from([id.to_owned()]))
    }

    /// The label selector of its objects.
    pub fn selector(&self) -> String {
        match self {
            CleanScope::All => RUN_LABEL.to_owned(),
            CleanScope::Runs(ids) => {
                let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
                format!("{RUN_LABEL} in ({})", ids.join(","))
            }
        }
    }
}

/// Something that did not go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leftover {
    /// `Kind/name`.
    pub object: String,
    /// What holds it, as far as it can be told.
    pub diagnosis: String,
}
