//! When a comparison fails: rules that the user chooses.

use std::collections::BTreeSet;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::Serialize;

use super::side::{Side, State};
use super::{Change, Diff};
use crate::words::counted;

/// One rule of a gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// No scenario and no MUST of the contract fails newly, but for known failures.
    NewFailures,
    /// No scenario is newly flaky.
    NewFlakes,
    /// Every scenario that came to a verdict before comes to one now.
    FewerScenarios,
    /// No feature is claimed no longer.
    DroppedFeatures,
    /// Nothing takes longer to settle.
    Slower,
    /// Nothing fails, new or not, but for known failures.
    Failures,
    /// At least so many scenarios came to a verdict.
    AtLeast(usize),
}

/// Every rule that takes no number: as it is typed, and what it asks for.
const PLAIN: [(Rule, &str, &str); 6] = [
    (Rule::NewFailures, "new-failures", "no scenario and no MUST of the contract fails newly"),
    (Rule::NewFlakes, "new-flakes", "no scenario is newly flaky"),
    (Rule::FewerScenarios, "fewer-scenarios", "every scenario that was tested is tested"),
    (Rule::DroppedFeatures, "dropped-features", "no feature is claimed no longer"),
    (Rule::Slower, "slower", "nothing takes longer to settle"),
    (Rule::Failures, "failures", "nothing fails, new or not"),
];
/// The one that takes a number, as it is typed before that.
const AT_LEAST: &str = "at-least=";

impl Rule {
    /// Every rule as it is typed, with what it asks for.
    pub fn all() -> impl Iterator<Item = (String, &'static str)> {
        let plain = PLAIN.iter().map(|(_, name, asks)| ((*name).to_owned(), *asks));
        plain.chain([(format!("{AT_LEAST}N"), "N scenarios or more are tested")])
    }

    /// As it is typed.
    pub fn name(self) -> String {
        match (self, PLAIN.iter().find(|(rule, _, _)| *rule == self)) {
            (Rule::AtLeast(count), _) => format!("{AT_LEAST}{count}"),
            (_, plain) => plain.map(|(_, name, _)| (*name).to_owned()).unwrap_or_default(),
        }
    }
}

impl FromStr for Rule {
    type Err = String;

    fn from_str(text: &str) -> Result<Rule, String> {
        let plain = PLAIN.iter().find(|(_, name, _)| *name == text).map(|(rule, _, _)| *rule);
        let counted = || text.strip_prefix(AT_LEAST)?.parse().ok().map(Rule::AtLeast);
        plain.or_else(counted).ok_or_else(|| {
            let names: Vec<String> = Rule::all().map(|(name, _)| name).collect();
            format!("there is no rule `{text}`; there are {}", names.join(", "))
        })
    }
}

/// The rules that a run has to hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Gate(pub Vec<Rule>);

/// What a rule says of a comparison.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Ruling {
    /// The rule as it is typed.
    pub rule: String,
    /// Whether it holds.
    pub held: bool,
    /// What it found, in a few words.
    pub found: String,
}

impl Gate {
    pub(super) fn judge(&self, diff: &Diff, here: &Side<'_>) -> Vec<Ruling> {
        self.0.iter().map(|rule| rule.judge(diff, here)).collect()
    }
}

impl Rule {
    fn judge(self, diff: &Diff, here: &Side<'_>) -> Ruling {
        let scenarios = |change| diff.scenarios.iter().filter(move |one| one.change == change);
        let none_of = |count: usize, one: &str, several: &str| (count == 0, counted(count, one, several));
        let both = |failing: usize, rules: usize| {
            let rules_of = counted(rules, "rule", "rules");
            format!("{} and {rules_of} of the contract fail", counted(failing, "scenario", "scenarios"))
        };
        let (held, found) = match self {
            Rule::NewFailures => {
                let failing = scenarios(Change::NewlyFailing).filter(|one| !one.known).count();
                let rules = diff.contract.iter().filter(|one| one.change == Change::NewlyFailing && !one.known).count();
                (failing + rules == 0, format!("{} newly", both(failing, rules)))
            }
            Rule::NewFlakes => {
                let flaky = scenarios(Change::NewlyFlaky).count();
                none_of(flaky, "scenario is newly flaky", "scenarios are newly flaky")
            }
            Rule::FewerScenarios => {
                let gone = scenarios(Change::NoLongerTested).count();
                none_of(gone, "scenario is no longer tested", "scenarios are no longer tested")
            }
            Rule::DroppedFeatures => {
                let dropped = diff.features_dropped.len();
                none_of(dropped, "feature is claimed no longer", "features are claimed no longer")
            }
            Rule::Slower => none_of(diff.slower.len(), "stage or step takes longer", "stages or steps take longer"),
            Rule::Failures => {
                let fails = |name: &&str| {
                    matches!(here.state(name), State::Failed | State::Flaky) && !here.fails_only_as_known(name)
                };
                let failing = here.names().filter(fails).count();
                let rules: BTreeSet<&str> = here
                    .runs()
                    .iter()
                    .flat_map(|run| &run.contract)
                    .filter(|rule| rule.fails())
                    .map(|rule| &*rule.name)
                    .collect();
                (failing + rules.len() == 0, both(failing, rules.len()))
            }
            Rule::AtLeast(count) => {
                let tested = diff.tested[1];
                (tested >= count, counted(tested, "scenario is tested", "scenarios are tested"))
            }
        };
        Ruling { rule: self.name(), held, found }
    }
}
