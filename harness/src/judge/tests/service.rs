//! Scripts of services, and counts of the requests that they get.

use std::time::Duration;

use gateproof_report::record::Outcome;
use rstest::rstest;
use serde_json::{Value, json};

use super::driver::*;
use crate::judge::Verdict;
use crate::log::{Body, Elapsed, ServiceRequest};
use crate::scenario::{BodyExpectation, FieldTest, Gap, HoldFor, Level, Requests, Scenario, Script, Since, Verb};

/// A service's clock has nothing to do with that of the run.
const EPOCH: i64 = 1_700_000_000_000;

fn request(seq: u64, millis: u64, method: &str) -> (Elapsed, ServiceRequest) {
    let time = jiff::Timestamp::from_millisecond(EPOCH + i64::try_from(millis).unwrap()).unwrap();
    let request = ServiceRequest {
        seq,
        time: format!("{time:.6}"),
        method: method.to_owned(),
        path: format!("/things/{NS}"),
        query: String::new(),
        caller: String::new(),
        status: 200,
        body: None,
    };
    (Elapsed(millis * 1000), request)
}

fn counts(at_least: u64, at_most: Option<u64>) -> Requests {
    Requests {
        service: "arm".to_owned(),
        method: Some("PUT".to_owned()),
        path: Some(format!("*/{NS}")),
        caller: None,
        at_least,
        at_most,
        gap: Gap::default(),
        body: Vec::new(),
        since: Since::Step,
        within: HoldFor::Millis(500),
        level: Level::Must,
    }
}

fn verb(requests: Requests) -> Verb {
    Verb::Requests(Box::new(requests))
}

fn after_a_write(requests: Requests) -> Scenario {
    scenario(vec![apply(vec![route(&["http"])]), verb(requests)])
}

/// What becomes of an expectation after a write if the service gets PUTs at these times, in milliseconds.
fn asked(requests: Requests, at: &[u64]) -> Verdict {
    let mut play = Play::new(after_a_write(requests));
    play.served = at.iter().zip(1..).map(|(millis, seq)| request(seq, *millis, "PUT")).collect();
    play.run()
}

fn failed(verdict: &Verdict) -> Vec<&str> {
    verdict.findings.iter().map(|finding| finding.expectation.as_str()).collect()
}

#[rstest]
#[case::one(counts(1, Some(1)), &[100], None)]
#[case::none(counts(1, Some(1)), &[], Some("count"))]
#[case::two(counts(1, Some(1)), &[100, 200], Some("count"))]
#[case::two_in_the_window(counts(1, Some(1)), &[100, 550], Some("count"))]
#[case::two_behind_the_window(counts(1, Some(1)), &[100, 900], None)]
#[case::enough(counts(2, None), &[100, 2000], None)]
#[case::too_few(counts(2, None), &[100], Some("count"))]
#[case::nothing(counts(0, Some(0)), &[], None)]
#[case::something(counts(0, Some(0)), &[400], Some("count"))]
#[case::something_later(counts(0, Some(0)), &[1500], None)]
#[case::by_nobody(Requests { caller: Some(String::new()), ..counts(1, Some(1)) }, &[100], None)]
#[case::by_another(Requests { caller: Some("me".to_owned()), ..counts(1, Some(1)) }, &[100], Some("count"))]
#[case::far_apart(Requests { gap: Gap { at_least: Some(Duration::from_millis(200)), at_most: None }, ..counts(2, None) }, &[100, 300], None)]
#[case::close(Requests { gap: Gap { at_least: Some(Duration::from_millis(201)), at_most: None }, ..counts(2, None) }, &[100, 300], Some("gap"))]
#[case::close_in_the_window(Requests { gap: Gap { at_least: Some(Duration::from_millis(100)), at_most: None }, ..counts(2, None) }, &[100, 300, 350], Some("gap"))]
#[case::near(Requests { gap: Gap { at_least: None, at_most: Some(Duration::from_millis(300)) }, ..counts(2, None) }, &[100, 300], None)]
#[case::far(Requests { gap: Gap { at_least: None, at_most: Some(Duration::from_millis(100)) }, ..counts(2, None) }, &[100, 300], Some("gap"))]
fn requests_are_counted(#[case] requests: Requests, #[case] at: &[u64], #[case] part: Option<&str>) {
    let verdict = asked(requests, at);
    let expected: Vec<String> = part.iter().map(|part| format!("steps[1].requests.{part}")).collect();
    assert_eq!(failed(&verdict), expected, "{verdict:?}");
    let outcome = if part.is_some() { Outcome::Failed } else { Outcome::Passed };
    assert_eq!((verdict.outcome, verdict.checked > 0), (outcome, true));
}

/// One of the requests has to carry what is asked for, and so have those after it. A number is what the body has at the place.
#[rstest]
#[case::right(&[1], None)]
#[case::wrong(&[2], Some("body[/a]"))]
#[case::right_in_the_end(&[2, 1], None)]
#[case::right_and_wrong(&[1, 2], Some("body[/a]"))]
#[case::none(&[], Some("count"))]
fn bodies_are_looked_into(#[case] bodies: &[u64], #[case] part: Option<&str>) {
    let body = vec![BodyExpectation { pointer: "/a".to_owned(), test: FieldTest::Equals(json!(1)), is_secret: false }];
    let mut play = Play::new(after_a_write(Requests { body, ..counts(1, None) }));
    play.served = bodies.iter().zip(1..).map(|(value, seq)| with_body(seq, json!(value))).collect();
    let verdict = play.run();
    let expected: Vec<String> = part.iter().map(|part| format!("steps[1].requests.{part}")).collect();
    assert_eq!(failed(&verdict), expected, "{verdict:?}");
}

/// Who knows nothing of bodies decides nothing.
#[test]
fn a_log_without_bodies_leaves_it_open() {
    let body = vec![BodyExpectation { pointer: "/a".to_owned(), test: FieldTest::Absent, is_secret: false }];
    let verdict = asked(Requests { body, ..counts(1, None) }, &[100]);
    assert_eq!(verdict.outcome, Outcome::Inconclusive);
}

/// A secret stands in no finding: neither the one that came nor the one that is asked for.
#[test]
fn secrets_are_compared_by_their_digests() {
    let test = FieldTest::Equals(json!("kettle"));
    let expected = BodyExpectation { pointer: "/a".to_owned(), test, is_secret: true };
    let FieldTest::Equals(right) = expected.shown() else { panic!("{expected:?}") };
    let come = |value: Value| {
        let mut play = Play::new(after_a_write(Requests { body: vec![expected.clone()], ..counts(1, None) }));
        play.served = vec![with_body(1, value)];
        play.run()
    };
    assert_eq!(come(right).outcome, Outcome::Passed);
    let wrong = come(json!("sha256:0"));
    assert_eq!(failed(&wrong), ["steps[1].requests.body[/a]"]);
    assert!(!format!("{wrong:?}").contains("kettle"), "{wrong:?}");
}

fn with_body(seq: u64, value: Value) -> (Elapsed, ServiceRequest) {
    let (at, request) = request(seq, 100 * seq, "PUT");
    (at, ServiceRequest { body: Some([("/a".to_owned(), value)].into_iter().collect()), ..request })
}

/// Another method or path is none of those that count.
#[test]
fn others_are_not_counted() {
    let of = |requests: Requests| {
        let mut play = Play::new(after_a_write(requests));
        play.served = vec![request(1, 100, "GET")];
        play.run().outcome
    };
    assert_eq!(of(counts(0, Some(0))), Outcome::Passed);
    assert_eq!(of(Requests { method: None, ..counts(0, Some(0)) }), Outcome::Failed);
    let elsewhere = Some("*/another".to_owned());
    assert_eq!(of(Requests { method: None, path: elsewhere, ..counts(0, Some(0)) }), Outcome::Passed);
}

/// The hold ends at about 1,000 ms: what came before it began counts from the start alone.
#[rstest]
#[case::before_the_step(Since::Step, &[100], Outcome::Passed)]
#[case::since_the_step(Since::Step, &[700], Outcome::Failed)]
#[case::since_the_start(Since::Start, &[100], Outcome::Failed)]
fn they_count_from_a_step_on(#[case] since: Since, #[case] at: &[u64], #[case] outcome: Outcome) {
    let pause = |millis: u64| {
        Verb::Hold(crate::scenario::Hold {
            duration: HoldFor::Millis(millis),
            never: Vec::new(),
            always: Vec::new(),
            unchanged: vec![object("HTTPRoute", "route")],
            other_messages: false,
            unchanged_level: Level::Must,
        })
    };
    let none = Requests { since, ..counts(0, Some(0)) };
    let mut play = Play::new(scenario(vec![apply(vec![route(&["http"])]), pause(500), pause(500), verb(none)]));
    play.served = at.iter().zip(1..).map(|(millis, seq)| request(seq, *millis, "PUT")).collect();
    assert_eq!(play.run().outcome, outcome);
}

/// Two expectations beside each other are about the same step.
#[test]
fn expectations_in_a_row_share_their_step() {
    let gets = Requests { method: Some("GET".to_owned()), ..counts(1, Some(1)) };
    let mut play = Play::new(scenario(vec![apply(vec![route(&["http"])]), verb(counts(1, Some(1))), verb(gets)]));
    play.served = vec![request(1, 50, "GET"), request(2, 100, "PUT")];
    let verdict = play.run();
    assert_eq!(verdict.outcome, Outcome::Passed, "{verdict:?}");
}

/// What came before the scenario is nobody's business.
#[test]
fn what_came_before_does_not_count() {
    let mut play = Play::new(after_a_write(Requests { since: Since::Start, ..counts(0, Some(0)) }));
    play.served = vec![request(1, 0, "PUT")];
    assert_eq!(play.run().outcome, Outcome::Passed);
}

/// What comes behind the budget is late, and what comes behind the grace time does not come.
#[test]
fn what_must_come_has_a_budget() {
    let mut context = context();
    context.timing.grace = Duration::from_secs(2);
    let budget = u64::try_from(context.timing.route.as_millis()).unwrap();
    let asked = |at: u64| {
        let mut play = Play::under(after_a_write(counts(1, None)), context.clone());
        play.served = vec![request(1, at, "PUT")];
        play.run().outcome
    };
    assert_eq!(asked(budget - 500), Outcome::Passed);
    assert_eq!(asked(budget + 500), Outcome::Late);
    assert_eq!(asked(budget + 4000), Outcome::Failed);
}

/// What comes behind the budget is not late where the harness itself was.
#[rstest]
#[case::never(None, Outcome::Late)]
#[case::before(Some(1000), Outcome::Passed)]
fn a_late_harness_makes_nothing_late(#[case] lagged: Option<u64>, #[case] outcome: Outcome) {
    let mut context = context();
    context.timing.grace = Duration::from_secs(2);
    let budget = context.timing.route;
    let mut play = Play::under(after_a_write(counts(1, None)), context);
    if let Some(at) = lagged {
        play = play.at(at, Body::Lagged { by: u64::try_from((budget / 4).as_micros()).unwrap() });
    }
    play.served = vec![request(1, u64::try_from(budget.as_millis()).unwrap() + 500, "PUT")];
    assert_eq!(play.run().outcome, outcome);
}

#[test]
fn a_weaker_level_warns() {
    let verdict = asked(Requests { level: Level::Should, ..counts(1, None) }, &[]);
    assert_eq!((verdict.outcome, verdict.findings.len()), (Outcome::Passed, 1));
}

fn told() -> Verb {
    Verb::Script(Script { service: "arm".to_owned(), rules: vec![json!({"status": 500})] })
}

#[test]
fn a_service_is_told_under_the_main_namespace() {
    let mut play = Play::new(scenario(vec![told(), apply(vec![route(&["http"])]), verb(counts(0, Some(0)))]));
    assert_eq!(play.run().outcome, Outcome::Passed);
    assert_eq!(play.scripts, [(NS.to_owned(), vec![json!({"status": 500})])]);
}

/// Whoever does not answer is no failure of the target.
#[rstest]
#[case::before_it_is_told(vec![told(), apply(vec![route(&["http"])]), verb(counts(1, None))], 0)]
#[case::before_the_mark(vec![apply(vec![route(&["http"])]), verb(counts(1, None))], 0)]
#[case::while_it_is_read(vec![apply(vec![route(&["http"])]), verb(counts(1, None))], 300)]
fn a_silent_service_is_inconclusive(#[case] verbs: Vec<Verb>, #[case] silent_from: u64) {
    let mut play = Play::new(scenario(verbs));
    play.silent_from = Some(Elapsed(silent_from * 1000));
    let verdict = play.run();
    assert_eq!((verdict.outcome, verdict.findings.len()), (Outcome::Inconclusive, 0));
    assert!(verdict.reason.as_ref().unwrap().contains("the service `arm`: no connection"), "{verdict:?}");
}

/// The log alone tells the verdict.
#[test]
fn a_replay_comes_to_the_same() {
    let scenario = after_a_write(counts(1, Some(1)));
    let mut play = Play::new(scenario.clone());
    play.served = vec![request(1, 100, "PUT"), request(2, 300, "PUT")];
    let verdict = play.run();
    assert_eq!(verdict.outcome, Outcome::Failed);
    assert_eq!(replay(scenario, context(), &play.log), verdict);
}
