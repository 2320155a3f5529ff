//! Which edition of a dialect is meant, where a document and what is shipped differ.

use std::collections::BTreeSet;

use gateproof_suites::Requirement;

use super::Dialect;

/// The edition that is meant, and which clauses hold in others alone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Edition {
    name: Option<String>,
    elsewhere: BTreeSet<String>,
}

impl Edition {
    /// That which is meant unless the user says otherwise. It knows of no clauses.
    pub fn first(dialect: &Dialect) -> Edition {
        Edition { name: dialect.editions().first().cloned(), elsewhere: BTreeSet::new() }
    }

    /// One of a dialect, with its clauses.
    pub fn of(name: &str, requirements: &[Requirement]) -> Edition {
        let name = name.to_owned();
        let is_elsewhere = |one: &&Requirement| one.editions.as_ref().is_some_and(|all| !all.contains(&name));
        let elsewhere = requirements.iter().filter(is_elsewhere).map(|one| one.id.clone()).collect();
        Edition { name: Some(name), elsewhere }
    }

    /// Its name; none for a dialect that has but one.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Whether it is one of these.
    pub fn is_among(&self, editions: &[String]) -> bool {
        self.name.as_ref().is_some_and(|name| editions.contains(name))
    }

    /// Whether a clause holds in other editions alone.
    pub fn is_elsewhere(&self, clause: &str) -> bool {
        self.elsewhere.contains(clause)
    }
}
