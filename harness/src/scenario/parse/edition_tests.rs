#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use gateproof_suites::Requirement;

use crate::dialects::{Dialect, Edition};
use crate::scenario::{Verb, Vocabulary, parse};

const DIALECT: &str = "\
apiVersion: gateproof.dev/v1alpha1
kind: Dialect
metadata: {name: lamps}
spec:
  title: Lamps
  groups: [examples.gateproof.dev]
  kinds: [{kind: Lamp, plural: lamps}]
  conditions: [Ready]
  editions: [shipped, drawn]
";

const REQUIREMENTS: &str = "\
- {id: LAMP-1, level: must, tests: [S], text: One., source: \"https://example.com\"}
- {id: LAMP-2, level: must, tests: [S], text: Two., source: \"https://example.com\", editions: [drawn]}
";

const STEPS: &str = "\
apiVersion: gateproof.dev/v1alpha1
kind: Scenario
metadata: {name: sample}
spec:
  summary: A sentence.
  features: []
  steps:
    - apply: [{apiVersion: examples.gateproof.dev/v1, kind: Lamp, metadata: {name: lamp}}]
      proves: [LAMP-2]
    - settle: {Lamp/lamp: {Ready: \"True\"}}
      proves: [LAMP-2]
      editions: [drawn]
    - settle: {Lamp/lamp: {Ready: \"True\"}}
      proves: [LAMP-1]
    - settle: {Lamp/lamp: {Ready: \"True\"}}
      editions: [shipped]
";

fn vocabulary(edition: &str) -> Vocabulary {
    let requirements: Vec<Requirement> = serde_yaml::from_str(REQUIREMENTS).unwrap();
    let clauses = requirements.iter().map(|one| one.id.clone()).collect();
    let dialect = Arc::new(Dialect::parse(DIALECT).unwrap());
    Vocabulary { edition: Edition::of(edition, &requirements), ..Vocabulary::of(dialect, Default::default(), clauses) }
}

fn bound(edition: &str) -> Vec<bool> {
    let scenario = parse("a.yaml", STEPS, &vocabulary(edition)).unwrap().remove(0);
    scenario.steps.iter().map(|step| step.bounds.admits(Default::default())).collect()
}

/// What says so goes with its word, and what is done is done, for the clauses that hold.
#[test]
fn a_step_is_done_in_its_editions() {
    assert_eq!(bound("shipped"), [true, false, true, true]);
    assert_eq!(bound("drawn"), [true, true, true, false]);
}

#[test]
fn a_scenario_holds_where_all_that_it_looks_for_does() {
    let text = STEPS.replacen("      editions: [drawn]\n", "", 1);
    assert_eq!(parse("a.yaml", &text, &vocabulary("drawn")).unwrap().len(), 1);
    assert_eq!(parse("a.yaml", &text, &vocabulary("shipped")).unwrap().len(), 0);
    let written = parse("a.yaml", STEPS, &vocabulary("shipped")).unwrap().remove(0).steps.remove(0);
    assert!(written.proves.is_empty());
}

/// It says where it holds, so a clause of another edition takes away no more than what is looked for by that alone.
#[test]
fn a_scenario_that_names_its_editions_holds_there() {
    let steps = STEPS.replacen("      editions: [drawn]\n", "", 1);
    let named = steps.replacen("  features: []", "  features: []\n  editions: [shipped, drawn]", 1);
    let of = |edition: &str, text: &str| parse("a.yaml", text, &vocabulary(edition)).unwrap().remove(0);
    let bound = |edition: &str| -> Vec<bool> {
        of(edition, &named).steps.iter().map(|step| step.bounds.admits(Default::default())).collect()
    };
    assert_eq!(bound("shipped"), [true, false, true, true]);
    assert_eq!(bound("drawn"), [true, true, true, false]);
    let both = named.replacen("proves: [LAMP-1]", "proves: [LAMP-1, LAMP-2]", 1);
    assert_eq!(of("shipped", &both).steps[2].proves, ["LAMP-1".into()]);
    assert_eq!(of("drawn", &both).steps[2].proves, ["LAMP-1".into(), "LAMP-2".into()]);
}

#[test]
fn an_edition_that_asks_nothing_of_a_scenario_is_a_problem() {
    let named = STEPS.replacen("  features: []", "  features: []\n  editions: [shipped, drawn]", 1);
    let text = named.replacen("proves: [LAMP-1]", "proves: [LAMP-2]", 1);
    assert_eq!(parse("a.yaml", &text, &vocabulary("drawn")).unwrap().len(), 1);
    let problems = parse("a.yaml", &text, &vocabulary("shipped")).unwrap_err();
    let told = problems.iter().map(ToString::to_string).collect::<String>();
    assert!(told.contains("nothing of this is asked in the edition `shipped`"), "{told}");
}

/// So does a condition.
#[test]
fn a_condition_is_asked_in_its_editions() {
    let long = "{status: \"True\", editions: [drawn], proves: [LAMP-1, LAMP-2]}";
    let text = STEPS.replacen(
        "{Ready: \"True\"}}\n      proves: [LAMP-1]",
        &format!("{{Ready: {long}}}}}\n      proves: [LAMP-1]"),
        1,
    );
    let condition = |edition: &str| {
        let scenario = parse("a.yaml", &text, &vocabulary(edition)).unwrap().remove(0);
        let Verb::Settle(settle) = &scenario.steps[2].verb else { panic!("no settle") };
        let condition = &settle.subjects[0].conditions["Ready"];
        (condition.bounds.admits(Default::default()), condition.proves.len())
    };
    assert_eq!(condition("shipped"), (false, 1));
    assert_eq!(condition("drawn"), (true, 2));
}

#[test]
fn a_scenario_of_another_edition_is_not_there() {
    let text = STEPS.replacen("  features: []", "  features: []\n  editions: [drawn]", 1);
    assert_eq!(parse("a.yaml", &text, &vocabulary("drawn")).unwrap().len(), 1);
    assert_eq!(parse("a.yaml", &text, &vocabulary("shipped")).unwrap().len(), 0);
}

#[test]
fn an_unknown_edition_is_a_problem() {
    let text = STEPS.replacen("editions: [shipped]", "editions: [shiped]", 1);
    let problems = parse("a.yaml", &text, &vocabulary("shipped")).unwrap_err();
    let told = problems.iter().map(ToString::to_string).collect::<String>();
    assert!(told.contains("unknown edition `shiped`"), "{told}");
}
