use gateproof_report::record::{Outcome, Severity};
use rstest::rstest;
use serde_json::json;

use super::driver::*;
use crate::judge::Verdict;
use crate::log::MOST_VERSIONS;
use crate::scenario::Scenario;

fn steps() -> Scenario {
    scenario(vec![apply(vec![route(&["http"])]), settle(vec![route_subject(&["Accepted=True"])])])
}

/// A target that writes the route so many times, by the name of this manager.
fn flooded(versions: u32, manager: &str) -> Verdict {
    let by = |manager: &str| {
        let part = if manager == "target" { "status" } else { "" };
        json!({"manager": manager, "subresource": part, "time": "2026-01-01T00:00:00Z"})
    };
    let version = |number: u32, manager: &str| {
        let reason = format!("Accepted=False/Reason{number}");
        let mut version = route_version(1, &["http"], &[("http", &[&reason])]);
        version["metadata"]["resourceVersion"] = json!(number.to_string());
        version["metadata"]["managedFields"] = json!([by(manager)]);
        version
    };
    let mut other = version(0, "target");
    other["metadata"]["name"] = json!("other");
    let mut all = vec![(1, modified(&other))];
    all.extend((1..versions).map(|number| (1 + u64::from(number) / 100, modified(&version(number, manager)))));
    let mut play = Play::new(steps()).writes(move |_, _| (admitted(1), all.clone()));
    play.run()
}

#[test]
fn a_target_that_writes_without_end_is_told_so() {
    let verdict = flooded(MOST_VERSIONS, "target");
    assert_eq!(verdict.outcome, Outcome::Failed, "{verdict:#?}");
    let finding = verdict.findings.first().unwrap();
    assert_eq!((finding.expectation.as_str(), finding.severity), ("steps[1].versions", Severity::Failure));
    assert_eq!(finding.expected, "objects of the scenario are written less than 5000 times");
    assert_eq!(finding.seen, "5000 versions within 0.051 s, 4999 of them of HTTPRoute/ns-1/route, written by target");
    assert!(finding.clauses.is_empty());
}

#[rstest]
#[case::one_less(MOST_VERSIONS - 1, "target", Outcome::Failed, "steps[1].settle")]
#[case::somebody_else(MOST_VERSIONS, "somebody", Outcome::Inconclusive, "")]
fn nobody_else_is(#[case] versions: u32, #[case] manager: &str, #[case] outcome: Outcome, #[case] expectation: &str) {
    let verdict = flooded(versions, manager);
    assert_eq!(verdict.outcome, outcome, "{verdict:#?}");
    let first = verdict.findings.first().map(|one| one.expectation.as_str()).unwrap_or_default();
    assert!(first.starts_with(expectation), "{first}");
}
