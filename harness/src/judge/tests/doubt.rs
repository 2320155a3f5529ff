//! Watches that are lost or wrong blame nobody.

use std::time::Duration;

use gateproof_report::record::Outcome;
use rstest::rstest;
use serde_json::{Value, json};

use super::driver::*;
use crate::judge::{Context, Verdict};
use crate::log::{Body, Elapsed};
use crate::scenario::{Hold, HoldFor, Level, Scenario, Verb};

const ROUTES: &str = "httproutes.gateway.networking.k8s.io";

fn version(number: u64, condition: &str) -> Value {
    let mut object = route_version(1, &["http"], &[("http", &[condition, GOOD[1]])]);
    object["metadata"]["resourceVersion"] = json!(number.to_string());
    object
}

fn good(number: u64) -> Value {
    version(number, "Accepted=True/Accepted")
}

fn bad(number: u64) -> Value {
    version(number, "Accepted=False/UnsupportedValue")
}

fn blind(doubted: bool) -> Body {
    let (resource, kind) = (ROUTES.to_owned(), "HTTPRoute".to_owned());
    Body::Blind { resource, kind, reason: "410".to_owned(), doubted }
}

fn sighted(by: u64) -> Body {
    Body::Sighted { resource: ROUTES.to_owned(), kind: "HTTPRoute".to_owned(), by: by * 1000 }
}

fn settles() -> Scenario {
    scenario(vec![apply(vec![route(&["http"])]), settle(vec![route_subject(&["Accepted=True"])])])
}

/// The watch shows a bad route at 2 ms; `hidden` are versions that only a read finds, from their time on.
fn play(scenario: Scenario, context: Context, hidden: Vec<(u64, Value)>, events: &[(u64, Body)]) -> Play {
    let mut play = Play::under(scenario, context).writes(|_, _| (admitted(1), vec![(1, modified(&bad(1)))]));
    play.hidden = hidden.into_iter().map(|(at, version)| (Elapsed(at * 1000), version)).collect();
    for (at, body) in events {
        play = play.at(*at, body.clone());
    }
    play
}

fn looks(play: &Play) -> usize {
    play.log.iter().filter(|event| matches!(event.body, Body::Looked { .. })).count()
}

/// Replays the log, too: it holds all that the verdict rests on.
fn judged(play: &mut Play, scenario: Scenario, context: Context) -> Verdict {
    let verdict = play.run();
    assert_eq!(replay(scenario, context, &play.log), verdict);
    verdict
}

#[rstest]
#[case::right(vec![], Outcome::Failed, 1, 0)]
#[case::right_and_something_else_changed(vec![(100, bad(2))], Outcome::Failed, 1, 0)]
#[case::behind(vec![(100, good(2))], Outcome::Passed, 2, 1)]
#[case::behind_and_what_is_there_is_wrong(vec![(100, version(2, "Accepted=False/Odd"))], Outcome::Failed, 2, 1)]
#[case::behind_again(vec![(100, version(2, "Accepted=False/Odd")), (9000, good(3))], Outcome::Passed, 3, 2)]
#[case::behind_too_often(
    vec![(100, version(2, "Accepted=False/A")), (9000, version(3, "Accepted=False/B")), (15_000, version(4, "Accepted=False/C"))],
    Outcome::Inconclusive, 3, 2
)]
fn a_read_says_whether_the_target_is_to_blame(
    #[case] hidden: Vec<(u64, Value)>,
    #[case] outcome: Outcome,
    #[case] reads: usize,
    #[case] renewals: u32,
    #[values(Duration::ZERO, Duration::from_millis(1))] grace: Duration,
) {
    let mut context = context();
    context.timing.grace = grace;
    let mut play = play(settles(), context.clone(), hidden, &[]);
    let verdict = judged(&mut play, settles(), context);
    assert_eq!((verdict.outcome, play.renewals), (outcome, renewals), "{verdict:#?}");
    let of_grace = usize::from(!grace.is_zero() && outcome == Outcome::Failed);
    assert!((reads..=reads + of_grace).contains(&looks(&play)), "{} reads", looks(&play));
}

#[test]
fn a_scenario_that_passes_reads_nothing() {
    let mut play = Play::new(settles()).writes(|_, _| (admitted(1), vec![(1, modified(&good(1)))]));
    assert_eq!(play.run().outcome, Outcome::Passed);
    assert_eq!(looks(&play), 0);
}

#[test]
fn a_read_that_fails_blames_nobody() {
    let mut play = play(settles(), context(), vec![], &[]);
    play.unreadable = true;
    let verdict = judged(&mut play, settles(), context());
    assert_eq!(verdict.outcome, Outcome::Inconclusive);
    assert!(verdict.reason.unwrap().contains("cannot be read"));
}

/// What comes within the time that a lost watch has cost is in time; budget is 5 s, and 15 s for what is lost.
#[rstest]
#[case::not_lost(&[], 6000, Outcome::Failed)]
#[case::lost(&[(1000, 3000, 2000)], 6000, Outcome::Passed)]
#[case::lost_at_the_deadline(&[(4000, 6500, 2500)], 7000, Outcome::Passed)]
#[case::not_that_long(&[(1000, 3000, 2000)], 7100, Outcome::Failed)]
#[case::lost_before_it_began(&[(1, 500, 60_000)], 5400, Outcome::Passed)]
#[case::too_long(&[(1000, 16_500, 15_500)], 16_600, Outcome::Inconclusive)]
fn what_a_lost_watch_costs_is_not_the_targets(
    #[case] lost: &[(u64, u64, u64)],
    #[case] good_at: u64,
    #[case] outcome: Outcome,
) {
    let mut events = vec![(good_at, modified(&good(2)))];
    for (from, to, by) in lost {
        events.extend([(*from, blind(false)), (*to, sighted(*by))]);
    }
    let mut play = play(settles(), context(), vec![], &events);
    assert_eq!(judged(&mut play, settles(), context()).outcome, outcome);
}

/// A harness that wakes up behind the deadline, at the very moment at which it gets to see what is there, cannot say when that came.
#[test]
fn what_is_seen_on_waking_up_too_late_was_not_late() {
    let mut play = play(settles(), context(), vec![], &[(5100, modified(&good(2)))]);
    play.oversleeps = Duration::from_millis(150);
    assert_eq!(judged(&mut play, settles(), context()).outcome, Outcome::Passed);
}

#[test]
fn what_others_watches_miss_is_nothing_to_a_scenario() {
    let events = [
        (
            1000,
            Body::Blind { resource: "services".into(), kind: "Service".into(), reason: "410".into(), doubted: true },
        ),
        (3000, Body::Sighted { resource: "services".into(), kind: "Service".into(), by: 2_000_000 }),
        (6000, modified(&good(2))),
    ];
    let mut play = play(settles(), context(), vec![], &events);
    assert_eq!(play.run().outcome, Outcome::Failed);
}

fn holds() -> Scenario {
    let never = vec![route_subject(&["Accepted=True"])];
    let hold = Hold {
        duration: HoldFor::Quiet,
        never,
        always: Vec::new(),
        unchanged: Vec::new(),
        other_messages: false,
        unchanged_level: Level::Must,
    };
    scenario(vec![apply(vec![route(&["http"])]), settle(vec![route_subject(&["Accepted=False"])]), Verb::Hold(hold)])
}

/// The hold is from 152 to 302 ms.
#[rstest]
#[case::seen(vec![], vec![], Outcome::Passed, 0)]
#[case::lost_for_good(vec![(160, blind(false))], vec![], Outcome::Passed, 1)]
#[case::lost_for_good_and_wrong(vec![(160, blind(false))], vec![(200, good(2))], Outcome::Failed, 2)]
#[case::doubted(vec![(1, blind(true)), (2, sighted(1))], vec![], Outcome::Passed, 2)]
#[case::doubted_and_wrong(vec![(1, blind(true)), (2, sighted(1))], vec![(200, good(2))], Outcome::Failed, 3)]
#[case::seen_to_be_wrong(vec![(200, modified(&good(2)))], vec![], Outcome::Failed, 1)]
#[case::wrong_but_long_ago(vec![(200, modified(&good(2)))], vec![(200, bad(3))], Outcome::Inconclusive, 2)]
fn a_hold_is_believed_if_it_was_seen(
    #[case] events: Vec<(u64, Body)>,
    #[case] hidden: Vec<(u64, Value)>,
    #[case] outcome: Outcome,
    #[case] reads: usize,
) {
    let mut play = play(holds(), context(), hidden, &events);
    let verdict = judged(&mut play, holds(), context());
    assert_eq!((verdict.outcome, looks(&play)), (outcome, reads), "{verdict:#?}");
}

/// Runs that did not ask are judged as they were.
#[test]
fn logs_without_the_limit_are_of_runs_that_believed_their_watches() {
    let mut context = context();
    context.timing.gaps = Duration::ZERO;
    let mut play = play(settles(), context, vec![(100, good(2))], &[]);
    assert_eq!(play.run().outcome, Outcome::Failed);
    assert_eq!(looks(&play), 0);
}
