//! What is watched until everything else of a run has come to its end.

use std::time::Duration;

use gateproof_report::record::Outcome;
use rstest::rstest;

use super::driver::*;
use crate::judge::{Context, Verdict};
use crate::log::{Body, Elapsed, ServiceRequest};
use crate::scenario::{Gap, Hold, HoldFor, Level, Requests, Scenario, Since, Verb};

/// At least two seconds, at most ten.
fn timed() -> Context {
    let mut context = context();
    (context.timing.rest_min, context.timing.rest_max) = (Duration::from_secs(2), Duration::from_secs(10));
    context
}

fn put(millis: u64) -> (Elapsed, ServiceRequest) {
    let request = ServiceRequest {
        seq: 1,
        time: "2026-01-01T00:00:00.000000Z".to_owned(),
        method: "PUT".to_owned(),
        path: format!("/things/{NS}"),
        query: String::new(),
        caller: String::new(),
        status: 400,
        body: None,
    };
    (Elapsed(millis * 1000), request)
}

fn none(within: HoldFor) -> Verb {
    let (service, path) = ("arm".to_owned(), Some(format!("*/{NS}")));
    let (method, caller, gap, level) = (None, None, Gap::default(), Level::Must);
    let requests = Requests {
        service,
        method,
        path,
        caller,
        at_least: 0,
        at_most: Some(0),
        gap,
        body: Vec::new(),
        since: Since::Start,
        within,
        level,
    };
    Verb::Requests(Box::new(requests))
}

fn unchanged(duration: HoldFor) -> Verb {
    Verb::Hold(Hold {
        duration,
        never: vec![route_subject(&["Accepted=True"])],
        always: Vec::new(),
        unchanged: vec![object("HTTPRoute", "route")],
        other_messages: false,
        unchanged_level: Level::Must,
    })
}

fn version(status: &str) -> Body {
    modified(&route_version(1, &["http"], &[("http", &[status])]))
}

/// Plays a scenario after whose write these follow, at these milliseconds, and whose service gets a PUT then.
fn played(steps: Vec<Verb>, context: Context, later: Vec<(u64, Body)>, asked: Option<u64>) -> Verdict {
    let bound: Scenario = scenario([apply(vec![route(&["http"])])].into_iter().chain(steps).collect());
    let mut play = Play::under(bound.clone(), context.clone()).writes(move |_, _| (admitted(1), later.clone()));
    play.served = asked.map(put).into_iter().collect();
    let verdict = play.run();
    // The end of the rest is known from the log alone.
    assert_eq!(replay(bound, context, &play.log), verdict);
    verdict
}

#[rstest]
#[case::quiet_misses_it(HoldFor::Quiet, Some(6000), 4000, Outcome::Passed)]
#[case::before_the_rest_is_over(HoldFor::Rest, Some(6000), 4000, Outcome::Failed)]
#[case::right_before_the_rest_is_over(HoldFor::Rest, Some(6000), 5999, Outcome::Failed)]
#[case::after_that(HoldFor::Rest, Some(6000), 6100, Outcome::Passed)]
#[case::over_at_once(HoldFor::Rest, Some(1), 1500, Outcome::Failed)]
#[case::over_at_once_and_long_ago(HoldFor::Rest, Some(1), 2500, Outcome::Passed)]
#[case::over_soon_and_long_ago(HoldFor::Rest, Some(1000), 2500, Outcome::Passed)]
#[case::never_over(HoldFor::Rest, None, 9900, Outcome::Failed)]
#[case::never_over_and_too_late(HoldFor::Rest, None, 10_500, Outcome::Passed)]
#[case::over_too_late(HoldFor::Rest, Some(20_000), 10_500, Outcome::Passed)]
fn requests_stay_out_until_the_rest_is_over(
    #[case] within: HoldFor,
    #[case] rested: Option<u64>,
    #[case] asked: u64,
    #[case] outcome: Outcome,
) {
    let later: Vec<_> = rested.map(|at| (at, Body::Rested)).into_iter().collect();
    let verdict = played(vec![none(within)], timed(), later, Some(asked));
    assert_eq!(verdict.outcome, outcome, "{verdict:?}");
    if outcome == Outcome::Failed {
        assert_eq!(verdict.findings[0].expectation, "steps[1].requests.count");
    }
}

#[rstest]
#[case::quiet_misses_it(HoldFor::Quiet, Some(6000), 4000, Outcome::Passed)]
#[case::before_the_rest_is_over(HoldFor::Rest, Some(6000), 4000, Outcome::Failed)]
#[case::after_that(HoldFor::Rest, Some(6000), 6500, Outcome::Passed)]
#[case::over_soon(HoldFor::Rest, Some(500), 1500, Outcome::Failed)]
#[case::over_soon_and_long_ago(HoldFor::Rest, Some(500), 2500, Outcome::Passed)]
#[case::never_over(HoldFor::Rest, None, 9000, Outcome::Failed)]
#[case::never_over_and_too_late(HoldFor::Rest, None, 11_000, Outcome::Passed)]
fn statuses_stay_until_the_rest_is_over(
    #[case] duration: HoldFor,
    #[case] rested: Option<u64>,
    #[case] changed: u64,
    #[case] outcome: Outcome,
) {
    let mut later = vec![(5, version("Accepted=False/NoMatchingParent")), (changed, version("Accepted=True/Accepted"))];
    later.extend(rested.map(|at| (at, Body::Rested)));
    let settled = settle(vec![route_subject(&["Accepted=False"])]);
    let verdict = played(vec![settled, unchanged(duration)], timed(), later, None);
    assert_eq!(verdict.outcome, outcome, "{verdict:?}");
}

/// A step after one that has waited looks once.
#[test]
fn the_rest_comes_once() {
    let later = vec![(5, version("Accepted=False/NoMatchingParent")), (3000, Body::Rested)];
    let steps = vec![settle(vec![route_subject(&["Accepted=False"])]), unchanged(HoldFor::Rest), none(HoldFor::Rest)];
    let verdict = played(steps, timed(), later, None);
    let last = verdict.stages.last().unwrap();
    assert_eq!((verdict.outcome, &*last.stage), (Outcome::Passed, "requests"));
    assert_eq!(last.waited_ms, 0);
}

/// A log of before there was such a rest is judged as it was.
#[test]
fn an_old_log_knows_of_no_rest() {
    let mut old = timed();
    (old.timing.rest_min, old.timing.rest_max) = (Duration::ZERO, Duration::ZERO);
    assert_eq!(played(vec![none(HoldFor::Rest)], old, Vec::new(), Some(4000)).outcome, Outcome::Passed);
}

/// A watch that was listed anew costs no more than a hold, and nothing as long as the rest of the run takes longer: the budget of
/// gaps is a second here, and there are five.
#[test]
fn lost_watches_cost_nothing_while_others_are_at_work() {
    let mut context = timed();
    context.timing.gaps = Duration::from_secs(1);
    let gap = |at| {
        let resource = "httproutes.gateway.networking.k8s.io".to_owned();
        (at, Body::Gap { resource, reason: "410".to_owned() })
    };
    let mut later = vec![(5, version("Accepted=False/NoMatchingParent")), (9000, Body::Rested)];
    later.extend((3..8).map(|second| gap(second * 1000)));
    let steps = vec![settle(vec![route_subject(&["Accepted=False"])]), unchanged(HoldFor::Rest)];
    let verdict = played(steps, context, later, None);
    assert_eq!(verdict.outcome, Outcome::Passed, "{verdict:?}");
}

/// Of what is watched for long the log is read ever more seldom, but for once more at the end.
#[test]
fn it_is_read_seldom() {
    let later = vec![(9500, Body::Rested)];
    let mut play = Play::under(scenario(vec![apply(vec![route(&["http"])]), none(HoldFor::Rest)]), timed())
        .writes(move |_, _| (admitted(1), later.clone()));
    assert_eq!(play.run().outcome, Outcome::Passed);
    let reads = play.log.iter().filter(|event| matches!(event.body, Body::Requested { .. })).map(|event| event.at);
    let reads: Vec<Elapsed> = reads.collect();
    assert!((5..25).contains(&reads.len()), "{reads:?}");
    assert!(reads.last() > Some(&Elapsed(9_500_000)), "{reads:?}");
}
