//! Which scenarios a legal variant touches.
//!
//! What a variant does shows in some scenarios more than in others, and a sample may miss those. The table beside this file names
//! them, on this side: variants know no scenario.

use std::collections::BTreeMap;

use gateproof_controllers::variants;
use serde::Deserialize;

use crate::scenario::Scenario;
use crate::scenario::pattern::matches;

const TABLE: &str = include_str!("touched_by.yaml");

/// How many of the scenarios that a variant touches are named at most: those that tell most. CI draws from them.
const NAMED: usize = 12;

/// For each legal variant patterns of the names of scenarios.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct TouchedBy(BTreeMap<String, Vec<String>>);

impl TouchedBy {
    /// The table of the built-in scenarios.
    ///
    /// # Errors
    /// It is not well-formed.
    pub fn builtin() -> Result<TouchedBy, serde_yaml::Error> {
        serde_yaml::from_str(TABLE)
    }

    /// Whether a variant touches a scenario.
    pub fn touches(&self, variant: &str, scenario: &str) -> bool {
        self.0.get(variant).is_some_and(|patterns| patterns.iter().any(|pattern| matches(pattern, scenario)))
    }

    /// Names of variants and patterns of scenarios that there are none of, variants that are left out, and those of which
    /// too many are named.
    pub fn problems(&self, scenarios: &[Scenario]) -> Vec<String> {
        let left_out = variants::catalogue().filter(|variant| !self.0.contains_key(variant.name));
        let mut problems: Vec<String> =
            left_out.map(|variant| format!("nothing is named that {} touches", variant.name)).collect();
        for (variant, patterns) in &self.0 {
            if variants::find(variant).is_none() {
                problems.push(format!("there is no variant {variant}"));
            }
            let unknown = patterns.iter().filter(|pattern| !scenarios.iter().any(|one| matches(pattern, &one.name)));
            problems.extend(unknown.map(|pattern| format!("{variant}: there is no scenario {pattern}")));
            let touched = scenarios.iter().filter(|one| self.touches(variant, &one.name)).count();
            if touched > NAMED {
                problems.push(format!("{variant}: touches {touched} scenarios; name the {NAMED} that tell most"));
            }
        }
        problems
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use rstest::rstest;

    use super::*;
    use crate::scenario::load;

    fn problems(table: &TouchedBy) -> Vec<String> {
        table.problems(load::builtin_once())
    }

    #[test]
    fn the_table_names_what_there_is() {
        assert_eq!(problems(&TouchedBy::builtin().unwrap()), Vec::<String>::new());
    }

    #[rstest]
    #[case::variant("warms-upp", "httproute-simple", "there is no variant warms-upp")]
    #[case::scenario("warms-up", "httproute-simpel*", "warms-up: there is no scenario httproute-simpel*")]
    fn unknown_names_are_problems(#[case] variant: &str, #[case] pattern: &str, #[case] problem: &str) {
        let mut table = TouchedBy::builtin().unwrap();
        table.0.insert(variant.to_owned(), vec![pattern.to_owned()]);
        assert_eq!(problems(&table), [problem]);
    }

    #[test]
    fn a_variant_of_which_too_many_are_named_is_a_problem() {
        let mut table = TouchedBy::builtin().unwrap();
        table.0.insert("warms-up".to_owned(), vec!["tlsroute-*".to_owned()]);
        let [problem] = &problems(&table)[..] else { panic!("one problem") };
        assert!(
            problem.starts_with("warms-up: touches ") && problem.ends_with(" scenarios; name the 12 that tell most")
        );
    }

    #[test]
    fn a_variant_that_is_left_out_is_a_problem() {
        let mut table = TouchedBy::builtin().unwrap();
        table.0.remove("warms-up");
        assert_eq!(problems(&table), ["nothing is named that warms-up touches"]);
    }
}
