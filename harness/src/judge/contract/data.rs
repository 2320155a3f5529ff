//! The contract as data.

use std::sync::Arc;

use indexmap::IndexMap;
use regex::Regex;

use super::rule::Rule;
use super::terms::{Kind, Presence, Terms, Transition};
use crate::dialects::{Dialect, StatusList};

/// A status contract: which kinds have which conditions, and which rules hold.
#[derive(Debug)]
pub struct Contract {
    pub(super) dialect: Arc<Dialect>,
    pub(super) edition: Option<String>,
    pub(super) rules: IndexMap<Rule, Terms>,
    pub(super) transition: Transition,
    pub(super) message_required: bool,
    pub(super) kinds: Vec<Kind>,
    pub(super) reason_form: Regex,
    pub(super) reason_lint: Regex,
    pub(super) type_form: Regex,
    pub(super) controller_form: Option<Regex>,
    pub(super) time_form: Option<Regex>,
}

impl Contract {
    /// Leaves out clauses that do not hold, and rules that none is left of.
    pub fn without(mut self, is_elsewhere: impl Fn(&str) -> bool) -> Contract {
        self.rules.retain(|_, terms| {
            let were = terms.clauses.len();
            terms.clauses.retain(|clause| !is_elsewhere(clause));
            were == 0 || !terms.clauses.is_empty()
        });
        self
    }

    /// Which edition of the dialect it is of; none if there is but one.
    pub fn edition(&self) -> Option<&str> {
        self.edition.as_deref()
    }

    /// Whether a condition follows from configuration alone, wherever it stands in this kind.
    pub fn is_configured(&self, kind: &str, type_: &str) -> bool {
        let subjects = self.kinds.iter().filter(|of| of.kind == kind).flat_map(|of| &of.subjects);
        subjects.filter_map(|subject| subject.conditions.get(type_)).any(|terms| terms.configured)
    }

    /// What a kind always says in its entries for parents when all is well: each type with its first reason.
    pub fn well_in_parents(&self, kind: &str) -> Vec<(&str, &str)> {
        let subjects = self.kinds.iter().filter(|of| of.kind == kind).flat_map(|of| &of.subjects);
        let conditions =
            subjects.filter(|subject| subject.at == StatusList::Parents).flat_map(|subject| &subject.conditions);
        let always = conditions.filter(|(_, terms)| terms.presence == Presence::Always);
        always.filter_map(|(type_, terms)| Some((&**type_, &*terms.reasons.get("True")?.first()?.name))).collect()
    }

    /// Names of the rules that state a clause.
    pub fn rules_proving(&self, clause: &str) -> Vec<&'static str> {
        let states = |terms: &Terms| terms.clauses.iter().any(|own| own == clause);
        self.rules.iter().filter(|(_, terms)| states(terms)).map(|(rule, _)| rule.name()).collect()
    }

    /// Its name, which is that of its dialect.
    pub fn name(&self) -> &str {
        self.dialect.name()
    }

    /// What its kinds are.
    pub fn dialect(&self) -> &Arc<Dialect> {
        &self.dialect
    }

    /// How binding a rule is; `None` if the contract does not hold it.
    pub fn rule(&self, rule: Rule) -> Option<&Terms> {
        self.rules.get(&rule)
    }

    /// The clauses that its rules state, each with the rule.
    pub fn clauses(&self) -> impl Iterator<Item = (Rule, &str)> {
        self.rules.iter().flat_map(|(rule, terms)| terms.clauses.iter().map(|clause| (*rule, &**clause)))
    }

    pub(super) fn kind(&self, group: &str, kind: &str) -> Option<&Kind> {
        self.kinds.iter().find(|k| k.kind == kind && k.group == group)
    }
}

#[cfg(test)]
#[path = "data_tests.rs"]
mod tests;
