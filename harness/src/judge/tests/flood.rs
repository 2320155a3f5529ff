use std::sync::Arc;

use gateproof_report::record::{Outcome, Severity};
use rstest::rstest;
use serde_json::{Value, json};

use super::driver::*;
use crate::judge::{Context, Verdict};
use crate::log::{Body, Change, Elapsed, Ended, Event, ObjectKey, Scope, Write, WriteVerb};
use crate::scenario::Scenario;

/// What one object may have beside the one version that comes of the run's own write: fewer than in a run, which would take long.
const MOST: u32 = 300;

fn context() -> Context {
    let mut context = super::driver::context();
    context.timing.versions = MOST;
    context
}

fn steps() -> Scenario {
    scenario(vec![apply(vec![route(&["http"])]), settle(vec![route_subject(&["Accepted=True"])])])
}

/// A version of the route, or of another one, that was written last by these; who is called `target` writes statuses.
fn version(name: &str, number: u32, managers: &[&str]) -> Value {
    let by = |manager: &&str| {
        let part = if *manager == "target" { "status" } else { "" };
        json!({"manager": manager, "subresource": part, "time": "2026-01-01T00:00:00Z"})
    };
    let reason = format!("Accepted=False/Reason{number}");
    let mut version = route_version(1, &["http"], &[("http", &[&reason])]);
    version["metadata"]["name"] = json!(name);
    version["metadata"]["resourceVersion"] = json!(number.to_string());
    version["metadata"]["managedFields"] = managers.iter().map(by).collect();
    version
}

/// So many versions, a hundred each millisecond.
fn versions(count: u32, of: impl Fn(u32) -> Value) -> Vec<(u64, Body)> {
    (1..=count).map(|number| (1 + u64::from(number) / 100, modified(&of(number)))).collect()
}

fn play(all: Vec<(u64, Body)>, context: Context) -> Play {
    Play::under(steps(), context).writes(move |_, _| (admitted(1), all.clone()))
}

#[test]
fn a_target_that_writes_without_end_is_told_so() {
    let mut all = versions(MOST + 2, |number| version("route", number, &["target"]));
    // Of another object there are few, and somebody else wrote it last.
    all.insert(MOST as usize + 1, (4, modified(&version("other", 1, &["somebody"]))));
    let verdict = play(all, context()).run();
    assert_eq!(verdict.outcome, Outcome::Failed, "{verdict:#?}");
    let [finding] = verdict.findings.as_slice() else { panic!("{:?}", verdict.findings) };
    assert_eq!((finding.expectation.as_str(), finding.severity), ("steps[1].versions", Severity::Failure));
    assert_eq!(finding.expected, "nobody but the run writes an object of the scenario more than 300 times");
    let seen = "301 versions of HTTPRoute/ns-1/route within 0.005 s, their status written by target";
    assert_eq!(finding.seen, seen);
    assert!(finding.clauses.is_empty());
}

/// Many objects that are each written a few times, as where a step applies a thousand of them.
fn of_many(number: u32) -> Value {
    let name = if number.is_multiple_of(10) { "route".to_owned() } else { format!("route-{}", number % 10) };
    version(&name, number, &["target"])
}

/// Who writes each version: the target does, but for one in ten, or one in ten alone, or the last.
fn by<'a>(number: u32, target: impl Fn(u32) -> bool) -> &'a [&'a str] {
    if target(number) { &["target"] } else { &["somebody"] }
}

#[rstest]
#[case::no_more_than_may_be(versions(MOST + 1, |number| version("route", number, &["target"])), Outcome::Failed, "steps[1].settle")]
#[case::objects_that_are_many(versions(MOST + 2, of_many), Outcome::Failed, "steps[1].settle")]
#[case::somebody_else(versions(MOST + 2, |number| version("route", number, &["somebody"])), Outcome::Inconclusive, "")]
#[case::nobody_known(versions(MOST + 2, |number| version("route", number, &[])), Outcome::Inconclusive, "")]
#[case::somebody_else_to_whom_the_target_answers(
    versions(MOST + 2, |number| version("route", number, by(number, |n| n % 10 == 2))), Outcome::Inconclusive, ""
)]
#[case::somebody_beside_the_target(
    versions(MOST + 2, |number| version("route", number, &["somebody", "target"])), Outcome::Failed, "steps[1].versions"
)]
#[case::somebody_at_the_last(
    versions(MOST + 2, |number| version("route", number, by(number, |n| n < MOST))), Outcome::Failed, "steps[1].versions"
)]
fn who_writes_without_end_is_told_by_what_was_written(
    #[case] all: Vec<(u64, Body)>,
    #[case] outcome: Outcome,
    #[case] expectation: &str,
) {
    let verdict = play(all, context()).run();
    assert_eq!(verdict.outcome, outcome, "{:?}", verdict.findings);
    let first = verdict.findings.first().map(|one| one.expectation.as_str()).unwrap_or_default();
    assert!(first.starts_with(expectation), "{first}");
}

/// What the run wrote is nobody's flood.
#[test]
fn the_runs_own_writes_do_not_count() {
    let mut before = play(versions(MOST + 1, |number| version("route", number, &["target"])), context());
    for _ in 0..2 {
        let key = ObjectKey::of(&route(&["http"])).unwrap();
        let (api_version, verb) = ("gateway.networking.k8s.io/v1".to_owned(), WriteVerb::Apply);
        let write = Write { step: 9, ordinal: 0, verb, key, api_version, sent: None, outcome: admitted(1) };
        before = before.at(1, Body::Wrote(Box::new(write)));
    }
    let more = |n: u32| (5, modified(&version("route", MOST + 1 + n, &["target"])));
    for n in 1..=2 {
        let (at, body) = more(n);
        before = before.at(at, body);
    }
    let verdict = before.run();
    assert!(verdict.findings[0].expectation.starts_with("steps[1].settle"), "{:?}", verdict.findings);
}

/// It is found while what no step asks about is waited for, which is then over too.
#[test]
fn a_flood_behind_the_last_step_is_found() {
    let unspoken = |number: u32| {
        let mut version = version("route", number, &["target"]);
        version["status"] = route_version(1, &["http"], &[("http", &["Accepted=True/Accepted"])])["status"].clone();
        version
    };
    let mut all = vec![(1, modified(&unspoken(1)))];
    all.extend((2..=MOST + 2).map(|number| (300 + u64::from(number) / 100, modified(&unspoken(number)))));
    let verdict = play(all, context()).run();
    assert_eq!(verdict.outcome, Outcome::Failed, "{verdict:#?}");
    assert_eq!(verdict.findings[0].expectation, "steps[1].versions");
    let broken = |(name, _): &&(String, _)| name == "contract/HTTPRoute/always-present";
    assert_eq!(verdict.contract.iter().filter(broken).count(), 1, "{:?}", verdict.contract);
}

/// What others did may be seen later than what came of it, as behind every failure.
#[test]
fn a_flood_is_taken_back_with_what_others_did() {
    let gone =
        Body::Observed { key: key_of(&gateway_ref()), change: Change::Deleted, object: Arc::new(pool_gateway()) };
    let all = versions(MOST + 60, |number| version("route", number, &["target"]));
    let mut play = play(all, context());
    let (api_version, verb) = ("gateway.networking.k8s.io/v1".to_owned(), WriteVerb::Apply);
    let (key, outcome) = (key_of(&gateway_ref()), admitted(1));
    play.made(Body::Made(Box::new(Write { step: 0, ordinal: 0, verb, key, api_version, sent: None, outcome })));
    let verdict = play.at(100, gone).run();
    assert_eq!(verdict.outcome, Outcome::Inconclusive, "{verdict:#?}");
    assert!(verdict.findings.is_empty(), "{:?}", verdict.findings);
}

/// What a log of before there was a limit says is not judged by it.
#[test]
fn a_log_that_knows_no_limit_has_none() {
    let mut context = context();
    context.timing.versions = 0;
    let verdict = play(versions(MOST + 2, |number| version("route", number, &["target"])), context).run();
    assert!(verdict.findings[0].expectation.starts_with("steps[1].settle"), "{:?}", verdict.findings);
}

/// A judge that is told of this, and no more of what it asks for.
fn told(of: impl Fn(u32) -> Value, count: u32) -> Verdict {
    let scope = || Scope::Scenario("test".into());
    let mut log = vec![(scope(), Body::ScenarioStarted(Box::new(bindings())))];
    let key = ObjectKey::of(&route(&["http"])).unwrap();
    let (api_version, verb) = ("gateway.networking.k8s.io/v1".to_owned(), WriteVerb::Apply);
    let write = Write { step: 0, ordinal: 0, verb, key, api_version, sent: None, outcome: admitted(1) };
    log.push((scope(), Body::Wrote(Box::new(write))));
    log.extend((1..=count).map(|number| (scope(), modified(&of(number)))));
    log.push((scope(), Body::ScenarioEnded(Ended::Completed)));
    let event = |(seq, (scope, body))| Event { seq, at: Elapsed(seq), scope, body };
    let log: Vec<Event> = (0..).zip(log).map(event).collect();
    replay(steps(), context(), &log)
}

/// No run can keep what comes without end, whoever sends it; nobody is failed by that.
#[rstest]
#[case::one_less(10 * MOST - 1, false)]
#[case::as_many(10 * MOST, true)]
fn more_than_a_run_can_keep_says_nothing_of_the_target(#[case] count: u32, #[case] is_told: bool) {
    let of = |number: u32| version(&format!("route-{}", number % 100), number, &["target"]);
    let verdict = told(of, count);
    assert_eq!(verdict.outcome, Outcome::Inconclusive, "{verdict:#?}");
    let reason = verdict.reason.unwrap();
    assert_eq!(reason.starts_with("3000 versions of all objects of the scenario within"), is_told, "{reason}");
}
