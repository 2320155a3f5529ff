//! Conditions that are there only beside others: what builds on a state has nothing to say before that is reached.

use super::finding::{Finding, held};
use super::list::List;
use super::rule::Rule;
use crate::judge::conditions::find;
use crate::scenario::Basis;

/// Holds every condition that needs others against what these say in the same version.
pub(super) fn check(list: &List<'_>, basis: Basis) -> Vec<Finding> {
    let mut found = Vec::new();
    for condition in &list.conditions {
        let Some(terms) = list.terms(condition.type_, basis) else { continue };
        let while_true = terms.needs_when_true.iter().filter(|_| condition.status == "True");
        for needed in terms.needs.iter().chain(while_true) {
            let other = find(&list.conditions, needed);
            let good = other.is_some_and(|other| other.status == "True");
            found.push(held(Rule::NeedsMet, list.path_of(condition.type_), good, || match other {
                Some(other) => format!("{condition} beside {other}"),
                None => format!("{condition} without {needed}"),
            }));
        }
    }
    found
}
