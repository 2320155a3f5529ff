use std::time::Duration;

use gateproof_report::record::{Outcome, ProbeRecord, Severity};
use rstest::rstest;

use super::driver::{
    Back, Play, admitted, apply, asks, backend, context, gateway_ref, get, key_of, pool_gateway, route, scenario, seen,
};
use crate::judge::Context;
use crate::log::{Body, Change, ProbeError, Scope};
use crate::scenario::{Probe, Verb};

/// A data path that answers so.
fn play(verbs: Vec<Verb>, context: Context, mut back: impl FnMut(u32, u64) -> Back + 'static) -> Play {
    let mut n = 0;
    Play::under(scenario(verbs), context).writes(|_, _| (admitted(1), Vec::new())).probes(move |at, _, _| {
        n += 1;
        back(n, at.0 / 1000)
    })
}

fn probe() -> Verb {
    asks(get(backend("echo")))
}

fn echo() -> Back {
    Back::Echo("echo-pod")
}

fn unless(bad: bool, back: Back) -> Back {
    if bad { back } else { echo() }
}

fn record(verdict: &crate::judge::Verdict) -> &ProbeRecord {
    verdict.probes.last().unwrap()
}

#[rstest]
#[case::one_in_two(2)]
#[case::one_in_four(4)]
fn what_disagrees_after_the_streak_flaps(#[case] one_in: u32) {
    let verdict =
        play(vec![probe()], context(), move |n, _| unless(n > 3 && n.is_multiple_of(one_in), Back::Status(503))).run();
    assert_eq!(verdict.outcome, Outcome::Failed);
    let finding = &verdict.findings[0];
    assert_eq!((finding.expectation.as_str(), finding.late), ("steps[0].probe.stays", false));
    assert!(finding.clauses.iter().any(|clause| clause == "OWN-02"), "{:?}", finding.clauses);
    let record = record(&verdict);
    assert_eq!((record.converging, record.broken, record.codes["status 503"]), (0, 0, record.staying));
    assert!(finding.seen.contains(&format!("status 503: {}", record.staying)), "{}", finding.seen);
}

#[test]
fn resets_are_counted_apart_and_backends_named() {
    let answer = |n: u32| match n % 4 {
        1 if n > 3 => Back::Error(ProbeError::Broken("reset".to_owned())),
        2 if n > 3 => Back::Echo("other-pod"),
        _ => echo(),
    };
    let verdict = play(vec![probe()], context(), move |n, _| answer(n)).run();
    let record = record(&verdict);
    assert_eq!(record.codes["broken off"], record.broken);
    assert_eq!(record.codes["status 200 from backend other"], record.staying - record.broken);
    assert!(record.broken > 0 && record.staying > record.broken);
}

#[test]
fn a_single_blip_is_a_warning() {
    let mut context = context();
    context.timing.calm = Duration::ZERO;
    let verdict = play(vec![probe()], context, |n, _| unless(n == 5, Back::Status(503))).run();
    assert_eq!(verdict.outcome, Outcome::Passed);
    let found: Vec<_> = verdict.findings.iter().map(|f| (f.expectation.as_str(), f.severity)).collect();
    assert_eq!(found, [("steps[0].probe.stays", Severity::Warning)]);
    assert_eq!((record(&verdict).staying, record(&verdict).n), (1, 40));
}

#[test]
fn what_disagrees_before_the_streak_converges() {
    let verdict = play(vec![probe()], context(), |n, _| unless(n < 4, Back::Status(404))).run();
    assert_eq!((verdict.outcome, verdict.findings.len()), (Outcome::Passed, 0));
    assert_eq!((record(&verdict).n, record(&verdict).converging, record(&verdict).staying), (3 + 3 + 17, 3, 0));
}

/// One of two replicas learns later, within the budget to converge (5 s) or never.
#[rstest]
#[case::in_time(4000, Outcome::Passed)]
#[case::never(u64::MAX, Outcome::Failed)]
fn a_replica_may_take_its_time_after_a_change(#[case] learns: u64, #[case] outcome: Outcome) {
    let steps = vec![apply(vec![route(&["http"])]), probe()];
    let stale = move |n: u32, at| unless(n > 3 && n.is_multiple_of(2) && at < learns, Back::Status(404));
    let verdict = play(steps, context(), stale).run();
    assert_eq!(verdict.outcome, outcome, "{:?}", verdict.findings);
    let stays = verdict.findings.iter().all(|f| f.expectation == "steps[1].probe.stays" && !f.late);
    assert!(stays, "{:?}", verdict.findings);
    assert_eq!(verdict.findings.len(), usize::from(outcome == Outcome::Failed));
}

/// Others change their routes at the Gateway, and after a while leave it alone, or not.
#[rstest]
#[case::for_a_while(12_000, Outcome::Failed)]
#[case::all_the_time(60_000, Outcome::Inconclusive)]
fn what_others_stir_does_not_count(#[case] until: u64, #[case] outcome: Outcome) {
    let mut play = play(vec![probe()], context(), |n, _| unless(n > 3 && n.is_multiple_of(3), Back::Status(503)));
    for at in (0..until).step_by(25) {
        play = play.in_scope(at, Scope::Pool("http".into()), seen(Change::Modified, &pool_gateway()));
    }
    let verdict = play.run();
    assert_eq!(verdict.outcome, outcome, "{:?} {:?}", verdict.reason, verdict.findings);
    assert!(verdict.findings.iter().all(|f| f.expectation == "steps[0].probe.stays"));
}

#[test]
fn a_hitch_while_others_stir_is_forgiven() {
    let mut play = play(vec![probe()], context(), |n, _| unless((4..12).contains(&n), Back::Status(503)));
    for at in (0..1000).step_by(5) {
        play = play.in_scope(at, Scope::Pool("http".into()), seen(Change::Modified, &pool_gateway()));
    }
    let verdict = play.run();
    assert_eq!(verdict.outcome, Outcome::Passed);
    assert_eq!(verdict.findings.iter().map(|found| found.severity).collect::<Vec<_>>(), [Severity::Note]);
    assert_eq!(record(&verdict).staying, 8);
}

/// Answers that follow upon each other are not independent.
#[rstest]
#[case::once(0, Outcome::Passed, &[Severity::Note])]
#[case::twice(60_000, Outcome::Failed, &[Severity::Failure])]
fn what_happens_once_is_asked_for_again(#[case] until: u64, #[case] outcome: Outcome, #[case] severities: &[Severity]) {
    // All of it within a few milliseconds, and then one answer in three.
    let back = move |n: u32, at: u64| {
        unless((4..12).contains(&n) || n > 12 && at < until && n.is_multiple_of(3), Back::Status(503))
    };
    let verdict = play(vec![probe()], context(), back).run();
    assert_eq!(verdict.outcome, outcome, "{:?}", verdict.findings);
    assert_eq!(verdict.findings.iter().map(|found| found.severity).collect::<Vec<_>>(), severities);
}

/// One data path serves all Gateways, and hitches whenever the run changes any of them: up to 5 s, when the budget is used up and
/// the run is asked to write nothing more.
#[rstest]
#[case::it_had_agreed(4, 2, 5_100, false, Outcome::Passed)]
#[case::it_never_agreed_for_long(0, 2, 5_100, false, Outcome::Inconclusive)]
#[case::it_flaps_all_the_same(4, 2, 60_000, false, Outcome::Failed)]
#[case::it_never_agrees_all_the_same(0, 2, 60_000, false, Outcome::Failed)]
#[case::it_never_agreed_at_all(0, 1, 60_000, false, Outcome::Failed)]
#[case::the_run_goes_on(4, 2, 60_000, true, Outcome::Inconclusive)]
fn what_the_run_does_elsewhere_is_nobodys_failure(
    #[case] first: u32,
    #[case] one_in: u32,
    #[case] until: u64,
    #[case] restless: bool,
    #[case] outcome: Outcome,
) {
    let hitch = move |n: u32, at| unless(n >= first && at < until && n.is_multiple_of(one_in), Back::Status(503));
    let mut play = play(vec![probe()], context(), hitch);
    play.restless = restless;
    let verdict = play.run();
    assert_eq!(verdict.outcome, outcome, "{:?} {:?}", verdict.reason, verdict.findings);
    assert!(verdict.findings.iter().all(|found| !found.late), "{:?}", verdict.findings);
    assert_eq!(play.quiesced > 0, one_in > 1, "who never agreed need not be left alone");
}

/// What has not converged yet gives wrong answers, so broken connections alone are a hitch.
#[rstest]
#[case::broken(Back::Error(ProbeError::Broken("reset".to_owned())), Outcome::Passed)]
#[case::refused(Back::Error(ProbeError::ConnectRefused("refused".to_owned())), Outcome::Passed)]
#[case::wrong(Back::Status(404), Outcome::Inconclusive)]
fn broken_connections_alone_are_a_hitch(#[case] bad: Back, #[case] outcome: Outcome) {
    let back = move |n: u32, at| unless(at < 5_100 && n.is_multiple_of(2), bad.clone());
    let verdict = play(vec![probe()], context(), back).run();
    assert_eq!(verdict.outcome, outcome, "{:?}", verdict.findings);
    let noted: Vec<_> = verdict.findings.iter().map(|found| found.severity).collect();
    assert_eq!(noted, if outcome == Outcome::Passed { vec![Severity::Note] } else { vec![] });
}

/// Others change their routes elsewhere on the cluster, all the time or for a while.
#[rstest]
#[case::for_a_while(12_000, Outcome::Failed)]
#[case::all_the_time(60_000, Outcome::Inconclusive)]
fn what_others_change_anywhere_stirs_too(#[case] until: u64, #[case] outcome: Outcome, #[values(0, 4)] first: u32) {
    let mut play =
        play(vec![probe()], context(), move |n, _| unless(n >= first && n.is_multiple_of(2), Back::Status(503)));
    for at in (0..until).step_by(500) {
        let key = key_of(&gateway_ref());
        let object = std::sync::Arc::new(serde_json::Value::Null);
        play = play.run_at(at, Body::Stirred { key, change: Change::Modified, object });
    }
    assert_eq!(play.run().outcome, outcome);
}

#[test]
fn what_agreed_in_time_is_never_late() {
    let mut play =
        play(vec![probe()], context(), |n, at| unless(n > 3 && at < 7_000 && at % 100 < 50, Back::Status(503)));
    for at in (0..7_000).step_by(5) {
        play = play.in_scope(at, Scope::Pool("http".into()), seen(Change::Modified, &pool_gateway()));
    }
    let verdict = play.run();
    assert!(verdict.findings.iter().all(|found| !found.late), "{:?}", verdict.findings);
    assert_eq!(verdict.outcome, Outcome::Passed, "{:?}", verdict.findings);
}

#[test]
fn a_harness_that_was_late_blames_nobody() {
    let mut play = play(vec![probe()], context(), |n, at| {
        unless(n.is_multiple_of(4) && at < 3000, Back::Error(ProbeError::TimedOut))
    });
    for at in (0..4000).step_by(5) {
        play = play.at(at, Body::Lagged { by: 60_000 });
    }
    assert_eq!(play.run().outcome, Outcome::Passed);
}

/// With the limits of a cluster a data path that fails one request in four was late, or passed.
#[test]
fn what_flaps_is_never_late() {
    let context = Context { timing: crate::log::Timing::of(crate::log::TimingProfile::Real), ..context() };
    for one_in in [3, 11, 13] {
        let steps = vec![apply(vec![route(&["http"])]), probe()];
        let flaps = move |n: u32, _| unless(n.is_multiple_of(one_in), Back::Status(503));
        let verdict = play(steps, context.clone(), flaps).run();
        assert_eq!(verdict.outcome, Outcome::Failed, "{one_in}: {:?}", verdict.findings);
        let part = if one_in == 3 { "status" } else { "stays" };
        assert_eq!(verdict.findings[0].expectation, format!("steps[1].probe.{part}"));
    }
}

#[test]
fn logs_from_before_it_was_tested_replay_as_they_were() {
    let mut context = context();
    (context.timing.flaps, context.timing.calm) = (0, Duration::ZERO);
    let verdict = play(vec![probe()], context, |n, _| unless(n > 3, Back::Status(503))).run();
    assert_eq!((verdict.outcome, record(&verdict).n), (Outcome::Passed, 3));
}

/// The same is asked twice; the second time the first answers disagree.
#[rstest]
#[case::woken(vec![probe(), probe()], 1, Some("steps[1].probe.again"))]
#[case::at_once(vec![probe(), probe()], 0, None)]
#[case::something_changed(vec![probe(), apply(vec![route(&["http"])]), probe()], 1, None)]
#[case::something_else_is_asked(vec![asks(Probe { http2: true, ..get(backend("echo")) }), probe()], 1, None)]
fn a_data_path_answers_at_once_as_it_did_before(
    #[case] verbs: Vec<Verb>,
    #[case] disagree: u32,
    #[case] finding: Option<&str>,
) {
    let last = verbs.len() - 1;
    let mut left = disagree;
    let mut play = Play::new(scenario(verbs)).writes(|_, _| (admitted(1), Vec::new())).probes(move |at, id, _| {
        // Long enough after the pool's Gateway was first seen.
        let is_early = id.starts_with("tok-0-") && at.0 < 2_000_000;
        let is_bad = id.starts_with(&format!("tok-{last}-")) && left > 0;
        left -= u32::from(is_bad);
        unless(is_bad || is_early, Back::Status(503))
    });
    let verdict = play.run();
    assert_eq!(verdict.outcome, Outcome::Passed, "{:?}", verdict.findings);
    let found: Vec<_> = verdict.findings.iter().map(|found| (&*found.expectation, found.severity)).collect();
    assert_eq!(found, finding.map(|name| (name, Severity::Warning)).into_iter().collect::<Vec<_>>());
}

/// What comes and goes on a Gateway that others use may be why.
#[test]
fn a_busy_gateway_may_hesitate() {
    let mut asked = 0;
    let mut play = Play::new(scenario(vec![probe(), probe()]))
        .in_scope(1900, Scope::Pool("http".into()), seen(Change::Modified, &pool_gateway()))
        .probes(move |at, id, _| {
            asked += u32::from(id.starts_with("tok-1-"));
            unless(asked == 1 || at.0 < 2_000_000, Back::Status(503))
        });
    let verdict = play.run();
    assert!(verdict.findings.is_empty(), "{:?}", verdict.findings);
}
