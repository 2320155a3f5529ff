//! What only should be so is waited for no longer than what stands around it took.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use gateproof_report::record::{Outcome, Severity};
use rstest::rstest;

use super::driver::*;
use crate::judge::Context;
use crate::log::{Timing, TimingProfile};
use crate::scenario::{Level, Probe};

/// That of a real cluster, where what should be so is waited for so long, and the slowest settle took so long; in seconds.
fn real(optional: u64, slowest: u64) -> Context {
    let optional = Duration::from_secs(optional);
    let timing = Timing { optional, quiet: Duration::from_millis(150), ..Timing::of(TimingProfile::Real) };
    Context { timing, slowest_settle: Duration::from_secs(slowest), ..context() }
}

#[rstest]
#[case::for_a_while(10, 0, 10_010)]
#[case::as_long_as_another_took(10, 25, 25_010)]
#[case::no_longer_than_a_status_may_take(10, 100, 60_000)]
#[case::in_logs_of_before(0, 0, 60_000)]
fn a_status_is_waited_for_that_only_should_be_said(#[case] optional: u64, #[case] slowest: u64, #[case] settled: u64) {
    let earlier = route_version(2, &["http"], &[("http", &["Accepted=False/Odd@1"])]);
    let mut subject = route_subject(&["Accepted=True/Accepted"]);
    subject.conditions[0].level = Level::Should;
    subject.conditions[0].reason_level = Some(Level::Should);
    let steps = vec![apply(vec![route(&["http"])]), settle(vec![subject])];
    let mut play = Play::under(scenario(steps), real(optional, slowest))
        .writes(move |_, _| (admitted(1), vec![(10, modified(&earlier))]));
    let verdict = play.run();
    let last = verdict.stages.last().unwrap();
    assert_eq!((verdict.outcome, last.settled_ms, verdict.findings.len()), (Outcome::Passed, settled, 1));
}

/// What comes meanwhile is as it should be.
#[test]
fn a_status_that_comes_while_it_is_waited_for_is_met() {
    let versions = [(10, "Accepted=False/Odd@1"), (9000, "Accepted=True/Accepted")];
    let versions = versions.map(|(at, condition)| (at, route_version(2, &["http"], &[("http", &[condition])])));
    let mut subject = route_subject(&["Accepted=True/Accepted"]);
    subject.conditions[0].level = Level::Should;
    let steps = vec![apply(vec![route(&["http"])]), settle(vec![subject])];
    let mut play = Play::under(scenario(steps), real(10, 0)).writes(move |_, _| {
        (admitted(1), versions.iter().map(|(delay, version)| (*delay, modified(version))).collect())
    });
    let verdict = play.run();
    assert_eq!((verdict.outcome, verdict.findings.len()), (Outcome::Passed, 0));
}

#[rstest]
#[case::for_a_while(Level::Should, 10, 0, 10)]
#[case::as_long_as_another_took(Level::Should, 10, 25, 25)]
#[case::no_longer_than_a_data_path_may_take(Level::Should, 10, 100, 30)]
#[case::in_logs_of_before(Level::Should, 0, 0, 60)]
#[case::what_must_be(Level::Must, 10, 0, 60)]
fn an_answer_is_waited_for_that_only_should_come(
    #[case] level: Level,
    #[case] optional: u64,
    #[case] slowest: u64,
    #[case] seconds: u64,
) {
    let last = Arc::new(AtomicU64::new(0));
    let seen = Arc::clone(&last);
    let probe = Probe { level, ..get(backend("echo")) };
    let mut play = Play::under(scenario(vec![asks(probe)]), real(optional, slowest)).probes(move |at, _, _| {
        seen.fetch_max(at.0, Ordering::Relaxed);
        Back::Echo("other-pod")
    });
    let verdict = play.run();
    let severity = if level == Level::Must { Severity::Failure } else { Severity::Warning };
    assert!(verdict.findings.iter().all(|finding| finding.severity == severity), "{verdict:?}");
    assert!(!verdict.findings.is_empty());
    // One is sent each second, and the one after the end is the last.
    assert_eq!((last.load(Ordering::Relaxed) + 500_000) / 1_000_000, seconds + 1);
}
