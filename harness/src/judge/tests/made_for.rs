//! What is carried by objects that a target made for another one.

use std::collections::BTreeMap;

use gateproof_report::record::{Outcome, Severity};
use indexmap::IndexMap;
use rstest::rstest;
use serde_json::json;

use super::driver::*;
use crate::judge::{Context, Verdict};
use crate::log::{Carrier, Elapsed, Timing, TimingProfile};
use crate::scenario::{FieldTest, Level, MadeFor, Verb};

/// Behind every limit of time there is.
const EVER: u64 = 10_000_000;

fn carrier(kind: &str, label: Option<&str>) -> Carrier {
    let labels = label.map(|value| ("team".to_owned(), value.to_owned())).into_iter().collect();
    Carrier { kind: kind.to_owned(), name: format!("own-{kind}"), labels, annotations: BTreeMap::new() }
}

/// An object of a kind that carries something from one time to another, in milliseconds.
type There = (&'static str, Option<&'static str>, u64, u64);

fn expected(test: FieldTest) -> MadeFor {
    MadeFor {
        object: object("Gateway", "own"),
        label: "gateway-name".to_owned(),
        kinds: Vec::new(),
        labels: IndexMap::from([("team".to_owned(), test)]),
        annotations: IndexMap::new(),
        some_of_each: false,
        level: Level::Must,
    }
}

/// The play of such a step behind a write, with what is there.
fn play(expected: MadeFor, context: Context, there: &[There]) -> Play {
    let step = Verb::Made(Box::new(expected));
    let mut play = Play::under(scenario(vec![apply(vec![route(&["http"])]), step]), context);
    let at = |millis: u64| Elapsed(millis * 1000);
    play.made = there.iter().map(|(kind, label, from, until)| (at(*from), at(*until), carrier(kind, *label))).collect();
    play
}

fn asked(test: FieldTest, change: impl FnOnce(&mut MadeFor), there: &[There]) -> Verdict {
    let mut expected = expected(test);
    change(&mut expected);
    play(expected, context(), there).run()
}

fn blue() -> FieldTest {
    FieldTest::Equals(json!("blue"))
}

#[rstest]
#[case::carried(&[("Service", Some("blue"), 0, EVER)], None)]
#[case::by_all(&[("Service", Some("blue"), 0, EVER), ("Pod", Some("blue"), 0, EVER)], None)]
#[case::at_last(&[("Service", None, 0, 300), ("Service", Some("blue"), 300, EVER)], None)]
#[case::not_by_one(&[("Service", Some("blue"), 0, EVER), ("Pod", None, 0, EVER)], Some("1 of 2: Pod/own-Pod: nothing"))]
#[case::otherwise(&[("Service", Some("red"), 0, EVER)], Some("1 of 1: Service/own-Service: \"red\""))]
#[case::for_a_moment(&[("Service", None, 0, 300), ("Service", Some("blue"), 300, 310), ("Service", None, 310, EVER)], Some("nothing"))]
#[case::not_by_what_comes_next(&[("Service", Some("blue"), 0, EVER), ("Pod", None, 2, EVER)], Some("Pod"))]
fn every_object_carries_what_is_asked(#[case] there: &[There], #[case] seen: Option<&str>) {
    let verdict = asked(blue(), |_| {}, there);
    let Some(seen) = seen else { return assert_eq!(verdict.outcome, Outcome::Passed, "{verdict:?}") };
    assert_eq!(verdict.outcome, Outcome::Failed, "{verdict:?}");
    let [finding] = &verdict.findings[..] else { panic!("{verdict:?}") };
    assert_eq!(finding.expectation, "steps[1].made.labels[team]");
    assert!(finding.seen.contains(seen), "{}", finding.seen);
    assert!(!finding.late);
}

#[rstest]
#[case::not_there(&[("Service", None, 0, EVER)], true)]
#[case::there(&[("Service", Some("blue"), 0, EVER)], false)]
#[case::taken_away(&[("Service", Some("blue"), 0, 300), ("Service", None, 300, EVER)], true)]
fn what_must_not_be_carried_is_not(#[case] there: &[There], #[case] passes: bool) {
    let verdict = asked(FieldTest::Absent, |_| {}, there);
    assert_eq!(verdict.outcome == Outcome::Passed, passes, "{verdict:?}");
}

#[rstest]
#[case::one_of_two(&[("Pod", Some("blue"), 0, EVER), ("Pod", None, 0, EVER)], true)]
#[case::none_of_a_kind(&[("Pod", Some("blue"), 0, EVER), ("Service", None, 0, EVER)], false)]
fn one_object_of_each_kind_can_be_enough(#[case] there: &[There], #[case] passes: bool) {
    let verdict = asked(blue(), |made| made.some_of_each = true, there);
    assert_eq!(verdict.outcome == Outcome::Passed, passes, "{verdict:?}");
}

/// Who makes nothing in the cluster, or makes it elsewhere, has not failed.
#[test]
fn without_any_object_nothing_is_said() {
    let verdict = asked(blue(), |_| {}, &[]);
    assert_eq!(verdict.outcome, Outcome::Inconclusive, "{verdict:?}");
    assert!(verdict.reason.unwrap_or_default().contains("names it by the label gateway-name"));
}

#[test]
fn objects_that_come_late_are_late() {
    let context = Context { timing: Timing::of(TimingProfile::Real), ..context() };
    let late = u64::try_from(context.timing.gateway.as_millis()).unwrap() + 2000;
    let verdict = play(expected(blue()), context, &[("Service", Some("blue"), late, EVER)]).run();
    assert_eq!(verdict.outcome, Outcome::Late, "{verdict:?}");
    assert_eq!(verdict.findings.iter().map(|one| one.late).collect::<Vec<_>>(), [true], "{verdict:?}");
}

#[test]
fn what_was_right_in_time_is_not_late_with_the_rest() {
    let context = Context { timing: Timing::of(TimingProfile::Real), ..context() };
    let late = u64::try_from(context.timing.gateway.as_millis()).unwrap() + 2000;
    let mut expected = expected(blue());
    expected.annotations.insert("past".to_owned(), FieldTest::Absent);
    let there = [("Service", None, 0, late), ("Service", Some("blue"), late, EVER)];
    let verdict = play(expected, context, &there).run();
    let named: Vec<_> = verdict.findings.iter().map(|one| one.expectation.as_str()).collect();
    assert_eq!(named, ["steps[1].made.labels[team]"], "{verdict:?}");
}

#[test]
fn what_only_should_be_warns() {
    let verdict = asked(blue(), |made| made.level = Level::Should, &[("Service", None, 0, EVER)]);
    assert_eq!(verdict.outcome, Outcome::Passed, "{verdict:?}");
    assert_eq!(verdict.findings.iter().map(|one| one.severity).collect::<Vec<_>>(), [Severity::Warning]);
}

#[test]
fn what_cannot_be_listed_is_nobodys_failure() {
    let mut play = play(expected(blue()), context(), &[]);
    play.silent_from = Some(Elapsed(0));
    let verdict = play.run();
    assert_eq!(verdict.outcome, Outcome::Inconclusive, "{verdict:?}");
}
