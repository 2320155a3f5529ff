//! What a contract comes to: rules, kinds, and what their conditions may say.

use std::str::FromStr;

use indexmap::IndexMap;
use serde::Deserialize;

use super::graded::Graded;
use super::typed::TypedValues;
use crate::dialects::StatusList;
use crate::scenario::{Basis, Level, Version};

/// How binding a rule is, and where it comes from.
#[derive(Debug, Clone, PartialEq)]
pub struct Terms {
    /// How binding.
    pub level: Level,
    /// Clauses that state it.
    pub clauses: Vec<String>,
    /// The first release that states it; every one if `None`.
    pub since: Option<Version>,
}

impl Terms {
    /// Whether the rule is held at a version.
    pub(super) fn known_at(&self, basis: Basis) -> bool {
        basis.is_within(self.since, None)
    }
}

/// When `lastTransitionTime` moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Transition {
    /// Exactly when the status flips, as the Kubernetes API conventions have it (K8S-07).
    OnStatusChange,
    /// Whenever anything of the condition changes (K8S-08).
    OnAnyChange,
    /// Whenever the status flips; it may move otherwise.
    Either,
}

#[derive(Debug)]
pub(super) struct Kind {
    pub(super) group: String,
    pub(super) kind: String,
    pub(super) subjects: Vec<Subject>,
    pub(super) sorted: Vec<SortedField>,
    pub(super) typed: Vec<TypedValues>,
    /// JSON pointer to what says who handles an object.
    pub(super) handled_by: Option<String>,
}

/// One place in the status where conditions stand.
#[derive(Debug)]
pub(super) struct Subject {
    pub(super) at: StatusList,
    /// The set of its conditions, as the contract calls it.
    pub(super) set: String,
    pub(super) conditions: IndexMap<String, ConditionTerms>,
    pub(super) counts: Vec<String>,
    pub(super) one_per_listener: bool,
    /// Whose entries these are, if not those of the controller under test.
    pub(super) controller: Option<String>,
}

#[derive(Debug)]
pub(super) struct ConditionTerms {
    pub(super) presence: Presence,
    pub(super) negative: bool,
    pub(super) explains: bool,
    pub(super) closed: bool,
    pub(super) configured: bool,
    /// A value of the spec without which it has no reason to be there.
    pub(super) asked_by: Option<String>,
    /// Types that must be True beside it.
    pub(super) needs: Vec<String>,
    /// The same while it is True itself.
    pub(super) needs_when_true: Vec<String>,
    pub(super) since: Option<Version>,
    pub(super) until: Option<Version>,
    pub(super) reasons: IndexMap<String, Vec<Reason>>,
    /// Statuses whose reasons come from elsewhere, too.
    pub(super) open: Vec<String>,
    pub(super) graded: Graded,
}

impl ConditionTerms {
    /// Whether the type has a meaning at a version.
    pub(super) fn known_at(&self, basis: Basis) -> bool {
        basis.is_within(self.since, self.until)
    }
}

/// The statuses that a condition may have.
pub(super) const STATUSES: [&str; 3] = ["True", "False", "Unknown"];

/// When a condition must be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Presence {
    /// In every status that the controller writes.
    Always,
    /// As soon as `Accepted` is there.
    WithAccepted,
    /// Only while True.
    OnlyTrue,
    /// Only while True is better, an explicit False is legal.
    PreferablyTrue,
    /// As the implementation likes.
    Optional,
    /// Not to be used, or replaced by another.
    Retired,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Reason {
    pub(super) name: String,
    since: Option<Version>,
    until: Option<Version>,
}

impl Reason {
    pub(super) fn known_at(&self, basis: Basis) -> bool {
        basis.is_within(self.since, self.until)
    }
}

impl FromStr for Reason {
    type Err = String;
    fn from_str(text: &str) -> Result<Reason, String> {
        let bad = || format!("`{text}` is not a reason such as `Pending since 1.2 until 1.5`");
        let mut words = text.split_whitespace();
        let mut reason = Reason { name: words.next().ok_or_else(bad)?.to_owned(), since: None, until: None };
        while let Some(word) = words.next() {
            let version = words.next().ok_or_else(bad)?.parse::<Version>()?;
            match word {
                "since" => reason.since = Some(version),
                "until" => reason.until = Some(version),
                _ => return Err(bad()),
            }
        }
        Ok(reason)
    }
}

/// A list that must be sorted.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SortedField {
    /// JSON pointer.
    pub(super) at: String,
    /// Field of its items.
    pub(super) by: String,
}
