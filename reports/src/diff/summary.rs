//! What a comparison comes to, in sentences whose numbers add up.

use super::{Change, Diff};
use crate::words::counted;

/// What the scenarios of now came to, how many of those before are missing, and what became of the rules of the status
/// contract, if anything did: these are counted apart, since a scenario is tested and a rule is checked.
pub(super) fn sentences(diff: &Diff) -> Vec<String> {
    let [before, here] = diff.tested;
    let lost = diff.count(Change::NoLongerTested);
    let changed = diff.scenarios.len() - lost;
    let mut came_to = listed(|change| if change == Change::NoLongerTested { 0 } else { diff.count(change) });
    if changed == 0 {
        came_to.push("all passing as before".to_owned());
    } else if here > changed {
        came_to.push(format!("{} passing as before", here - changed));
    }
    let now = match here {
        0 => "No scenario tested.".to_owned(),
        _ => format!("{}: {}.", counted(here, "scenario tested", "scenarios tested"), came_to.join(", ")),
    };
    let then = match (before, lost) {
        (0, _) => "None was tested before.".to_owned(),
        (_, 0) => format!("{}; none of them is missing.", counted(before, "was tested before", "were tested before")),
        (_, lost) => {
            let missing = counted(lost, "of them is no longer tested", "of them are no longer tested");
            format!("{}; {missing}.", counted(before, "was tested before", "were tested before"))
        }
    };
    let mut rules = listed(|change| match change {
        Change::NoLongerTested => 0,
        _ => diff.contract.iter().filter(|one| one.change == change).count(),
    });
    let unchecked = diff.contract.iter().filter(|one| one.change == Change::NoLongerTested).count();
    if unchecked > 0 {
        rules.push(format!("{unchecked} no longer checked, for want of objects to check"));
    }
    let rules = (!rules.is_empty()).then(|| format!("Rules of the status contract: {}.", rules.join(", ")));
    [now, then].into_iter().chain(rules).collect()
}

/// How many of a group are scenarios and how many are rules, where both are in it.
pub(super) fn of_both(scenarios: usize, rules: usize) -> String {
    let rules_of = |count| counted(count, "rule of the status contract", "rules of the status contract");
    match (scenarios, rules) {
        (scenarios, 0) => scenarios.to_string(),
        (0, rules) => rules_of(rules),
        (scenarios, rules) => format!("{}, {}", counted(scenarios, "scenario", "scenarios"), rules_of(rules)),
    }
}

fn listed(count: impl Fn(Change) -> usize) -> Vec<String> {
    let counts = Change::ALL.map(|change| (count(change), change.words()));
    counts.iter().filter(|(count, _)| *count > 0).map(|(count, words)| format!("{count} {words}")).collect()
}
