//! Whether a controller keeps to its words: reasons that turn although nothing has changed, and messages that quote themselves.

use std::collections::HashMap;

use super::finding::{Finding, held};
use super::list::List;
use super::rule::Rule;
use super::steady::{Calm, Changes};
use crate::judge::conditions::Condition;
use crate::log::Elapsed;
use crate::scenario::Basis;

/// How often a message may quote the one before. Once may be a list that gets longer.
const QUOTES: u32 = 2;

/// What conditions of an object said last, by path.
#[derive(Debug, Clone, Default)]
pub(super) struct Wording(HashMap<String, Word>);

#[derive(Debug, Clone)]
struct Word {
    status: String,
    reason: String,
    message: String,
    generation: Option<i64>,
    /// The change after which it was said.
    after: Elapsed,
    /// How often in a row its message has quoted the one before.
    quotes: u32,
}

impl Wording {
    /// Holds the conditions of a list, all as of one version, against what they said before.
    pub(super) fn check(
        &mut self,
        list: &List<'_>,
        changes: &Changes,
        calm: Calm,
        at: Elapsed,
        basis: Basis,
    ) -> Vec<Finding> {
        let mut found = Vec::new();
        if !list.visited() {
            return found;
        }
        for condition in &list.conditions {
            let Some(terms) = list.terms(condition.type_, basis) else { continue };
            let path = list.path_of(condition.type_);
            let before = self.0.get(&path).filter(|before| before.is_about_the_same(condition));
            let quotes = before.map_or(0, |before| before.quotes_after(condition));
            if let Some(before) = before {
                found.push(held(Rule::MessageDoesNotGrow, path.clone(), quotes < QUOTES, || {
                    format!("{:?} after {:?}, and so it was before", condition.message, before.message)
                }));
                // No time to be at work in, nothing is asked.
                let still = at - changes.last;
                let is_calm = before.after == changes.last && !calm.settled.is_zero() && still >= calm.settled;
                if terms.configured && is_calm {
                    let good = before.reason == condition.reason;
                    found.push(held(Rule::ReasonsStay, path.clone(), good, || {
                        format!("{condition} after {}, and nothing had changed for {still:.1?}", before.reason)
                    }));
                }
            }
            self.0.insert(path, Word::of(condition, changes.last, quotes));
        }
        found
    }
}

impl Word {
    fn of(condition: &Condition<'_>, after: Elapsed, quotes: u32) -> Word {
        Word {
            status: condition.status.to_owned(),
            reason: condition.reason.to_owned(),
            message: condition.message.to_owned(),
            generation: condition.observed_generation,
            after,
            quotes,
        }
    }

    /// Whether a condition says the same status of the same generation.
    fn is_about_the_same(&self, condition: &Condition<'_>) -> bool {
        self.status == condition.status && self.generation == condition.observed_generation
    }

    /// How often in a row the message has quoted the one before, with this one.
    fn quotes_after(&self, condition: &Condition<'_>) -> u32 {
        let (old, new) = (self.message.as_str(), condition.message);
        match old {
            _ if old == new => self.quotes,
            "" => 0,
            old if new.contains(old) => self.quotes + 1,
            _ => 0,
        }
    }
}
