//! Runs beside each other: what is news, what is slower, and what a gate makes of it.
#![allow(clippy::unwrap_used)]

mod support;

use gateproof_report::diff::{Change, Diff, Gate, Rule, Side, diff, render};
use gateproof_report::record::{Breach, ContractRecord, Finding, Outcome, RunRecord, ScenarioRecord, Severity, Stage};
use rstest::rstest;
use support::record;

fn scenario(name: &str, outcome: Outcome) -> ScenarioRecord {
    support::scenario(name, &["Gateway"], outcome)
}

/// A run of one scenario `a`, executed once for each letter: passed, failed, known to fail, inconclusive.
fn executed(outcomes: &str) -> RunRecord {
    let outcome = |letter| match letter {
        'p' => Outcome::Passed,
        'f' => Outcome::Failed,
        'k' => Outcome::KnownFailure,
        _ => Outcome::Inconclusive,
    };
    let name = |number: usize| if number == 0 { "a".to_owned() } else { format!("a#{}", number + 1) };
    record(outcomes.chars().enumerate().map(|(number, letter)| scenario(&name(number), outcome(letter))).collect())
}

fn between(before: &[RunRecord], here: &[RunRecord], rules: &[Rule]) -> Diff {
    diff(&Side::of(before).unwrap(), &Side::of(here).unwrap(), &Gate(rules.to_vec()))
}

#[rstest]
#[case::passes("p", "p", None)]
#[case::never_tested("i", "i", None)]
#[case::broke("p", "f", Some(Change::NewlyFailing))]
#[case::came_and_fails("", "f", Some(Change::NewlyFailing))]
#[case::broke_in_one_of_two("p", "pf", Some(Change::NewlyFlaky))]
#[case::failed_and_now_in_one_of_two("f", "pf", Some(Change::NewlyFlaky))]
#[case::was_flaky("pf", "p", Some(Change::WasFlaky))]
#[case::was_flaky_and_fails("pf", "f", Some(Change::WasFlaky))]
#[case::still("f", "f", Some(Change::StillFailing))]
#[case::no_longer_known("k", "f", Some(Change::StillFailing))]
#[case::mended("f", "p", Some(Change::NewlyPassing))]
#[case::lost("p", "i", Some(Change::NoLongerTested))]
#[case::left_out("p", "", Some(Change::NoLongerTested))]
#[case::came("", "p", Some(Change::NewlyTested))]
#[case::a_repeat_without_verdict_says_nothing("pp", "pi", None)]
fn how_a_scenario_changed(#[case] before: &str, #[case] here: &str, #[case] expected: Option<Change>) {
    let found = between(&[executed(before)], &[executed(here)], &[]);
    assert_eq!(found.scenarios.iter().map(|one| one.change).next(), expected);
    assert!(found.passes());
}

#[test]
fn executions_that_are_not_listed_count() {
    let mut before = executed("pp");
    before.scenarios[1].alike = 190;
    let found = between(&[before], &[executed("f")], &[]);
    assert_eq!(found.scenarios[0].executions, [192, 1]);
}

/// As for one run that repeats it.
#[test]
fn several_runs_know_what_is_flaky() {
    let before = [executed("p"), executed("f"), executed("p")];
    let found = between(&before, &[executed("f")], &[]);
    assert_eq!((found.scenarios[0].change, found.scenarios[0].executions), (Change::WasFlaky, [3, 1]));
    assert_eq!(found.runs, [3, 1]);
}

#[rstest]
#[case::new_failure("p", "f", "new-failures", false)]
#[case::known_failure("p", "k", "new-failures", true)]
#[case::known_and_another("p", "kf", "new-failures", false)]
#[case::old_failure("f", "f", "new-failures", true)]
#[case::flake_is_none("p", "pf", "new-failures", true)]
#[case::new_flake("p", "pf", "new-flakes", false)]
#[case::old_flake("pf", "pf", "new-flakes", true)]
#[case::lost("p", "i", "fewer-scenarios", false)]
#[case::all_there("p", "f", "fewer-scenarios", true)]
#[case::old_failure_counts("f", "f", "failures", false)]
#[case::flake_counts("p", "pf", "failures", false)]
#[case::known_does_not("k", "k", "failures", true)]
#[case::enough("p", "p", "at-least=1", true)]
#[case::too_few("p", "p", "at-least=2", false)]
#[case::without_a_verdict("p", "i", "at-least=1", false)]
fn what_a_rule_says(#[case] before: &str, #[case] here: &str, #[case] rule: &str, #[case] holds: bool) {
    let rule: Rule = rule.parse().unwrap();
    let found = between(&[executed(before)], &[executed(here)], &[rule]);
    assert_eq!((found.gate[0].held, found.passes()), (holds, holds), "{:?}", found.gate);
    assert_eq!(found.gate[0].rule, rule.name());
}

#[test]
fn features_that_are_dropped_break_their_rule() {
    let mut here = executed("p");
    here.target.features.retain(|feature| feature != "ReferenceGrant");
    here.target.features.push("UDPRoute".to_owned());
    let found = between(&[executed("p")], &[here], &[Rule::DroppedFeatures]);
    assert_eq!((&*found.features_claimed[0], &*found.features_dropped[0]), ("UDPRoute", "ReferenceGrant"));
    assert_eq!((found.features_claimed.len(), found.features_dropped.len(), found.passes()), (1, 1, false));
    assert!(between(&[executed("p")], &[executed("p")], &[Rule::DroppedFeatures]).passes());
}

#[rstest]
#[case("new-failure", "there is no rule `new-failure`; there are new-failures, new-flakes")]
#[case("at-least=", "there is no rule `at-least=`")]
#[case("at-least=-1", "there is no rule `at-least=-1`")]
#[case("", "there is no rule ``")]
fn unknown_rules_are_told(#[case] text: &str, #[case] problem: &str) {
    let told = text.parse::<Rule>().unwrap_err();
    assert!(told.starts_with(problem), "{told}");
}

#[test]
fn every_rule_is_typed_as_it_is_listed() {
    for (name, _) in Rule::all() {
        let typed = name.replace("=N", "=7");
        assert_eq!(typed.parse::<Rule>().unwrap().name(), typed);
    }
}

fn broken_rule(severity: Severity, breached: bool) -> ContractRecord {
    let breach = Breach {
        scenario: "a".to_owned(),
        object: "HTTPRoute/ns/route".to_owned(),
        path: "status.parents[0]".to_owned(),
        seen: "an old generation".to_owned(),
        seq: 7,
    };
    ContractRecord {
        name: "contract/HTTPRoute/observed-generation-current".to_owned(),
        clauses: vec!["GEP1364-04".to_owned()],
        severity,
        objects: 3,
        known: None,
        breaches: if breached { vec![breach] } else { vec![] },
    }
}

#[rstest]
#[case::broke(Severity::Failure, Some(false), Some(true), Some(Change::NewlyFailing))]
#[case::held_and_holds(Severity::Failure, Some(false), Some(false), None)]
#[case::was_not_asked_and_is_broken(Severity::Failure, None, Some(true), Some(Change::NewlyFailing))]
#[case::was_not_asked_and_holds(Severity::Failure, None, Some(false), None)]
#[case::still(Severity::Failure, Some(true), Some(true), Some(Change::StillFailing))]
#[case::mended(Severity::Failure, Some(true), Some(false), Some(Change::NewlyPassing))]
#[case::no_longer_asked(Severity::Failure, Some(false), None, Some(Change::NoLongerTested))]
#[case::a_should(Severity::Warning, Some(false), Some(true), None)]
fn how_a_rule_of_the_contract_changed(
    #[case] severity: Severity,
    #[case] before: Option<bool>,
    #[case] here: Option<bool>,
    #[case] expected: Option<Change>,
) {
    let run = |breached: Option<bool>| {
        let mut run = executed("p");
        run.contract = breached.map(|breached| broken_rule(severity, breached)).into_iter().collect();
        run
    };
    let found = between(&[run(before)], &[run(here)], &[Rule::NewFailures]);
    assert_eq!(found.contract.first().map(|one| one.change), expected);
    assert_eq!(found.passes(), expected != Some(Change::NewlyFailing));
}

/// A run of scenarios `s0`, `s1` … whose Gateways took so long, each as often as there are times.
fn timed(all: &[&[u64]]) -> RunRecord {
    let mut scenarios = Vec::new();
    for (index, times) in all.iter().enumerate() {
        for (number, time) in times.iter().enumerate() {
            let name = if number == 0 { format!("s{index}") } else { format!("s{index}#{}", number + 1) };
            let mut one = scenario(&name, Outcome::Passed);
            one.stages = vec![Stage {
                step: 1,
                stage: "programmed".into(),
                reached_ms: *time,
                settled_ms: *time,
                limit_ms: 9000,
                waited_ms: 0,
            }];
            scenarios.push(one);
        }
    }
    record(scenarios)
}

#[rstest]
#[case::twice_as_long_everywhere(100, 20, 200, true)]
#[case::as_few_as_can_say(100, 12, 200, true)]
#[case::too_few_to_say(100, 5, 200, false)]
#[case::too_small_a_part(400, 20, 440, false)]
#[case::too_little_to_mind(100, 20, 110, false)]
#[case::too_short_to_mind(4, 20, 8, false)]
#[case::faster(200, 20, 100, false)]
fn a_run_is_slower_where_most_of_it_is(
    #[case] before: u64,
    #[case] scenarios: usize,
    #[case] here: u64,
    #[case] is_slower: bool,
) {
    let run = |time: u64| timed(&vec![&[time][..]; scenarios]);
    let found = between(&[run(before)], &[run(here)], &[Rule::Slower]);
    assert_eq!((!found.slower.is_empty(), found.passes()), (is_slower, !is_slower), "{:?}", found.slower);
    assert!(found.slower.iter().all(|one| one.step.is_none() && one.compared == scenarios));
}

#[rstest]
#[case::clearly(&[100, 101, 102, 103, 104, 105, 106, 107], &[200, 201, 202, 203, 204, 205, 206, 207], true)]
#[case::as_before(&[100, 201, 102, 203, 104, 205, 106, 207], &[200, 101, 202, 103, 204, 105, 206, 107], false)]
#[case::too_few(&[100, 101, 102, 103], &[200, 201, 202, 203], false)]
fn one_scenario_is_slower_where_it_ran_often(#[case] before: &[u64], #[case] here: &[u64], #[case] is_slower: bool) {
    let found = between(&[timed(&[before])], &[timed(&[here])], &[]);
    let steps: Vec<_> = found.slower.iter().filter_map(|one| one.step.clone()).collect();
    assert_eq!(steps, if is_slower { vec![("s0".to_owned(), 1)] } else { vec![] }, "{:?}", found.slower);
}

fn missed(expectation: &str, severity: Severity, consequence: bool) -> Finding {
    Finding {
        expectation: expectation.to_owned(),
        severity,
        clauses: vec!["GEP1364-41".to_owned()],
        line: 12,
        stage: "converged".to_owned(),
        expected: "status 500".to_owned(),
        seen: "200 from \u{1b}[2K".to_owned(),
        late: false,
        consequence,
        at_ms: 40,
    }
}

#[test]
fn what_failed_before_is_not_told_again() {
    let failing = |misses: &[Finding]| {
        let mut one = scenario("a", Outcome::Failed);
        one.findings = misses.to_vec();
        record(vec![one])
    };
    let first = missed("steps[1].probe", Severity::Failure, false);
    let second = missed("steps[2].probe", Severity::Failure, false);
    let follows = missed("steps[3].probe", Severity::Failure, true);
    let should = missed("steps[4].probe", Severity::Warning, false);
    let found =
        between(&[failing(std::slice::from_ref(&first))], &[failing(&[first, second.clone(), follows, should])], &[]);
    assert_eq!((found.scenarios[0].change, &found.scenarios[0].findings[..]), (Change::StillFailing, &[second][..]));
}

#[test]
fn the_whole_as_it_is_read() {
    let mut broken = scenario("a-broken", Outcome::Failed);
    broken.findings = vec![missed("steps[1].probe", Severity::Failure, false)];
    let mut away = scenario("b-away", Outcome::Inconclusive);
    away.reason = Some("no route to the address".to_owned());
    let mut here = record(vec![
        broken,
        away,
        scenario("c-flaky", Outcome::Passed),
        scenario("c-flaky#2", Outcome::Failed),
        scenario("d-known", Outcome::KnownFailure),
        scenario("e-mended", Outcome::Passed),
        scenario("f-new", Outcome::Passed),
    ]);
    here.contract = vec![broken_rule(Severity::Failure, true)];
    here.target.gateway_api_version = Some("v1.7.0".to_owned());
    here.target.features.push("UDPRoute".to_owned());
    let before = record(vec![
        scenario("a-broken", Outcome::Passed),
        scenario("b-away", Outcome::Passed),
        scenario("c-flaky", Outcome::Passed),
        scenario("d-known", Outcome::Failed),
        scenario("e-mended", Outcome::Failed),
        scenario("g-gone", Outcome::Passed),
    ]);
    let rules = [Rule::NewFailures, Rule::FewerScenarios, Rule::AtLeast(3)];
    insta::assert_snapshot!(render(&between(&[before], &[here], &rules)));
}

/// A selection that is another leaves hundreds out for one reason, which is no news.
#[test]
fn a_reason_that_many_have_is_said_once() {
    let passed = |names: &[&str]| record(names.iter().map(|name| scenario(name, Outcome::Passed)).collect());
    let mut here = passed(&["z"]);
    let mut skipped = scenario("c", Outcome::Skipped);
    skipped.reason = Some("left out by --skip".to_owned());
    here.scenarios.push(skipped);
    let found = render(&between(&[passed(&["a", "b", "c", "d", "e", "z"])], &[here], &[]));
    let lines =
        "no longer tested (5)\n  a, b\n      it was not selected\n  c\n      skipped: left out by --skip\n  d, e\n";
    assert!(found.contains(lines), "{found}");
    let names: Vec<String> = (0..60).map(|number| format!("n{number:02}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let found = render(&between(&[passed(&names)], &[passed(&["z"])], &[]));
    assert!(
        found.contains(", n08, n09\n  n10, n11, ") && found.contains(", n59\n      it was not selected\n"),
        "{found}"
    );
    assert_eq!(found.matches("it was not selected").count(), 1);
}

/// A reader is told of scenarios and of rules apart: together they would be more than were tested.
#[rstest]
#[case::as_it_was("pp", "pp", [None, None], "1 scenario tested: all passing as before. 1 was tested before; none of them is missing.")]
#[case::rules_gone("p", "p", [Some(false), None], "1 scenario tested: all passing as before. 1 was tested before; none of them is missing. Rules of the status contract: 1 no longer checked, for want of objects to check.")]
#[case::all_gone("p", "", [Some(true), None], "No scenario tested. 1 was tested before; 1 of them is no longer tested. Rules of the status contract: 1 no longer checked, for want of objects to check.")]
#[case::first_of_all("", "f", [None, Some(true)], "1 scenario tested: 1 newly failing. None was tested before. Rules of the status contract: 1 newly failing.")]
fn what_a_comparison_comes_to(
    #[case] before: &str,
    #[case] here: &str,
    #[case] breached: [Option<bool>; 2],
    #[case] expected: &str,
) {
    let runs = [(before, breached[0]), (here, breached[1])].map(|(outcomes, breached)| {
        let mut run = executed(outcomes);
        run.contract = breached.map(|breached| broken_rule(Severity::Failure, breached)).into_iter().collect();
        run
    });
    assert_eq!(between(&runs[..1], &runs[1..], &[]).summary.join(" "), expected);
}

/// Every scenario that is tested now or was before is counted once on its side.
#[test]
fn the_numbers_of_a_comparison_add_up() {
    let of = |outcomes: &[(&str, Outcome)]| {
        record(outcomes.iter().map(|(name, outcome)| scenario(name, *outcome)).collect())
    };
    use Outcome::{Failed, Passed};
    let before = of(&[("a", Passed), ("b", Passed), ("c", Passed), ("d", Failed), ("e", Passed)]);
    let here = of(&[("a", Passed), ("b", Failed), ("d", Failed), ("f", Passed), ("g", Failed)]);
    let found = between(&[before], &[here], &[]);
    assert_eq!(
        found.summary,
        [
            "5 scenarios tested: 2 newly failing, 1 still failing, 1 newly tested, 1 passing as before.",
            "5 were tested before; 2 of them are no longer tested."
        ]
    );
}
