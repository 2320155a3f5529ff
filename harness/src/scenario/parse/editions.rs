//! What of a scenario is asked in the edition of the dialect that is meant.

use super::super::model::{Bounds, Clause, Step, Verb};
use super::check::Checker;
use super::read::bounds_of;
use super::tree::Node;

/// Binds the steps to the edition, and says where the scenario has a meaning. Clauses of other editions are taken out of `proves`.
///
/// A scenario that looks for what does not hold here is of another edition, unless it says itself in which it has a meaning: then what
/// it looks for there alone is not asked here, and the rest is.
pub(super) fn bind(spec: &Node, steps: &mut [Step], checker: &mut Checker<'_>) -> Bounds {
    let edition = checker.vocabulary.edition.clone();
    let is_elsewhere = |clause: &Clause| edition.is_elsewhere(clause);
    let named = spec.get("editions");
    let mut bounds = bounds_of(spec, &edition);
    let has_clauses = steps.iter().any(|step| !step.proves.is_empty());
    for step in steps.iter_mut() {
        // What only writes is done wherever the scenario is: what comes after stands on it.
        let acts = matches!(step.verb, Verb::Apply(_) | Verb::Patch(_) | Verb::Delete(_) | Verb::Script(_));
        if !acts && !step.bounds.elsewhere {
            if named.is_none() {
                bounds.elsewhere |= step.proves.iter().any(is_elsewhere);
            } else {
                step.bounds.elsewhere = !step.proves.is_empty() && step.proves.iter().all(is_elsewhere);
            }
        }
        step.proves.retain(|clause| !is_elsewhere(clause));
    }
    let is_left = |step: &Step| !step.bounds.elsewhere && !step.proves.is_empty();
    if let (Some(named), Some(name)) = (named, edition.name())
        && !bounds.elsewhere
        && has_clauses
        && !steps.iter().any(is_left)
    {
        let help = Some("leave it out of `editions`, or prove a clause that holds there".to_owned());
        checker.report(named.mark, format!("nothing of this is asked in the edition `{name}`"), help);
    }
    bounds
}
