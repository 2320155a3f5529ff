//! Runs over time: what became of scenarios, and which runs need be kept no longer.
#![allow(clippy::unwrap_used)]

mod support;

use gateproof_report::diff::State;
use gateproof_report::record::{Outcome, RunRecord, Stage};
use gateproof_report::trend::{Course, Keep, Run, Trend, html, render, summary, trend};
use jiff::Timestamp;
use proptest::prelude::*;
use rstest::rstest;
use support::{record, scenario};

/// A run of a day, in which scenario `a` ended so, once for each letter: passed, failed, known to fail, inconclusive. A point: it was not
/// there.
fn day(day: usize, outcomes: &str) -> (String, RunRecord) {
    let one = |(number, letter): (usize, char)| {
        let outcome = match letter {
            'p' => Outcome::Passed,
            'f' => Outcome::Failed,
            'k' => Outcome::KnownFailure,
            'i' => Outcome::Inconclusive,
            _ => return None,
        };
        let name = if number == 0 { "a".to_owned() } else { format!("a#{}", number + 1) };
        Some(scenario(&name, &[], outcome))
    };
    let mut run = record(outcomes.chars().enumerate().filter_map(one).collect());
    run.date = format!("2026-11-{:02}T03:00:00Z", day + 1);
    (format!("runs/{}", day + 1), run)
}

fn days(all: &str) -> Vec<(String, RunRecord)> {
    all.split(' ').enumerate().map(|(number, outcomes)| day(number, outcomes)).collect()
}

#[rstest]
#[case::steady("p p p", Course::Passing, None)]
#[case::broke("p p f f", Course::Broke, Some("runs/3"))]
#[case::broke_while_nobody_looked("p i . f", Course::Broke, Some("runs/4"))]
#[case::broke_as_is_known("p k", Course::Broke, Some("runs/2"))]
#[case::never_passed("f k f", Course::Failing, None)]
#[case::fixed("f f p p", Course::Fixed, Some("runs/3"))]
#[case::to_and_fro("p f p", Course::Flaky, None)]
#[case::both_in_one_run("p pf p", Course::Flaky, None)]
#[case::gone("p p i .", Course::Gone, Some("runs/3"))]
#[case::failed_and_gone("f i", Course::Failing, None)]
#[case::back("p i p", Course::Passing, None)]
#[case::never("i i", Course::Untested, None)]
#[case::alone("f", Course::Failing, None)]
fn what_became_of_a_scenario(#[case] runs: &str, #[case] course: Course, #[case] since: Option<&str>) {
    let found = trend(&days(runs), 0);
    assert_eq!(
        found.scenarios.iter().map(|row| (row.course, row.since.as_deref())).collect::<Vec<_>>(),
        [(course, since)]
    );
}

#[test]
fn the_numbers_of_a_run() {
    let mut mixed = record(vec![
        scenario("a", &[], Outcome::Passed),
        scenario("b", &[], Outcome::Passed),
        scenario("b#2", &[], Outcome::Failed),
        scenario("c", &[], Outcome::KnownFailure),
        scenario("d", &[], Outcome::Late),
        scenario("e", &[], Outcome::Skipped),
    ]);
    let run = summary("here", &mixed);
    assert_eq!((run.passed, run.failed, run.known, run.flaky, run.untested), (1, 2, 1, 1, 1));
    assert_eq!((run.pass_rate, run.settle_ms, run.is_green()), (Some(0.25), None, false));
    mixed.scenarios.retain(|one| matches!(&*one.name, "a" | "c" | "e"));
    assert!(summary("here", &mixed).is_green());
    mixed.interrupted = true;
    assert!(!summary("here", &mixed).is_green());
    assert!(!summary("here", &record(vec![])).is_green());
}

/// A run of `count` scenarios that took so long to settle.
fn timed(number: usize, count: usize, took: u64) -> (String, RunRecord) {
    let one = |index: usize| {
        let mut one = scenario(&format!("s{index:02}"), &[], Outcome::Passed);
        let stage = |stage: &'static str, reached_ms| Stage {
            step: 1,
            stage: stage.into(),
            reached_ms,
            settled_ms: reached_ms,
            limit_ms: 9000,
            waited_ms: 0,
        };
        one.stages = vec![stage("observed", took / 4), stage("programmed", took)];
        one
    };
    let (place, mut run) = day(number, "");
    run.scenarios = (0..count).map(one).collect();
    (place, run)
}

#[test]
fn a_slower_run_is_told() {
    let runs: Vec<_> = (0..6).map(|number| timed(number, 20, if number == 5 { 400 } else { 100 })).collect();
    let found = trend(&runs, 3);
    assert!(found.slower.iter().any(|one| one.stage == "programmed" && one.step.is_none()), "{:?}", found.slower);
    assert_eq!(found.scenarios[0].settle_ms, [125.0, 125.0, 125.0, 125.0, 125.0, 500.0].map(Some));
    let text = render(&found, false);
    assert!(
        text.contains("the last run is slower: programmed took 100 ms before, 400 ms now, over 20 steps"),
        "{text}"
    );
    assert!(
        text.contains("settling   ▃▃▃▃▃█  125 ms → 500 ms") && text.contains("3 older runs are not shown"),
        "{text}"
    );
    assert!(trend(&runs[..5], 0).slower.is_empty());
    let page = html(&found);
    for part in [
        "<p>The last run is slower: programmed took 100 ms before, 400 ms now, over 20 steps.</p>",
        "6 runs, 3 older ones are not shown; 20 scenarios: 20 passing.",
    ] {
        assert!(page.contains(part), "{part} is not in {page}");
    }
}

/// One scenario alone, of which each run has many executions.
#[test]
fn a_slower_scenario_is_told() {
    let runs: Vec<_> = (0..2)
        .map(|number| {
            let (place, mut run) = timed(number, 20, if number == 1 { 400 } else { 100 });
            for (index, one) in run.scenarios.iter_mut().enumerate() {
                one.name = if index == 0 { "a".to_owned() } else { format!("a#{}", index + 1) };
            }
            (place, run)
        })
        .collect();
    let found = trend(&runs, 0);
    assert_eq!((found.scenarios[0].course, found.count(Course::Slower)), (Course::Slower, 1));
    assert!(render(&found, false).contains("slower (1)"));
}

#[test]
fn the_middle_of_an_even_number_lies_between_two() {
    let (_, mut run) = timed(0, 2, 100);
    run.scenarios[1].stages[0].reached_ms += 50;
    assert_eq!(summary("here", &run).settle_ms, Some(150.0));
}

/// A terminal has no room for thousands, a file has.
#[test]
fn so_many_of_one_course_are_shown() {
    let (place, mut run) = timed(0, 203, 100);
    run.scenarios.iter_mut().for_each(|one| one.outcome = Outcome::Failed);
    let found = trend(&[(place, run)], 0);
    let shown = |everything| render(&found, everything).matches("  ✗").count();
    assert_eq!((shown(false), shown(true)), (200, 203));
    assert!(render(&found, false).contains("  and 3 more\n"));
}

#[test]
fn what_differs_of_the_runs_is_noted() {
    let mut runs = days("p p");
    runs[1].1.target.gateway_api_version = Some("v1.7.0".to_owned());
    runs[1].1.target.name = "other".to_owned();
    runs[1].1.producer = "gateproof 0.2.0".to_owned();
    runs[1].1.interrupted = true;
    let notes = trend(&runs, 0).notes;
    assert_eq!(
        notes,
        [
            "the runs are of several targets: embedded, other",
            "the runs are of several releases: v1.6.1, v1.7.0",
            "the runs are of several versions of the harness: gateproof 0.1.0, gateproof 0.2.0",
            "runs/2 was broken off"
        ]
    );
    assert_eq!(trend(&days("p p"), 0).notes, [] as [String; 0]);
}

/// Scenarios of every course.
fn whole() -> Trend {
    let courses = [
        ("broke", "pppf"),
        ("flaky", "pfpp"),
        ("failing", "ffff"),
        ("fixed", "ffpp"),
        ("gone", "ppi."),
        ("steady", "pppp"),
    ];
    let runs: Vec<_> = (0..4)
        .map(|number| {
            let (place, mut run) = day(number, "");
            run.scenarios = courses
                .iter()
                .filter_map(|(name, outcomes)| {
                    let outcome = match outcomes.as_bytes()[number] {
                        b'p' => Outcome::Passed,
                        b'f' => Outcome::Failed,
                        b'i' => Outcome::Inconclusive,
                        _ => return None,
                    };
                    let mut one = scenario(name, &[], outcome);
                    if *name == "steady" {
                        one.stages = timed(0, 1, 40 + 10 * number as u64).1.scenarios[0].stages.clone();
                    }
                    Some(one)
                })
                .collect();
            (place, run)
        })
        .collect();
    trend(&runs, 0)
}

#[test]
fn the_whole_as_it_is_read() {
    insta::assert_snapshot!(render(&whole(), true));
}

#[test]
fn the_whole_as_a_page() {
    let page = html(&whole());
    insta::assert_snapshot!(page.split_once("</style>").unwrap().1);
}

#[test]
fn only_news_is_told_unless_everything_is_asked_for() {
    let text = render(&whole(), false);
    assert!(!text.contains("  steady") && text.contains("1 passing"), "{text}");
    assert!(text.contains("✓✓✓✗  broke, since runs/4"), "{text}");
}

#[test]
fn what_others_wrote_is_no_markup() {
    let hostile = "</title><script>\" onload='x' \u{202e}\u{1b}[2K";
    let (_, mut run) = day(0, "f");
    run.scenarios[0].name = hostile.to_owned();
    run.target.name = hostile.to_owned();
    run.date = hostile.to_owned();
    let (_, mut before) = day(0, "p");
    hostile.clone_into(&mut before.scenarios[0].name);
    let runs = [("b".to_owned(), before), (hostile.to_owned(), run)];
    let found = trend(&runs, 0);
    assert!(found.scenarios[0].since.is_some() && !found.notes.is_empty());
    let page = html(&found);
    for markup in ["<script", "\" onload", "\u{202e}", "\u{1b}"] {
        assert!(!page.contains(markup), "{markup}");
    }
    let text = render(&found, true);
    assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text:?}");
}

fn runs(all: &str) -> Vec<Run> {
    days(all).iter().map(|(place, record)| summary(place, record)).collect()
}

/// Ten days after the first run, counting from midnight to three.
fn now() -> Timestamp {
    "2026-11-11T03:00:00Z".parse().unwrap()
}

#[rstest]
#[case::no_rule("p p p", None, None, &[])]
#[case::by_number("p p p p", Some(2), None, &["runs/1", "runs/2"])]
#[case::the_last_stays("p p", Some(0), None, &["runs/1"])]
#[case::more_than_there_are("p p", Some(7), None, &[])]
#[case::by_days("p p p p", None, Some(8), &["runs/1", "runs/2"])]
#[case::either_keeps("p p p p", Some(1), Some(9), &["runs/1"])]
#[case::the_last_green_one_stays("p p f f", Some(1), None, &["runs/1", "runs/3"])]
#[case::nothing_green("f f f", Some(1), None, &["runs/1", "runs/2"])]
#[case::by_no_day("p p", None, Some(0), &["runs/1"])]
fn old_runs_are_prunable(
    #[case] all: &str,
    #[case] newest: Option<usize>,
    #[case] days: Option<u32>,
    #[case] expected: &[&str],
) {
    let old = Keep { newest, days }.prunable(&runs(all), now());
    assert_eq!(old.iter().map(|one| &*one.place).collect::<Vec<_>>(), expected);
}

/// Nobody knows how old it is.
#[test]
fn a_run_without_a_date_is_not_old() {
    let mut all = runs("f f p");
    all[1].date = "yesterday".to_owned();
    let old = Keep { newest: None, days: Some(1) }.prunable(&all, now());
    assert_eq!(old.iter().map(|one| &*one.place).collect::<Vec<_>>(), ["runs/1"]);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    /// Every scenario has one course, and every run one state for it.
    #[test]
    fn any_series_has_a_trend(all in "[pfki.]{1,3}( [pfki.]{1,3}){0,6}") {
        let found = trend(&days(&all), 0);
        let count: usize = Course::ALL.iter().map(|course| found.count(*course)).sum();
        prop_assert_eq!(count, found.scenarios.len());
        for row in &found.scenarios {
            prop_assert_eq!(row.states.len(), found.runs.len());
            if row.course == Course::Passing {
                prop_assert!(row.states.iter().all(|state| matches!(state, State::Passed | State::Untested)));
            }
        }
        let _ = (render(&found, true), html(&found));
    }
}
