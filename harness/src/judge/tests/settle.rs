use std::time::Duration;

use gateproof_report::record::{Outcome, Severity};
use indexmap::IndexMap;
use rstest::rstest;
use serde_json::{Value, json};

use super::driver::*;
use crate::judge::Context;
use crate::log::{Body, Timing, TimingProfile};
use crate::scenario::{
    ConditionExpectation, FieldExpectation, FieldTest, Level, ListenerExpectation, MessageExpectation,
    ParentExpectation, Parents, Settle, Verb,
};

pub(super) fn routed(versions: Vec<(u64, Value)>, conditions: &[&str]) -> Play {
    routed_as(versions, route_subject(conditions))
}

fn routed_as(versions: Vec<(u64, Value)>, subject: crate::scenario::SubjectExpectation) -> Play {
    Play::new(scenario(vec![apply(vec![route(&["http"])]), settle(vec![subject])])).writes(move |_, _| {
        (admitted(1), versions.iter().map(|(delay, version)| (*delay, modified(version))).collect())
    })
}

#[test]
fn passes_once_the_asked_state_stood_still_for_the_quiet_window() {
    let good = route_version(1, &["http"], &[("http", GOOD)]);
    let verdict = routed(vec![(40, good)], &["Accepted=True/Accepted", "ResolvedRefs=True/ResolvedRefs"]).run();
    assert_eq!(verdict.outcome, Outcome::Passed, "{verdict:?}");
    let stages: Vec<_> =
        verdict.stages.iter().map(|s| (&*s.stage, s.reached_ms, s.settled_ms, s.limit_ms, s.waited_ms)).collect();
    assert_eq!(stages, [("observed", 40, 190, 5000, 150), ("programmed", 40, 190, 5000, 150)]);
    assert_eq!(verdict.slowest_settle, Duration::from_millis(40));
}

/// What is asked next may be about the moment at which the state is said.
#[rstest]
// It was seen to go, so it has to stand still for longer.
#[case::still(false, 1340)]
#[case::at_once(true, 40)]
fn what_need_not_stand_still_settles_when_it_is_first_seen(#[case] at_once: bool, #[case] settled: u64) {
    let asked = route_subject(&["Accepted=True/Accepted"]);
    let first = route_version(1, &["http"], &[("http", GOOD)]);
    let gone = route_version(1, &["http"], &[("http", &["Accepted=False/NotAllowedByListeners"])]);
    let versions = [(40, first.clone()), (100, gone), (140, first)];
    let settle = Verb::Settle(Settle { subjects: vec![asked], at_once, ..Settle::default() });
    let mut play = Play::new(scenario(vec![apply(vec![route(&["http"])]), settle])).writes(move |_, _| {
        (admitted(1), versions.iter().map(|(delay, version)| (*delay, modified(version))).collect())
    });
    let verdict = play.run();
    assert_eq!(verdict.outcome, Outcome::Passed, "{verdict:?}");
    assert_eq!(verdict.stages[1].settled_ms, settled);
}

#[test]
fn a_change_of_what_is_asked_starts_the_quiet_window_again_and_another_does_not() {
    let first =
        route_version(1, &["http"], &[("http", &["Accepted=True/Accepted", "ResolvedRefs=False/BackendNotFound"])]);
    let second = route_version(1, &["http"], &[("http", GOOD)]);
    let asked = |conditions: &[&str]| {
        let verdict = routed(vec![(40, first.clone()), (140, second.clone())], conditions).run();
        assert_eq!(verdict.outcome, Outcome::Passed);
        verdict.stages[1].settled_ms
    };
    assert_eq!(asked(&["Accepted=True", "ResolvedRefs=True"]), 290);
    assert_eq!(asked(&["Accepted=True"]), 190);
}

#[rstest]
#[case::wrong_status(&["Accepted=False/NoMatchingParent"], "Accepted.status", "programmed")]
#[case::wrong_reason(&["Accepted=True/ListenersNotValid"], "Accepted.reason", "programmed")]
#[case::stale(&["Accepted=True/Accepted@0"], "Accepted.observedGeneration", "observed")]
#[case::ahead(&["Accepted=True/Accepted@7"], "Accepted.observedGeneration", "observed")]
#[case::missing(&["ResolvedRefs=True/ResolvedRefs"], "Accepted.status", "programmed")]
fn names_what_is_wrong(#[case] conditions: &[&str], #[case] part: &str, #[case] stage: &str) {
    let version = route_version(1, &["http"], &[("http", conditions)]);
    let verdict = routed(vec![(10, version)], &["Accepted=True/Accepted"]).run();
    assert_eq!(verdict.outcome, Outcome::Failed);
    let finding = &verdict.findings[0];
    assert_eq!(finding.expectation, format!("steps[1].settle.HTTPRoute/route.{part}"));
    assert_eq!(finding.stage, stage);
    assert_eq!(finding.line, 5);
    assert!(finding.clauses.contains(&"CLAUSE-1".to_owned()));
    assert_eq!(finding.clauses.contains(&"GEP1364-08".to_owned()), stage == "observed");
    assert!(finding.expected.contains("HTTPRoute/route for Gateway pool/gw-http section http"), "{}", finding.expected);
    assert!(!finding.consequence);
}

#[rstest]
#[case::missing(&["a", "b"], vec![("a", GOOD)], ".parents")]
#[case::surplus(&["a"], vec![("a", GOOD), ("gone", GOOD)], ".parents")]
#[case::twice(&["a"], vec![("a", GOOD), ("a", GOOD)], ".parents")]
#[case::one_wrong(&["a", "b"], vec![("a", GOOD), ("b", &["Accepted=False/NoMatchingParent"])], ".Accepted.status")]
fn every_parent_ref_has_its_own_entry(
    #[case] sections: &[&str],
    #[case] entries: Vec<(&str, &[&str])>,
    #[case] part: &str,
) {
    let version = route_version(1, sections, &entries);
    let verdict = routed(vec![(10, version)], &["Accepted=True"]).run();
    assert_eq!(verdict.outcome, Outcome::Failed);
    assert_eq!(verdict.findings[0].expectation, format!("steps[1].settle.HTTPRoute/route{part}"));
}

/// Whatever its status says: nothing of it would be looked at.
#[test]
fn conditions_of_a_route_without_parents_are_not_met_by_nothing() {
    let version = route_version(1, &[], &[]);
    let verdict = routed(vec![(10, version)], &["Accepted=True"]).run();
    assert_eq!(verdict.outcome, Outcome::Failed);
    let finding = &verdict.findings[0];
    assert_eq!(finding.expectation, "steps[1].settle.HTTPRoute/route.parents");
    assert!(finding.seen.contains("spec.parentRefs names none"), "{}", finding.seen);
}

/// That it goes is a SHOULD.
#[test]
fn an_entry_left_over_from_an_earlier_spec_is_a_warning() {
    let left: &[&str] = &["Accepted=True/Accepted@1", "ResolvedRefs=True/ResolvedRefs@1"];
    let with = |entry: &[&str]| {
        let version = route_version(2, &["a"], &[("a", GOOD), ("gone", entry)]);
        let verdict = routed(vec![(10, version)], &["Accepted=True"]).run();
        (verdict.outcome, verdict.findings.iter().map(|f| (f.expectation.clone(), f.severity)).collect::<Vec<_>>())
    };
    let expectation = "steps[1].settle.HTTPRoute/route.parents".to_owned();
    assert_eq!(with(left), (Outcome::Passed, vec![(expectation.clone(), Severity::Warning)]));
    assert_eq!(with(&["Accepted=True/Accepted@2"]), (Outcome::Failed, vec![(expectation, Severity::Failure)]));
}

#[test]
fn entries_of_other_controllers_do_not_count() {
    let mut version = route_version(1, &["http"], &[("http", GOOD), ("else", &["Accepted=False/NoMatchingParent"])]);
    version["status"]["parents"][1]["controllerName"] = json!("other.test/controller");
    assert_eq!(routed(vec![(10, version.clone())], &["Accepted=True"]).run().outcome, Outcome::Passed);
    version["status"]["parents"][0]["controllerName"] = json!("other.test/controller");
    assert_eq!(routed(vec![(10, version)], &["Accepted=True"]).run().outcome, Outcome::Failed);
}

#[test]
fn parents_may_be_selected_or_none() {
    let with = |parents: Parents, entries: &[(&str, &[&str])]| {
        let mut subject = route_subject(&[]);
        subject.parents = parents;
        routed_as(vec![(10, route_version(1, &["a", "b"], entries))], subject).run().outcome
    };
    let selected = |absent: bool| {
        Parents::Selected(vec![ParentExpectation {
            parent_ref: json!({"name": "gw-http", "namespace": "pool", "sectionName": "b"}),
            controller: None,
            absent,
            conditions: IndexMap::from([expect("Accepted=True")]),
        }])
    };
    assert_eq!(with(selected(false), &[("a", GOOD), ("b", GOOD)]), Outcome::Passed);
    assert_eq!(with(selected(false), &[("b", GOOD)]), Outcome::Passed);
    assert_eq!(with(selected(false), &[("a", GOOD)]), Outcome::Failed);
    assert_eq!(with(selected(true), &[("a", GOOD)]), Outcome::Passed);
    assert_eq!(with(selected(true), &[("a", GOOD), ("b", GOOD)]), Outcome::Failed);
    assert_eq!(with(Parents::Absent, &[]), Outcome::Passed);
    assert_eq!(with(Parents::Absent, &[("a", GOOD)]), Outcome::Failed);
}

#[test]
fn an_entry_may_be_of_another_controller() {
    let with = |absent: bool, controller: &str, entries: &[(&str, &[&str])]| {
        let mut subject = route_subject(&[]);
        subject.parents = Parents::Selected(vec![ParentExpectation {
            parent_ref: json!({"name": "gw-http", "namespace": "pool"}),
            controller: Some("others.test/c".to_owned()),
            absent,
            conditions: if absent { IndexMap::new() } else { IndexMap::from([expect("Accepted=True")]) },
        }]);
        let mut version = route_version(1, &["a"], entries);
        let mut entry = version["status"]["parents"][0].clone();
        entry["controllerName"] = json!(controller);
        entry["parentRef"].as_object_mut().unwrap().remove("sectionName");
        version["status"]["parents"].as_array_mut().unwrap().push(entry);
        routed_as(vec![(10, version)], subject).run().outcome
    };
    assert_eq!(with(false, "others.test/c", &[("a", GOOD)]), Outcome::Passed);
    assert_eq!(with(false, "others.test/d", &[("a", GOOD)]), Outcome::Failed);
    assert_eq!(with(false, "others.test/c", &[("a", &["Accepted=False/NoMatchingParent"])]), Outcome::Failed);
    assert_eq!(with(true, "others.test/c", &[("a", GOOD)]), Outcome::Failed);
    assert_eq!(with(true, "others.test/d", &[("a", GOOD)]), Outcome::Passed);
}

/// What failed is what was asked, whichever entry is wrong and however many there are: nothing else has its name in a plan.
#[rstest]
#[case::none(&[], "ancestors")]
#[case::one(&[("a", "Accepted=False/Invalid")], "Accepted.status")]
#[case::the_later_of_two(&[("a", GOOD[0]), ("b", "Accepted=False/Invalid")], "Accepted.status")]
fn every_ancestor_of_a_policy_is_asked_the_same(#[case] entries: &[(&str, &str)], #[case] part: &str) {
    let ancestors: Vec<Value> = entries
        .iter()
        .map(|(section, text)| {
            let of = json!({"kind": "Gateway", "name": "gw", "sectionName": section});
            json!({"ancestorRef": of, "controllerName": CONTROLLER, "conditions": [condition(text, 1)]})
        })
        .collect();
    let version = json!({
        "apiVersion": "gateway.networking.k8s.io/v1", "kind": "BackendTLSPolicy",
        "metadata": {"name": "policy", "namespace": NS, "uid": "uid-route", "generation": 1},
        "spec": {}, "status": {"ancestors": ancestors},
    });
    let asked = subject(object("BackendTLSPolicy", "policy"), &["Accepted=True"]);
    let verdict = Play::new(scenario(vec![apply(vec![version.clone()]), settle(vec![asked])]))
        .writes(move |_, _| (admitted(1), vec![(10, modified(&version))]))
        .run();
    let failed: Vec<&str> = verdict.findings.iter().map(|f| f.expectation.as_str()).collect();
    assert_eq!(failed, [format!("steps[1].settle.BackendTLSPolicy/{NS}/policy.{part}")]);
}

#[rstest]
#[case::all(&["Accepted=False"], &[], Severity::Failure)]
#[case::one(&["Accepted=False"], &["ResolvedRefs=False"], Severity::Failure)]
#[case::none(&[], &["Accepted=False"], Severity::Warning)]
fn a_policy_needs_an_entry_as_strongly_as_what_is_asked_of_it(
    #[case] must: &[&str],
    #[case] should: &[&str],
    #[case] expected: Severity,
) {
    let version = json!({
        "apiVersion": "gateway.networking.k8s.io/v1", "kind": "BackendTLSPolicy",
        "metadata": {"name": "policy", "namespace": NS, "uid": "uid-route", "generation": 1},
        "spec": {}, "status": {"ancestors": []},
    });
    let mut asked = subject(object("BackendTLSPolicy", "policy"), must);
    for text in should {
        let (type_, mut condition) = expect(text);
        condition.level = Level::Should;
        asked.conditions.insert(type_, condition);
    }
    let verdict = Play::new(scenario(vec![apply(vec![version.clone()]), settle(vec![asked])]))
        .writes(move |_, _| (admitted(1), vec![(10, modified(&version))]))
        .run();
    let found: Vec<_> = verdict.findings.iter().map(|f| (f.expectation.as_str(), f.severity)).collect();
    assert_eq!(found, [(&*format!("steps[1].settle.BackendTLSPolicy/{NS}/policy.ancestors"), expected)]);
}

#[test]
fn an_entry_that_must_be_absent_is_one_failure_even_if_no_parent_asks_for_it() {
    let mut subject = route_subject(&[]);
    subject.parents = Parents::Selected(vec![ParentExpectation {
        parent_ref: json!({"name": "gw-http", "namespace": "pool", "sectionName": "b"}),
        controller: None,
        absent: true,
        conditions: IndexMap::new(),
    }]);
    let version = route_version(1, &["a"], &[("a", GOOD), ("b", GOOD)]);
    let verdict = routed_as(vec![(10, version)], subject).run();
    let failed: Vec<&str> = verdict.findings.iter().map(|f| f.expectation.as_str()).collect();
    assert_eq!(failed, ["steps[1].settle.HTTPRoute/route.parents[0].absent"]);
}

#[test]
fn a_version_older_than_the_last_write_is_not_believed() {
    let old = route_version(1, &["http"], &[("http", GOOD)]);
    let mut play = Play::new(scenario(vec![
        apply(vec![route(&["http"])]),
        settle(vec![route_subject(&["Accepted=True"])]),
        apply(vec![route(&["http"])]),
        settle(vec![route_subject(&["Accepted=True"])]),
    ]))
    .writes(move |step, _| match step {
        0 => (admitted(1), vec![(1, modified(&old))]),
        _ => (admitted(2), Vec::new()),
    });
    let verdict = play.run();
    assert_eq!(verdict.outcome, Outcome::Inconclusive);
    assert!(verdict.reason.unwrap().contains("of generation 1 only, while a later one of generation 2 was written"));
}

#[test]
fn what_comes_within_the_grace_time_is_late_and_the_scenario_goes_on() {
    let mut context = context();
    context.timing.grace = Duration::from_secs(2);
    let good = route_version(1, &["http"], &[("http", GOOD)]);
    let steps = scenario(vec![
        apply(vec![route(&["http"])]),
        settle(vec![route_subject(&["Accepted=True"])]),
        settle(vec![route_subject(&["ResolvedRefs=True"])]),
    ]);
    let mut play = Play::under(steps, context).writes(move |_, _| (admitted(1), vec![(6000, modified(&good))]));
    let verdict = play.run();
    assert_eq!(verdict.outcome, Outcome::Late);
    assert_eq!(verdict.findings.len(), 1);
    assert!(verdict.findings[0].late);
    assert!(verdict.findings[0].seen.contains("6.000 s"), "{}", verdict.findings[0].seen);
    assert_eq!(verdict.stages.len(), 4);
}

#[test]
fn a_late_harness_gets_its_deadline_extended_once() {
    let good = route_version(1, &["http"], &[("http", GOOD)]);
    let lag = || Body::Lagged { by: 2_000_000 };
    let bare = route_version(1, &["http"], &[]);
    let late = |at: u64, lags: &[u64]| {
        let mut play = routed(vec![(1, bare.clone()), (at, good.clone())], &["Accepted=True"]);
        for at in lags {
            play = play.at(*at, lag());
        }
        play.run().outcome
    };
    assert_eq!(late(6000, &[]), Outcome::Failed);
    assert_eq!(late(6000, &[4000]), Outcome::Passed);
    assert_eq!(late(12000, &[4000]), Outcome::Failed);
    assert_eq!(late(12000, &[4000, 9000]), Outcome::Inconclusive);
}

/// The embedded budget is 5 s; the harness is late by 400 ms of each 450, or not at all.
#[rstest]
#[case::in_time(6000, 0, Outcome::Failed)]
#[case::what_was_lost_does_not_count(8900, 10, Outcome::Passed)]
#[case::nor_more_than_that(9200, 10, Outcome::Failed)]
#[case::until_nothing_can_be_said(50_000, 60, Outcome::Inconclusive)]
fn little_delays_of_the_harness_add_up(#[case] at: u64, #[case] delays: u64, #[case] outcome: Outcome) {
    let bare = route_version(1, &["http"], &[]);
    let good = route_version(1, &["http"], &[("http", &["Accepted=True/Accepted"])]);
    let mut play = routed(vec![(1, bare), (at, good)], &["Accepted=True"]);
    for delay in 1..=delays {
        play = play.run_at(delay * 450, Body::Lagged { by: 400_000 });
    }
    assert_eq!(play.run().outcome, outcome);
}

/// The embedded budget is 5 s; each outage is given by its end and its length.
#[rstest]
#[case::none(6000, &[], Outcome::Failed)]
#[case::the_outage_does_not_count(9000, &[(4000, 3900)], Outcome::Passed)]
#[case::then_the_budget_counts_once_more(12_000, &[(4000, 3900)], Outcome::Passed)]
#[case::but_only_once(16_000, &[(4000, 3900)], Outcome::Failed)]
#[case::however_long(29_000, &[(4000, 3900), (12_000, 8000), (20_000, 8000)], Outcome::Passed)]
fn nobody_is_late_while_the_api_server_is_away(
    #[case] at: u64,
    #[case] outages: &[(u64, u64)],
    #[case] outcome: Outcome,
) {
    let bare = route_version(1, &["http"], &[]);
    let good = route_version(1, &["http"], &[("http", GOOD)]);
    let mut play = routed(vec![(1, bare), (at, good)], &["Accepted=True"]);
    for (end, length) in outages {
        play = play.at(*end, Body::Unreachable { by: length * 1000 });
    }
    assert_eq!(play.run().outcome, outcome);
}

#[test]
fn a_should_that_is_missed_warns_without_waiting_for_the_deadline() {
    let version = route_version(1, &["http"], &[("http", &["Accepted=False/Odd"])]);
    let mut subject = route_subject(&["Accepted=False/NoMatchingParent"]);
    subject.conditions[0].reason_level = Some(Level::Should);
    subject.conditions[0].message =
        Some(MessageExpectation { mentions: vec!["gw-http".to_owned()], ..saying_nothing(Level::Should) });
    let verdict = routed_as(vec![(10, version)], subject).run();
    assert_eq!(verdict.outcome, Outcome::Passed);
    let parts: Vec<_> =
        verdict.findings.iter().map(|f| (f.expectation.rsplit_once('.').unwrap().1, f.severity)).collect();
    assert_eq!(parts, [("reason", Severity::Warning), ("message", Severity::Warning)]);
    let last = &verdict.stages[1];
    assert_eq!((last.reached_ms, last.settled_ms, last.waited_ms), (10, 1210, 1200));
}

#[rstest]
#[case::first("Dropped Rule 1", Outcome::Passed)]
#[case::second("Fall Back to generation 1", Outcome::Passed)]
#[case::within("Rule 1 is invalid: Dropped Rule", Outcome::Failed)]
#[case::otherwise("dropped rule 1", Outcome::Failed)]
fn a_message_starts_with_one_of_several_texts(#[case] message: &str, #[case] outcome: Outcome) {
    let mut version = route_version(1, &["http"], &[("http", &["PartiallyInvalid=True/UnsupportedValue"])]);
    version["status"]["parents"][0]["conditions"][0]["message"] = json!(message);
    let mut subject = route_subject(&["PartiallyInvalid=True"]);
    let starts = ["Dropped Rule", "Fall Back"].map(str::to_owned).to_vec();
    subject.conditions[0].message = Some(MessageExpectation { starts, ..saying_nothing(Level::Must) });
    assert_eq!(routed_as(vec![(10, version)], subject).run().outcome, outcome);
}

fn saying_nothing(level: Level) -> MessageExpectation {
    MessageExpectation { mentions: Vec::new(), lacks: Vec::new(), starts: Vec::new(), level }
}

#[rstest]
#[case::right("in conflict with ns/first", Outcome::Passed)]
#[case::in_capitals("IN CONFLICT WITH NS/FIRST", Outcome::Passed)]
#[case::the_other_in_capitals("in conflict with ns/first and NS/SECOND", Outcome::Failed)]
#[case::both("in conflict with ns/first and ns/second", Outcome::Failed)]
#[case::the_other("in conflict with ns/second", Outcome::Failed)]
fn a_message_mentions_one_and_not_the_other(#[case] said: &str, #[case] outcome: Outcome) {
    let mut version = route_version(1, &["http"], &[("http", &["Accepted=False/Conflicted"])]);
    version["status"]["parents"][0]["conditions"][0]["message"] = json!(said);
    let mut subject = route_subject(&["Accepted=False/Conflicted"]);
    let (mentions, lacks) = (vec!["ns/first".to_owned()], vec!["ns/second".to_owned()]);
    subject.conditions[0].message = Some(MessageExpectation { mentions, lacks, ..saying_nothing(Level::Must) });
    assert_eq!(routed_as(vec![(10, version)], subject).run().outcome, outcome);
}

#[rstest]
#[case::soon(300, 450, 0)]
#[case::too_late(1300, 1210, 1)]
fn a_should_that_comes_a_little_later_is_met(#[case] at: u64, #[case] settled: u64, #[case] findings: usize) {
    let versions = [(10, "Accepted=False/Odd"), (at, "Accepted=False/NoMatchingParent")];
    let versions = versions.map(|(at, condition)| (at, route_version(1, &["http"], &[("http", &[condition])])));
    let mut subject = route_subject(&["Accepted=False/NoMatchingParent"]);
    subject.conditions[0].reason_level = Some(Level::Should);
    let verdict = routed_as(versions.to_vec(), subject).run();
    assert_eq!((verdict.stages[1].settled_ms, verdict.findings.len()), (settled, findings));
}

/// What only should be so is said of this generation, or nothing is: a status takes its time, also where nothing of it is binding.
#[rstest]
#[case::in_time(3000, 3150, 0)]
#[case::never(60_000, 5000, 1)]
fn a_should_is_not_judged_by_an_earlier_generation(#[case] at: u64, #[case] settled: u64, #[case] findings: usize) {
    let versions = [(10, "Accepted=False/Odd@1"), (at, "Accepted=True/Accepted")];
    let versions = versions.map(|(at, condition)| (at, route_version(2, &["http"], &[("http", &[condition])])));
    let mut subject = route_subject(&["Accepted=True/Accepted"]);
    subject.conditions[0].level = Level::Should;
    subject.conditions[0].reason_level = Some(Level::Should);
    let verdict = routed_as(versions.to_vec(), subject).run();
    let last = verdict.stages.last().unwrap();
    assert_eq!((verdict.outcome, last.settled_ms, verdict.findings.len()), (Outcome::Passed, settled, findings));
}

#[test]
fn absence_counts_once_the_controller_has_spoken_of_this_generation() {
    let absent = ConditionExpectation { absent: true, ..ConditionExpectation::default() };
    let asked = |conditions: &[&str]| {
        let mut subject = route_subject(&[]);
        subject.conditions.insert("PartiallyInvalid".to_owned(), absent.clone());
        routed_as(vec![(10, route_version(2, &["http"], &[("http", conditions)]))], subject).run().outcome
    };
    assert_eq!(asked(GOOD), Outcome::Passed);
    assert_eq!(asked(&["Accepted=True/Accepted@1"]), Outcome::Failed);
    assert_eq!(asked(&["Accepted=True/Accepted", "PartiallyInvalid=True/UnsupportedValue"]), Outcome::Failed);
}

#[test]
fn accepted_may_keep_an_older_generation_while_the_controller_falls_back() {
    let fallen = |message: &str| {
        let mut version = route_version(
            2,
            &["http"],
            &[("http", &["Accepted=True/Accepted@1", "PartiallyInvalid=True/UnsupportedValue"])],
        );
        version["status"]["parents"][0]["conditions"][1]["message"] = json!(message);
        routed(vec![(10, version)], &["Accepted=True"]).run().outcome
    };
    assert_eq!(fallen("Fall Back to generation 1"), Outcome::Passed);
    assert_eq!(fallen("Dropped Rule 1"), Outcome::Failed);
}

fn own_gateway(status: Value) -> Value {
    json!({
        "apiVersion": "gateway.networking.k8s.io/v1", "kind": "Gateway",
        "metadata": {"name": "own", "namespace": NS, "uid": "uid-route", "generation": 1},
        "spec": {"listeners": [{"name": "http", "port": 80, "protocol": "HTTP"}]},
        "status": status,
    })
}

fn gateway(status: Value, change: impl FnOnce(&mut crate::scenario::SubjectExpectation)) -> (Outcome, Vec<String>) {
    let mut subject = subject(object("Gateway", "own"), &[]);
    change(&mut subject);
    let version = own_gateway(status);
    let mut play = Play::new(scenario(vec![apply(vec![version.clone()]), settle(vec![subject])]))
        .writes(move |_, _| (admitted(1), vec![(10, modified(&version))]));
    let verdict = play.run();
    let parts = verdict.findings.iter().map(|f| f.expectation.replace("steps[1].settle.Gateway/own.", "")).collect();
    (verdict.outcome, parts)
}

/// A Gateway that has only been made waits for machines, whatever part of its status is asked for; one that was there does not.
#[rstest]
#[case::made((180, 3), false, Outcome::Passed)]
#[case::made_in_old_logs((0, 0), false, Outcome::Late)]
#[case::made_in_newer_logs((180, 0), false, Outcome::Late)]
#[case::was_there((180, 3), true, Outcome::Late)]
fn listeners_of_a_gateway_that_was_only_made_have_its_time(
    #[case] (opened, openings): (u64, u32),
    #[case] was_there: bool,
    #[case] outcome: Outcome,
) {
    let timing = Timing { opened: Duration::from_secs(opened), openings, ..Timing::of(TimingProfile::Real) };
    let listener = |status: &str| {
        let conditions = [condition(&format!("Programmed={status}"), 1)];
        own_gateway(json!({"listeners": [{"name": "http", "conditions": conditions}]}))
    };
    let asked = |status: &str| {
        let conditions = IndexMap::from([expect(&format!("Programmed={status}"))]);
        let expected = ListenerExpectation { conditions, attached_routes: None, supported_kinds: None };
        let mut subject = subject(object("Gateway", "own"), &[]);
        subject.listeners.insert("http".to_owned(), expected);
        settle(vec![subject])
    };
    let mut steps = vec![apply(vec![own_gateway(json!({}))])];
    let (mut versions, mut after) = (Vec::new(), 0);
    if was_there {
        steps.push(asked("False"));
        // It is no newer for being written again.
        steps.push(apply(vec![own_gateway(json!({}))]));
        versions.push((10, modified(&listener("False/Pending"))));
        after = 1_000;
    }
    steps.push(asked("True"));
    versions.push((after + 75_000, modified(&listener("True/Programmed"))));
    let mut play = Play::under(scenario(steps), Context { timing, ..context() })
        .writes(move |_, _| (admitted(1), versions.clone()));
    let verdict = play.run();
    assert_eq!(verdict.outcome, outcome, "{:?} {:?}", verdict.reason, verdict.findings);
}

#[test]
fn listeners_fields_and_addresses_are_compared() {
    let listener = |attached: i64, kinds: Value| {
        json!({"listeners": [{"name": "http", "attachedRoutes": attached, "supportedKinds": kinds,
            "conditions": [condition("Accepted=True/Accepted", 1)]}]})
    };
    let kinds = json!([{"group": "gateway.networking.k8s.io", "kind": "HTTPRoute"}]);
    let expected = ListenerExpectation {
        conditions: IndexMap::from([expect("Accepted=True")]),
        attached_routes: Some(1),
        supported_kinds: Some(vec!["HTTPRoute".to_owned()]),
    };
    let asked = |status: Value| gateway(status, |s| drop(s.listeners.insert("http".to_owned(), expected.clone())));
    assert_eq!(asked(listener(1, kinds.clone())), (Outcome::Passed, vec![]));
    assert_eq!(asked(listener(0, kinds.clone())).1, ["listeners[http].attachedRoutes"]);
    assert_eq!(asked(listener(1, json!([]))).1, ["listeners[http].supportedKinds"]);
    assert_eq!(asked(json!({"listeners": []})).1, ["listeners[http].entry"]);

    let programmed = |status: &str, addresses: Value| {
        let conditions = [condition(&format!("Programmed={status}"), 1)];
        gateway(json!({"conditions": conditions, "addresses": addresses}), |s| {
            s.conditions.extend([expect("Programmed=True")]);
        })
    };
    assert_eq!(programmed("True/Programmed", json!([{"value": "10.0.0.1"}])).0, Outcome::Passed);
    assert_eq!(programmed("True/Programmed", json!([])).1, ["addresses"]);
    // What is not programmed owes no address.
    assert_eq!(programmed("False/Invalid", json!([])).1, ["Programmed.status"]);
}

#[rstest]
#[case(FieldTest::Equals(json!(3)), json!(3), true)]
#[case(FieldTest::Equals(json!(3)), json!(4), false)]
#[case(FieldTest::NotEmpty, json!([1]), true)]
#[case(FieldTest::NotEmpty, json!([]), false)]
#[case(FieldTest::Empty, Value::Null, true)]
#[case(FieldTest::Empty, json!("x"), false)]
#[case(FieldTest::SortedBy("name".to_owned()), json!([{"name": "A"}, {"name": "B"}]), true)]
#[case(FieldTest::SortedBy("name".to_owned()), json!([{"name": "B"}, {"name": "A"}]), false)]
#[case(FieldTest::SortedBy("name".to_owned()), json!([]), false)]
#[case(FieldTest::SameAs("/status/thing/b".to_owned()), json!({"a": "x", "b": "x"}), false)]
#[case(FieldTest::SameAs("/metadata/name".to_owned()), json!("own"), true)]
#[case(FieldTest::SameAs("/metadata/name".to_owned()), json!("other"), false)]
#[case(FieldTest::SameAs("/metadata/nowhere".to_owned()), Value::Null, false)]
#[case(FieldTest::Contains(json!("x")), json!(["y", "x"]), true)]
#[case(FieldTest::Contains(json!("x")), json!(["y"]), false)]
fn fields_are_tested(#[case] test: FieldTest, #[case] value: Value, #[case] good: bool) {
    let (outcome, parts) = gateway(json!({"thing": value}), |s| {
        s.fields.push(FieldExpectation { pointer: "/status/thing".to_owned(), test, level: Level::Must });
    });
    assert_eq!(outcome == Outcome::Passed, good);
    assert_eq!(parts.is_empty(), good);
}

#[test]
fn what_never_stands_still_is_not_settled() {
    let versions = (0..60).map(|n| {
        let reason = if n % 2 == 0 { "Accepted=True/Accepted" } else { "Accepted=True/ListenersNotValid" };
        (100 * n, route_version(1, &["http"], &[("http", &[reason])]))
    });
    let verdict = routed(versions.collect(), &["Accepted=True"]).run();
    assert_eq!(verdict.outcome, Outcome::Failed);
    assert_eq!(verdict.findings[0].expectation, "steps[1].settle.HTTPRoute/route");
    assert!(verdict.findings[0].expected.contains("stays unchanged for 0.150 s"), "{}", verdict.findings[0].expected);
}

#[test]
fn a_write_that_leaves_the_generation_is_awaited_by_its_resource_version() {
    let at = |version: &str| {
        let mut object = route_version(1, &["http"], &[("http", GOOD)]);
        object["metadata"]["resourceVersion"] = json!(version);
        modified(&object)
    };
    let wrote = |version: &str| crate::log::WriteOutcome::Admitted {
        uid: "uid-route".to_owned(),
        generation: 1,
        resource_version: version.to_owned(),
    };
    let after = |seen: Option<u64>| {
        let steps = vec![
            apply(vec![route(&["http"])]),
            settle(vec![route_subject(&["Accepted=True"])]),
            apply(vec![route(&["http"])]),
            settle(vec![route_subject(&["Accepted=True"])]),
        ];
        let mut play = Play::new(scenario(steps)).writes(move |step, _| match (step, seen) {
            (0, _) => (wrote("9"), vec![(1, at("10"))]),
            (_, Some(delay)) => (wrote("11"), vec![(delay, at("11"))]),
            _ => (wrote("11"), Vec::new()),
        });
        play.run()
    };
    assert_eq!(after(Some(700)).stages[3].reached_ms, 700);
    assert_eq!(after(None).outcome, Outcome::Inconclusive);
}

/// Of references that resolve by turns, `ResolvedRefs` says so every so many milliseconds, so many times.
fn by_turns(every: u64, times: u64) -> Play {
    let bad =
        route_version(1, &["http"], &[("http", &["Accepted=True/Accepted", "ResolvedRefs=False/BackendNotFound"])]);
    let good = route_version(1, &["http"], &[("http", GOOD)]);
    let version = move |n: u64| if n.is_multiple_of(2) { good.clone() } else { bad.clone() };
    routed((0..=times).map(|n| (10 + n * every, version(n))).collect(), &["Accepted=True", "ResolvedRefs=True"])
}

/// Whether it lasts for the quiet window (150 ms) that it is as asked must not be a matter of chance.
#[rstest]
#[case::fast(100)]
#[case::at_last_as_asked(98)]
#[case::at_last_otherwise(96)]
fn what_comes_and_goes_does_not_settle(#[case] every: u64) {
    let verdict = by_turns(every, 100).run();
    assert_eq!(verdict.outcome, Outcome::Failed);
    let found: Vec<_> =
        verdict.findings.iter().map(|f| (f.expectation.as_str(), f.clauses.last().unwrap().as_str())).collect();
    assert_eq!(found, [("steps[1].settle.HTTPRoute/route", "OWN-04")]);
    let broken: Vec<&str> = verdict.contract.iter().map(|(name, _)| name.as_str()).collect();
    assert!(broken.contains(&"contract/HTTPRoute/conditions-do-not-flap"), "{broken:?}");
}

#[rstest]
#[case::twice(2, 10 + 200 + 8 * 150)]
#[case::four_times(4, 10 + 400 + 8 * 150)]
fn what_came_and_went_has_to_stand_still_longer(#[case] times: u64, #[case] settled: u64) {
    let verdict = by_turns(100, times).run();
    assert_eq!((verdict.outcome, verdict.stages[1].settled_ms), (Outcome::Passed, settled));
}

/// It stays for longer than the quiet window each time, but once it was seen to go, that is not enough.
#[test]
fn what_goes_after_a_quiet_window_does_not_settle_by_chance() {
    let bad =
        route_version(1, &["http"], &[("http", &["Accepted=True/Accepted", "ResolvedRefs=False/BackendNotFound"])]);
    let good = route_version(1, &["http"], &[("http", GOOD)]);
    let late = (0..30).map(|n| (110 + n * 300, if n % 2 == 0 { bad.clone() } else { good.clone() }));
    let versions = std::iter::once((10, good.clone())).chain(late).collect();
    let verdict = routed(versions, &["Accepted=True", "ResolvedRefs=True"]).run();
    assert_eq!(verdict.outcome, Outcome::Failed);
    assert_eq!(verdict.findings[0].expectation, "steps[1].settle.HTTPRoute/route");
}
