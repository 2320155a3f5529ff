//! What a contract says that conditions say, for manifests to be held against.

use std::collections::BTreeSet;

use super::data::Contract;
use super::rule::Rule;
use super::terms::{ConditionTerms, Presence, STATUSES};
use crate::dialects::StatusList;
use crate::scenario::Level;
use crate::scenario::lint::{Saying, Sayings};

impl Sayings for Contract {
    fn saying(&self, kind: &str, type_: &str, lists: &[StatusList]) -> Option<Saying> {
        let kind = self.kind(self.dialect().group_of(kind), kind)?;
        let subjects = kind.subjects.iter().filter(|subject| lists.contains(&subject.at));
        let terms = subjects.filter_map(|subject| subject.conditions.get(type_));
        // One of the past may have been said whatever came with it.
        let of_today = terms.filter(|terms| terms.presence != Presence::Retired);
        of_today.map(|terms| self.saying_of(terms)).reduce(Saying::or)
    }
}

impl Contract {
    fn saying_of(&self, terms: &ConditionTerms) -> Saying {
        let mut saying = Saying::default();
        let must = |rule: Rule| self.rule(rule).is_some_and(|terms| terms.level == Level::Must);
        for status in STATUSES {
            let listed = terms.reasons.get(status);
            let graded = terms.graded.reasons_while(status);
            let reasons: BTreeSet<String> =
                listed.into_iter().flatten().map(|reason| reason.name.clone()).chain(graded.cloned()).collect();
            // As the rules about reasons have it: nothing is said against one of what is not known yet unless the list is closed.
            let is_open = terms.open.iter().any(|open| open == status)
                || terms.reasons.is_empty()
                || (listed.is_none() && status == "Unknown" && !terms.closed);
            if !is_open && (must(if terms.closed { Rule::ReasonClosed } else { Rule::ReasonListed })) {
                saying.closed.insert(status.to_owned());
            }
            if !reasons.is_empty() {
                saying.reasons.insert(status.to_owned(), reasons);
            }
        }
        if must(Rule::GradeFitsStatus)
            && let Some((field, values)) = terms.graded.grades()
        {
            let values = values.map(|(status, values)| (status.clone(), values.iter().cloned().collect()));
            saying.grades.insert(field.to_owned(), values.collect());
        }
        saying
    }
}
