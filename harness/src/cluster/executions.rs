//! Whose the objects of a run are: from the tokens of its executions to their names in the log.

use std::sync::Arc;

use gateproof_report::record::repeat;
use serde_json::Value;

use super::names;
use crate::log::Scope;

/// The executions of a run by their numbers: every scenario as many times as it is repeated, one after the other, and behind them what is
/// executed once. What is here of each is here of its scenario: there may be hundreds of thousands.
#[derive(Debug, Default)]
pub struct Executions {
    run_id: String,
    scenarios: Vec<Arc<str>>,
    times: usize,
    behind: Vec<Arc<str>>,
}

impl Executions {
    /// Of a run: each of the scenarios so many times, and `behind` them these once.
    pub fn of(run_id: &str, scenarios: Vec<Arc<str>>, times: usize, behind: Vec<Arc<str>>) -> Executions {
        Executions { run_id: run_id.to_owned(), scenarios, times: times.max(1), behind }
    }

    /// The name in the log of the execution that has this token, if one of this run has it.
    pub fn named(&self, token: &str) -> Option<Arc<str>> {
        let (run_id, digits) = token.rsplit_once('-')?;
        let index: usize = digits.parse().ok()?;
        // Of the ways to write a number one is ours.
        let is_ours = run_id == self.run_id && names::token(run_id, index) == token;
        let repeated = self.scenarios.len() * self.times;
        match index.checked_sub(repeated) {
            _ if !is_ours => None,
            Some(behind) => self.behind.get(behind).cloned(),
            None => Some(Arc::from(repeat(&self.scenarios[index / self.times], index % self.times + 1))),
        }
    }

    /// Whom an object concerns, by its labels or its namespace.
    pub(super) fn concerned(&self, object: &Value) -> Scope {
        let label =
            |name: &str| object.pointer("/metadata/labels").and_then(|labels| labels.get(name)).and_then(Value::as_str);
        if let Some(name) = label(names::SCENARIO_LABEL).and_then(|token| self.named(token)) {
            return Scope::Scenario(name);
        }
        if let Some(pool) = label(names::POOL_LABEL) {
            return Scope::Pool(Arc::from(pool));
        }
        // What a target makes has no labels of the run.
        let namespace = object.pointer("/metadata/namespace").and_then(Value::as_str);
        namespace.and_then(names::token_of).and_then(|token| self.named(token)).map_or(Scope::Run, Scope::Scenario)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::first("abcdef-0", Some("one"))]
    #[case::again("abcdef-2", Some("one#3"))]
    #[case::next("abcdef-3", Some("two"))]
    #[case::last("abcdef-5", Some("two#3"))]
    #[case::behind("abcdef-6", Some("preflight"))]
    #[case::none("abcdef-7", None)]
    #[case::of_another_run("abcdeg-0", None)]
    #[case::of_the_pool("abcdef", None)]
    #[case::no_number("abcdef-x", None)]
    #[case::signed("abcdef-+2", None)]
    #[case::padded("abcdef-02", None)]
    fn a_token_has_one_execution(#[case] token: &str, #[case] expected: Option<&str>) {
        let scenarios = ["one", "two"].map(Arc::from).to_vec();
        let executions = Executions::of("abcdef", scenarios, 3, vec![Arc::from("preflight")]);
        assert_eq!(executions.named(token).as_deref(), expected);
    }

    #[test]
    fn a_run_of_nothing_has_nobody() {
        assert_eq!(Executions::default().named("-0"), None);
    }
}
