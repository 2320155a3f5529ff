use std::time::Duration;

use gateproof_report::record::Outcome;
use rstest::rstest;
use serde_json::json;

use super::driver::*;
use crate::judge::Context;
use crate::log::{Cause, Change, Timing, TimingProfile, WriteOutcome};
use crate::scenario::{Bounds, Branch, Ending, Refusal, Scenario, Settle, Step, Verb};

fn refusal(code: u16, reason: &str, field: &str) -> WriteOutcome {
    WriteOutcome::Refused {
        code,
        reason: reason.to_owned(),
        message: "no".to_owned(),
        causes: vec![Cause { reason: "FieldValueInvalid".to_owned(), field: field.to_owned(), message: String::new() }],
    }
}

fn expected(field: Option<&str>) -> Ending {
    let refusal = Refusal { code: 422, reason: "Invalid".to_owned(), field: field.map(str::to_owned) };
    Ending::Refused(refusal, Bounds::default())
}

fn settled() -> Ending {
    Ending::Settle(
        Settle { subjects: vec![route_subject(&["Accepted=False"])], ..Settle::default() },
        Bounds::default(),
    )
}

fn with(either: Vec<Ending>) -> Scenario {
    let mut scenario = scenario(vec![apply(vec![route(&["http"])])]);
    scenario.steps[0].either = either;
    scenario
}

#[rstest]
#[case::as_expected(Some("spec.rules[0].filters"), refusal(422, "Invalid", "spec.rules[0].filters"), Outcome::Passed)]
#[case::deeper(Some("spec.rules[0]"), refusal(422, "Invalid", "spec.rules[0].filters"), Outcome::Passed)]
#[case::any_field(None, refusal(422, "Invalid", "spec"), Outcome::Passed)]
#[case::another_field(Some("spec.rules[1]"), refusal(422, "Invalid", "spec.rules[0].filters"), Outcome::Inconclusive)]
#[case::like_field(Some("spec.rule"), refusal(422, "Invalid", "spec.rules[0].filters"), Outcome::Inconclusive)]
#[case::another_code(None, refusal(403, "Invalid", "spec"), Outcome::Inconclusive)]
#[case::another_reason(None, refusal(422, "Forbidden", "spec"), Outcome::Inconclusive)]
#[case::admitted(None, admitted(1), Outcome::Failed)]
#[case::no_answer(None, WriteOutcome::Failed { error: "broken pipe".to_owned() }, Outcome::Inconclusive)]
fn a_refusal_must_be_the_expected_one(
    #[case] field: Option<&str>,
    #[case] answer: WriteOutcome,
    #[case] outcome: Outcome,
) {
    let mut play = Play::new(with(vec![expected(field)])).writes(move |_, _| (answer.clone(), Vec::new()));
    let verdict = play.run();
    assert_eq!(verdict.outcome, outcome, "{:?}", verdict.reason);
    if outcome == Outcome::Failed {
        assert_eq!(verdict.findings[0].expectation, "steps[0].refused");
        assert_eq!(verdict.findings[0].stage, "admission");
        assert_eq!(verdict.findings[0].clauses, ["CLAUSE-0"]);
    }
}

#[rstest]
#[case::admitted(admitted(1), Outcome::Passed)]
#[case::invalid(refusal(422, "Invalid", "spec.x"), Outcome::Failed)]
#[case::unknown_field(refusal(400, "BadRequest", "spec.x"), Outcome::Failed)]
#[case::no_permission(refusal(403, "Forbidden", ""), Outcome::Inconclusive)]
#[case::owned_by_another(refusal(409, "Conflict", "spec.x"), Outcome::Inconclusive)]
#[case::no_answer(WriteOutcome::Failed { error: "broken pipe".to_owned() }, Outcome::Inconclusive)]
fn what_must_be_admitted_fails_if_its_content_is_refused(#[case] answer: WriteOutcome, #[case] outcome: Outcome) {
    let mut play = Play::new(with(vec![Ending::Admitted])).writes(move |_, _| (answer.clone(), Vec::new()));
    let verdict = play.run();
    assert_eq!(verdict.outcome, outcome, "{:?}", verdict.reason);
    if outcome == Outcome::Failed {
        assert_eq!(verdict.findings[0].expectation, "steps[0].admitted");
        assert_eq!(verdict.findings[0].stage, "admission");
        assert_eq!(verdict.findings[0].clauses, ["CLAUSE-0"]);
        assert!(verdict.findings[0].seen.contains("at spec.x (no)"), "{}", verdict.findings[0].seen);
    }
}

#[test]
fn either_end_is_legal_by_what_happened() {
    let scenario = || with(vec![expected(None), settled()]);
    let refused = Play::new(scenario()).writes(|_, _| (refusal(422, "Invalid", "spec"), Vec::new())).run();
    assert_eq!(refused.outcome, Outcome::Passed);
    let admitted_as = |condition: &'static str| {
        let version = route_version(1, &["http"], &[("http", &[condition])]);
        Play::new(scenario()).writes(move |_, _| (admitted(1), vec![(5, modified(&version))])).run()
    };
    assert_eq!(admitted_as("Accepted=False/UnsupportedValue").outcome, Outcome::Passed);
    let wrong = admitted_as("Accepted=True/Accepted");
    assert_eq!(wrong.outcome, Outcome::Failed);
    assert_eq!(wrong.findings[0].expectation, "steps[0].either[1].settle.HTTPRoute/route.Accepted.status");
}

#[test]
fn of_ends_that_were_not_reached_the_one_that_lacks_the_smallest_part_is_told() {
    let end = |conditions: &[&str]| {
        Ending::Settle(Settle { subjects: vec![route_subject(conditions)], ..Settle::default() }, Bounds::default())
    };
    let large = end(&["Accepted=False", "ResolvedRefs=True", "PartiallyInvalid=False", "Odd=True"]);
    let version = route_version(
        1,
        &["http"],
        &[("http", &["Accepted=True/A", "ResolvedRefs=True/B", "PartiallyInvalid=False/C", "Odd=True/D"])],
    );
    let mut play = Play::new(with(vec![end(&["Accepted=False"]), large]))
        .writes(move |_, _| (admitted(1), vec![(5, modified(&version))]));
    let told: Vec<_> = play.run().findings.into_iter().map(|finding| finding.expectation).collect();

    assert_eq!(told, ["steps[0].either[1].settle.HTTPRoute/route.Accepted.status"]);
}

#[rstest]
#[case::one(&["2026-01-01T00:00:01Z", "2026-01-01T00:00:01Z"], Some(true), Outcome::Passed)]
#[case::two(&["2026-01-01T00:00:01Z", "2026-01-01T00:00:02Z"], Some(true), Outcome::Inconclusive)]
#[case::one_where_two_are_asked_for(&["2026-01-01T00:00:01Z", "2026-01-01T00:00:01Z"], Some(false), Outcome::Inconclusive)]
#[case::two_as_asked_for(&["2026-01-01T00:00:01Z", "2026-01-01T00:00:02Z"], Some(false), Outcome::Passed)]
#[case::of_no_account(&["2026-01-01T00:00:01Z", "2026-01-01T00:00:02Z"], None, Outcome::Passed)]
fn an_end_may_be_for_objects_of_one_age(
    #[case] ages: &[&str],
    #[case] same_age: Option<bool>,
    #[case] outcome: Outcome,
) {
    let mut versions = [route_version(1, &["http"], &[("http", &["Accepted=False/A"])]), pool_gateway()];
    for (version, age) in versions.iter_mut().zip(ages) {
        version["metadata"]["creationTimestamp"] = (*age).into();
    }
    let subjects = vec![route_subject(&["Accepted=False"]), subject(gateway_ref(), &[])];
    let end = Ending::Settle(Settle { subjects, same_age, ..Settle::default() }, Bounds::default());
    let [route, gateway] = versions;
    let mut play = Play::new(with(vec![end]))
        .writes(move |_, _| (admitted(1), vec![(5, modified(&gateway)), (5, modified(&route))]));
    assert_eq!(play.run().outcome, outcome);
}

#[test]
fn an_end_out_of_bounds_is_no_end() {
    let mut late = expected(None);
    if let Ending::Refused(_, bounds) = &mut late {
        bounds.since = Some("1.9".parse().unwrap());
    }
    let verdict =
        Play::new(with(vec![late, settled()])).writes(|_, _| (refusal(422, "Invalid", "spec"), Vec::new())).run();
    assert_eq!(verdict.outcome, Outcome::Inconclusive);
    assert!(verdict.reason.unwrap().contains("expected was admission"));
}

#[test]
fn an_unexpected_refusal_is_not_blamed_on_the_controller() {
    let mut play = Play::new(with(Vec::new())).writes(|_, _| (refusal(422, "Invalid", "spec.x"), Vec::new()));
    let verdict = play.run();
    assert_eq!(verdict.outcome, Outcome::Inconclusive);
    let reason = verdict.reason.unwrap();
    assert!(
        reason.contains("not the controller under test") && reason.contains("422 Invalid at spec.x (no)"),
        "{reason}"
    );
}

#[rstest]
#[case::gone(Some(20), &[], Outcome::Passed)]
#[case::held(None, &["example.test/hold"], Outcome::Failed)]
#[case::held_by_kubernetes(None, &["customresourcecleanup.apiextensions.k8s.io"], Outcome::Inconclusive)]
#[case::held_by_both(None, &["foregroundDeletion", "example.test/hold"], Outcome::Failed)]
#[case::unseen(None, &[], Outcome::Inconclusive)]
fn deletions_are_awaited(#[case] gone_after: Option<u64>, #[case] finalizers: &[&str], #[case] outcome: Outcome) {
    let mut version = route_version(1, &["http"], &[("http", GOOD)]);
    version["metadata"]["finalizers"] = finalizers.iter().copied().collect();
    let steps = vec![
        apply(vec![route(&["http"])]),
        settle(vec![route_subject(&["Accepted=True"])]),
        delete(vec![object("HTTPRoute", "route")]),
    ];
    let mut play = Play::new(scenario(steps)).writes(move |step, _| match (step, gone_after) {
        (0, _) => (admitted(1), vec![(5, modified(&version))]),
        (_, Some(after)) => (admitted(0), vec![(after, seen(Change::Deleted, &version))]),
        _ => (admitted(0), Vec::new()),
    });
    let verdict = play.run();
    assert_eq!(verdict.outcome, outcome, "{:?}", verdict.reason);
    assert_eq!(verdict.findings.first().map(|f| f.stage.as_str()), (outcome == Outcome::Failed).then_some("deletion"));
}

/// Who holds a Gateway takes down what stands for it, as on a cloud; nothing stands for a route.
#[rstest]
#[case::gateway("Gateway", 60, 180, Outcome::Passed)]
#[case::gateway_for_ever("Gateway", 600, 180, Outcome::Failed)]
#[case::gateway_in_old_logs("Gateway", 60, 0, Outcome::Failed)]
#[case::route("HTTPRoute", 60, 180, Outcome::Failed)]
fn what_stands_for_an_object_has_time_to_go(
    #[case] kind: &str,
    #[case] seconds: u64,
    #[case] budget: u64,
    #[case] outcome: Outcome,
) {
    let mut version = route_version(1, &["http"], &[("http", GOOD)]);
    version["metadata"]["finalizers"] = json!(["example.test/hold"]);
    version["kind"] = json!(kind);
    let steps = vec![
        apply(vec![route(&["http"])]),
        settle(vec![route_subject(&["Accepted=True"])]),
        delete(vec![object(kind, "route")]),
    ];
    let version_of_route = route_version(1, &["http"], &[("http", GOOD)]);
    let timing = Timing { entry_gone: Duration::from_secs(budget), ..Timing::of(TimingProfile::Real) };
    let context = Context { timing, ..context() };
    let mut play = Play::under(scenario(steps), context).writes(move |step, _| match step {
        0 => (admitted(1), vec![(5, modified(&version_of_route)), (6, modified(&version))]),
        _ => (admitted(0), vec![(seconds * 1000, seen(Change::Deleted, &version))]),
    });
    let verdict = play.run();
    assert_eq!(verdict.outcome, outcome, "{:?} {:?}", verdict.reason, verdict.findings);
}

/// What holds it may be what is asked about.
#[test]
fn a_deletion_need_not_be_awaited() {
    let mut version = route_version(1, &["http"], &[("http", GOOD)]);
    version["metadata"]["finalizers"] = ["example.test/hold"].into_iter().collect();
    let mut deletion = delete(vec![object("HTTPRoute", "route")]);
    if let Verb::Delete(delete) = &mut deletion {
        delete.awaited = false;
    }
    let state = || settle(vec![route_subject(&["Accepted=True"])]);
    let steps = vec![apply(vec![route(&["http"])]), state(), deletion, state()];
    let mut play = Play::new(scenario(steps)).writes(move |step, _| match step {
        0 => (admitted(1), vec![(5, modified(&version))]),
        _ => (admitted(0), Vec::new()),
    });
    let verdict = play.run();
    assert_eq!(verdict.outcome, Outcome::Passed, "{:?}", verdict.reason);
}

/// What is gone by then was not held, and that was the target.
#[test]
fn what_is_let_go_too_early_fails() {
    let version = route_version(1, &["http"], &[("http", GOOD)]);
    let mut deletion = delete(vec![object("HTTPRoute", "route")]);
    if let Verb::Delete(delete) = &mut deletion {
        delete.awaited = false;
    }
    let state = || settle(vec![route_subject(&["Accepted=True"])]);
    let steps = vec![apply(vec![route(&["http"])]), state(), deletion, state()];
    let mut play = Play::new(scenario(steps)).writes(move |step, _| match step {
        0 => (admitted(1), vec![(5, modified(&version))]),
        _ => (admitted(0), vec![(20, seen(Change::Deleted, &version))]),
    });
    let verdict = play.run();
    assert_eq!(verdict.outcome, Outcome::Failed, "{:?}", verdict.reason);
}

#[test]
fn nothing_checked_is_nothing_proven() {
    let verdict = Play::new(with(Vec::new())).run();
    assert_eq!(verdict.outcome, Outcome::Inconclusive);
    assert_eq!(verdict.reason.as_deref(), Some("no expectation was checked"));
}

/// What is done after one end of a write is done after no other; what stands behind them is done after each.
#[rstest]
#[case::refused(refusal(422, "Invalid", "spec"), &[1, 3])]
#[case::admitted(admitted(1), &[2, 3])]
fn steps_follow_the_end_that_a_write_came_to(#[case] outcome: WriteOutcome, #[case] probed: &[usize]) {
    let mut scenario = with(vec![expected(None), settled()]);
    scenario.steps.truncate(1);
    for (index, ending) in [(1, Some(0)), (2, Some(1)), (3, None)] {
        let within = ending.map(|ending| Branch { step: 0, ending });
        scenario.steps.push(Step { within, ..step(index, asks(get(backend("echo")))) });
    }
    let version = route_version(1, &["http"], &[("http", &["Accepted=False/UnsupportedValue"])]);
    let mut play = Play::new(scenario)
        .writes(move |_, _| (outcome.clone(), vec![(5, modified(&version))]))
        .probes(|_, _, _| Back::Echo("echo-pod"));
    let verdict = play.run();
    assert_eq!(verdict.outcome, Outcome::Passed, "{:?} {:?}", verdict.reason, verdict.findings);
    assert_eq!(verdict.probes.iter().map(|probe| probe.step).collect::<Vec<_>>(), probed);
}
