use gateproof_report::record::{Outcome, Severity};
use rstest::rstest;
use serde_json::{Value, json};

use super::driver::*;
use crate::judge::{Context, Verdict};
use crate::log::{Body, Timing};
use crate::scenario::{Hold, HoldFor, Level, ObjectRef, ParentExpectation, Parents, Verb};

fn bad() -> Value {
    route_version(1, &["http"], &[("http", &["Accepted=False/UnsupportedValue"])])
}

fn good() -> Value {
    route_version(1, &["http"], &[("http", &["Accepted=True/Accepted"])])
}

type Held = (Outcome, Option<String>, Vec<gateproof_report::record::Stage>);

fn empty() -> Hold {
    Hold {
        duration: HoldFor::Quiet,
        never: Vec::new(),
        always: Vec::new(),
        unchanged: Vec::new(),
        other_messages: false,
        unchanged_level: Level::Must,
    }
}

fn held(hold: Hold, versions: &[(u64, Body)]) -> Held {
    let verdict = judged(hold, versions);
    (verdict.outcome, verdict.findings.first().map(|f| f.expectation.clone()), verdict.stages)
}

/// The route settles as rejected at 5 ms (so the hold begins at 156 ms), then shows these versions.
fn judged(hold: Hold, versions: &[(u64, Body)]) -> Verdict {
    let steps = vec![apply(vec![route(&["http"])]), settle(vec![route_subject(&["Accepted=False"])]), Verb::Hold(hold)];
    let mut later = vec![(5, modified(&bad()))];
    later.extend(versions.iter().cloned());
    let mut play = Play::new(scenario(steps)).writes(move |_, _| (admitted(1), later.clone()));
    play.run()
}

#[rstest]
#[case::stays(vec![], Outcome::Passed)]
#[case::flips_for_a_moment(vec![(200, modified(&good())), (210, modified(&bad()))], Outcome::Failed)]
#[case::flips_too_late(vec![(400, modified(&good()))], Outcome::Passed)]
fn never_is_asked_of_every_version(#[case] versions: Vec<(u64, Body)>, #[case] outcome: Outcome) {
    let hold = Hold { never: vec![route_subject(&["Accepted=True"])], ..empty() };
    let (seen, expectation, stages) = held(hold, &versions);
    assert_eq!(seen, outcome);
    match outcome {
        Outcome::Failed => assert_eq!(expectation.unwrap(), "steps[2].hold.never.HTTPRoute/route.Accepted"),
        _ => assert_eq!((&*stages[2].stage, stages[2].waited_ms), ("hold", 150)),
    }
}

/// What comes 300 ms into a hold of 150 ms counts, if the API server was away for the first 250.
#[test]
fn a_hold_begins_again_when_the_api_server_is_back() {
    let hold = || Hold { never: vec![route_subject(&["Accepted=True"])], ..empty() };
    let flips = (456, modified(&good()));
    assert_eq!(judged(hold(), std::slice::from_ref(&flips)).outcome, Outcome::Passed);
    let steps = |hold| vec![apply(vec![route(&["http"])]), settle(vec![route_subject(&["Accepted=False"])]), hold];
    let later = vec![(5, modified(&bad())), flips];
    let mut play = Play::new(scenario(steps(Verb::Hold(hold())))).writes(move |_, _| (admitted(1), later.clone()));
    for at in [160, 260, 406] {
        play = play.at(at, Body::Unreachable { by: 100_000 });
    }
    assert_eq!(play.run().outcome, Outcome::Failed);
}

/// Of what comes while the harness stands still it sees nothing until it goes on: that time is no part of a hold.
#[rstest]
#[case::before_it(100, Outcome::Passed)]
#[case::within_it(200, Outcome::Failed)]
fn a_hold_lasts_longer_by_what_the_harness_was_late(#[case] late_at: u64, #[case] outcome: Outcome) {
    let hold = Hold { never: vec![route_subject(&["Accepted=True"])], ..empty() };
    let steps = vec![apply(vec![route(&["http"])]), settle(vec![route_subject(&["Accepted=False"])]), Verb::Hold(hold)];
    let later = vec![(5, modified(&bad())), (350, modified(&good()))];
    let mut play = Play::new(scenario(steps)).writes(move |_, _| (admitted(1), later.clone()));
    play = play.run_at(late_at, Body::Lagged { by: 100_000 });
    assert_eq!(play.run().outcome, outcome);
}

#[rstest]
#[case::must(&[Level::Must], Outcome::Failed, Severity::Failure)]
#[case::should(&[Level::Should], Outcome::Passed, Severity::Warning)]
#[case::may(&[Level::May], Outcome::Passed, Severity::Note)]
#[case::the_most_binding_part_counts(&[Level::May, Level::Must], Outcome::Failed, Severity::Failure)]
fn never_is_as_binding_as_its_level(#[case] levels: &[Level], #[case] outcome: Outcome, #[case] severity: Severity) {
    let mut subject = route_subject(&["Accepted=True", "ResolvedRefs=True"][..levels.len()]);
    for (condition, level) in subject.conditions.values_mut().zip(levels) {
        condition.level = *level;
    }
    let both =
        || route_version(1, &["http"], &[("http", &["Accepted=True/Accepted", "ResolvedRefs=True/ResolvedRefs"])]);
    let hold = Hold { never: vec![subject], ..empty() };
    let verdict = judged(hold, &[(200, modified(&both())), (210, modified(&bad()))]);
    assert_eq!(verdict.outcome, outcome);
    let findings: Vec<_> = verdict.findings.iter().map(|f| (f.expectation.as_str(), f.severity)).collect();
    assert_eq!(findings, [("steps[2].hold.never.HTTPRoute/route.Accepted", severity)]);
}

#[rstest]
#[case::stays(vec![], Outcome::Passed)]
#[case::flips_for_a_moment(vec![(200, modified(&good())), (210, modified(&bad()))], Outcome::Failed)]
fn always_is_asked_of_every_version(#[case] versions: Vec<(u64, Body)>, #[case] outcome: Outcome) {
    let hold = Hold { always: vec![route_subject(&["Accepted=False"])], ..empty() };
    let (seen, expectation, _) = held(hold, &versions);
    assert_eq!(seen, outcome);
    if outcome == Outcome::Failed {
        assert_eq!(expectation.unwrap(), "steps[2].hold.always.HTTPRoute/route.Accepted.status");
    }
}

/// A hold begins when the watch shows what was written; what it never shows decides nothing.
#[rstest]
#[case::shown_late(Some(400), Outcome::Passed, Some(550))]
#[case::never_shown(None, Outcome::Inconclusive, None)]
fn what_is_not_shown_yet_is_waited_for(
    #[case] shown: Option<u64>,
    #[case] outcome: Outcome,
    #[case] over: Option<u64>,
    #[values(true, false)] always: bool,
) {
    let mut hold = empty();
    let (wanted, list) = if always { ("Accepted=False", &mut hold.always) } else { ("Accepted=True", &mut hold.never) };
    list.push(route_subject(&[wanted]));
    let later: Vec<(u64, Body)> = shown.into_iter().map(|at| (at, modified(&bad()))).collect();
    let mut play = Play::new(scenario(vec![apply(vec![route(&["http"])]), Verb::Hold(hold)]))
        .writes(move |_, _| (admitted(1), later.clone()));
    let verdict = play.run();
    assert_eq!(verdict.outcome, outcome, "{verdict:?}");
    let settled: Vec<u64> = verdict.stages.iter().filter(|s| s.stage == "hold").map(|s| s.settled_ms).collect();
    assert_eq!(settled, over.into_iter().collect::<Vec<_>>());
}

fn rewritten(version: &str) -> Value {
    let mut object = bad();
    object["metadata"]["resourceVersion"] = json!(version);
    object
}

fn labelled() -> Value {
    let mut object = rewritten("9");
    object["metadata"]["labels"] = json!({"a": "b"});
    object
}

#[rstest]
#[case::stays(vec![], Outcome::Passed)]
#[case::written_without_change(vec![(200, modified(&rewritten("8")))], Outcome::Failed)]
#[case::changed(vec![(200, modified(&good()))], Outcome::Failed)]
#[case::only_labelled(vec![(200, modified(&labelled()))], Outcome::Passed)]
fn unchanged_means_not_written(#[case] versions: Vec<(u64, Body)>, #[case] outcome: Outcome) {
    let hold = Hold { unchanged: vec![object("HTTPRoute", "route")], ..empty() };
    assert_eq!(held(hold, &versions).0, outcome);
}

#[rstest]
#[case::must(Level::Must, Outcome::Failed, Severity::Failure)]
#[case::should(Level::Should, Outcome::Passed, Severity::Warning)]
fn unchanged_is_as_binding_as_its_level(#[case] level: Level, #[case] outcome: Outcome, #[case] severity: Severity) {
    let hold = Hold { unchanged: vec![object("HTTPRoute", "route")], unchanged_level: level, ..empty() };
    let verdict = judged(hold, &[(200, modified(&rewritten("8")))]);
    let found: Vec<_> = verdict.findings.iter().map(|f| (f.expectation.as_str(), f.severity)).collect();
    assert_eq!((verdict.outcome, found), (outcome, vec![("steps[2].hold.unchanged.HTTPRoute/route", severity)]));
}

fn says(field: &str, value: &str) -> Value {
    let mut object = rewritten("8");
    object["status"]["parents"][0]["conditions"][0][field] = json!(value);
    object
}

#[rstest]
#[case::other_words(says("message", "another"), Outcome::Passed)]
#[case::another_reason(says("reason", "Another"), Outcome::Failed)]
#[case::another_time(says("lastTransitionTime", "2026-01-01T00:00:00Z"), Outcome::Failed)]
#[case::nothing(rewritten("8"), Outcome::Failed)]
fn messages_may_speak_of_what_else_changed(#[case] version: Value, #[case] outcome: Outcome) {
    let hold = Hold { unchanged: vec![object("HTTPRoute", "route")], other_messages: true, ..empty() };
    assert_eq!(held(hold, &[(200, modified(&version))]).0, outcome);
}

#[test]
fn a_hold_lasts_a_multiple_of_the_slowest_settle() {
    let hold = || Hold { always: vec![route_subject(&["Accepted=False"])], ..empty() };
    let mut slow = context();
    slow.slowest_settle = std::time::Duration::from_millis(200);
    let steps =
        vec![apply(vec![route(&["http"])]), settle(vec![route_subject(&["Accepted=False"])]), Verb::Hold(hold())];
    let mut play = Play::under(scenario(steps), slow).writes(move |_, _| (admitted(1), vec![(5, modified(&bad()))]));
    assert_eq!(play.run().stages[2].limit_ms, 600);
    let millis = Hold { duration: HoldFor::Millis(42), ..hold() };
    assert_eq!(held(millis, &[]).2[2].limit_ms, 42);
}

/// What must not come may take as long as what must. Holds last a second at most, and of entries 60 s.
#[rstest]
#[case::of_a_route(object("HTTPRoute", "route"), 5, 60, 1000)]
#[case::of_an_entry(gateway_ref(), 5, 60, 5000)]
#[case::where_others_are_quick(gateway_ref(), 0, 60, 150)]
#[case::where_others_take_longer(gateway_ref(), 100, 60, 60_000)]
#[case::of_a_log_before(gateway_ref(), 5, 0, 1000)]
fn a_hold_of_an_entry_lasts_as_long_as_the_slowest_settle(
    #[case] held: ObjectRef,
    #[case] slowest: u64,
    #[case] most: u64,
    #[case] limit_ms: u64,
) {
    let secs = std::time::Duration::from_secs;
    let timing = Timing { hold_entries: secs(most), ..context().timing };
    let slow = Context { timing, slowest_settle: secs(slowest), ..context() };
    let steps = vec![
        apply(vec![route(&["http"])]),
        settle(vec![route_subject(&["Accepted=False"])]),
        Verb::Hold(Hold { unchanged: vec![held], ..empty() }),
    ];
    let mut play = Play::under(scenario(steps), slow).writes(move |_, _| (admitted(1), vec![(5, modified(&bad()))]));
    let verdict = play.run();
    assert_eq!((verdict.outcome, verdict.stages[2].limit_ms), (Outcome::Passed, limit_ms), "{verdict:#?}");
}

/// The budget of gaps is 15 s here, and each of them costs up to 50 ms.
#[test]
fn a_lost_watch_starts_the_hold_again_and_too_many_decide_nothing() {
    let of = |resource: &str| Body::Gap { resource: resource.to_owned(), reason: "410".to_owned() };
    let gap = || of("httproutes.gateway.networking.k8s.io");
    let hold = || Hold { never: vec![route_subject(&["Accepted=True"])], ..empty() };
    assert_eq!(held(hold(), &[(200, gap())]).2[2].settled_ms, 195);
    let gaps = |n: u64| (0..n).map(|n| (200 + n * 50, gap())).collect::<Vec<_>>();
    assert_eq!(held(hold(), &gaps(290)).0, Outcome::Passed);
    assert_eq!(held(hold(), &gaps(310)).0, Outcome::Inconclusive);
    let at_once: Vec<_> = (0..9).map(|n| (200, of(&format!("resource-{n}")))).collect();
    assert_eq!(held(hold(), &at_once).2[2].settled_ms, 195);
}

/// An entry for a parent that the route no longer names is told of nobody else.
#[test]
fn a_state_that_must_never_be_is_seen_beside_entries_too_many() {
    let conditions = route_subject(&["Accepted=True"]).conditions;
    let parent_ref = json!({"name": "gw-http", "namespace": "pool", "sectionName": "left"});
    let mut left = route_subject(&[]);
    left.parents =
        Parents::Selected(vec![ParentExpectation { parent_ref, controller: None, absent: false, conditions }]);
    let entries: [(&str, &[&str]); 2] = [("http", &["Accepted=False/X"]), ("left", &["Accepted=True/Accepted"])];
    let both = modified(&route_version(1, &["http"], &entries));
    let (outcome, expectation, _) = held(Hold { never: vec![left], ..empty() }, &[(200, both)]);
    assert_eq!((outcome, expectation.as_deref()), (Outcome::Failed, Some("steps[2].hold.never.HTTPRoute/route")));
}

/// That a Gateway which is Programmed has an address is demanded where it must be Programmed, not where it must not.
#[test]
fn a_state_that_must_never_be_is_no_more_than_what_the_manifest_says() {
    let version = |programmed: &str| {
        let mut gateway = pool_gateway();
        gateway["metadata"]["name"] = json!("own");
        gateway["metadata"]["namespace"] = json!(NS);
        gateway["metadata"]["uid"] = json!("uid-route");
        gateway["status"] = json!({"conditions": [condition(programmed, 1)]});
        gateway
    };
    let own = || object("Gateway", "own");
    let hold = Hold { never: vec![subject(own(), &["Programmed=True"])], ..empty() };
    let steps = vec![
        apply(vec![version("Programmed=False/NoResources")]),
        settle(vec![subject(own(), &["Programmed=False"])]),
        Verb::Hold(hold),
    ];
    let later = [(5, "Programmed=False/NoResources"), (200, "Programmed=True/Programmed")]
        .map(|(at, programmed)| (at, modified(&version(programmed))));
    let verdict = Play::new(scenario(steps)).writes(move |_, _| (admitted(1), later.to_vec())).run();
    let failed: Vec<&str> = verdict.findings.iter().map(|f| f.expectation.as_str()).collect();
    assert_eq!(failed, ["steps[2].hold.never.Gateway/own.Programmed"]);
}
