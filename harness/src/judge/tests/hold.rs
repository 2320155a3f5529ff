use gateproof_report::record::Outcome;
use rstest::rstest;
use serde_json::{Value, json};

use super::driver::*;
use crate::log::Body;
use crate::scenario::{Hold, HoldFor, Verb};

fn bad() -> Value {
    route_version(1, &["http"], &[("http", &["Accepted=False/UnsupportedValue"])])
}

fn good() -> Value {
    route_version(1, &["http"], &[("http", &["Accepted=True/Accepted"])])
}

type Held = (Outcome, Option<String>, Vec<gateproof_report::record::Stage>);

fn empty() -> Hold {
    Hold { duration: HoldFor::Quiet, never: Vec::new(), always: Vec::new(), unchanged: Vec::new() }
}

/// The route settles as rejected at 5 ms (so the hold begins at 156 ms), then shows these versions.
fn held(hold: Hold, versions: &[(u64, Body)]) -> Held {
    let steps = vec![apply(vec![route(&["http"])]), settle(vec![route_subject(&["Accepted=False"])]), Verb::Hold(hold)];
    let mut later = vec![(5, modified(&bad()))];
    later.extend(versions.iter().cloned());
    let mut play = Play::new(scenario(steps)).writes(move |_, _| (admitted(1), later.clone()));
    let verdict = play.run();
    (verdict.outcome, verdict.findings.first().map(|f| f.expectation.clone()), verdict.stages)
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
        _ => assert_eq!((stages[2].stage.as_str(), stages[2].waited_ms), ("hold", 150)),
    }
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

#[test]
fn a_hold_lasts_a_multiple_of_the_slowest_settle() {
    let hold = || Hold { always: vec![route_subject(&["Accepted=False"])], ..empty() };
    let mut slow = context();
    slow.slowest_settle = std::time::Duration::from_millis(200);
    let steps = vec![apply(vec![route(&["http"])]), settle(vec![route_subject(&["Accepted=False"])]), Verb::Hold(hold())];
    let mut play = Play::under(scenario(steps), slow).writes(move |_, _| (admitted(1), vec![(5, modified(&bad()))]));
    assert_eq!(play.run().stages[2].limit_ms, 600);
    let millis = Hold { duration: HoldFor::Millis(42), ..hold() };
    assert_eq!(held(millis, &[]).2[2].limit_ms, 42);
}

#[test]
fn a_lost_watch_starts_the_hold_again_and_too_many_decide_nothing() {
    let gap = || Body::Gap { resource: "httproutes.gateway.networking.k8s.io".to_owned(), reason: "410".to_owned() };
    let hold = || Hold { never: vec![route_subject(&["Accepted=True"])], ..empty() };
    assert_eq!(held(hold(), &[(200, gap())]).2[2].settled_ms, 194);
    let gaps: Vec<_> = (0..4).map(|n| (200 + n * 50, gap())).collect();
    assert_eq!(held(hold(), &gaps).0, Outcome::Inconclusive);
}
