//! Conditions that have to be there whatever the state, and that no step asks for.

use gateproof_report::record::Outcome;
use rstest::rstest;
use serde_json::{Value, json};

use super::driver::*;
use crate::judge::Verdict;
use crate::log::{Change, Elapsed, Event};
use crate::scenario::Verb;

const BROKEN: &str = "contract/HTTPRoute/always-present";

fn routed(conditions: &[&str]) -> Value {
    route_version(1, &["http"], &[("http", conditions)])
}

/// Accepted alone is waited for; versions come when they do.
fn played(versions: Vec<(u64, Value)>, then: Vec<Verb>) -> Play {
    let steps = [vec![apply(vec![route(&["http"])]), settle(vec![route_subject(&["Accepted=True"])])], then].concat();
    let mut play = Play::new(scenario(steps));
    for (at, version) in versions {
        play = play.at(at, seen(Change::Modified, &version));
    }
    play
}

fn broken(verdict: &Verdict) -> Vec<&str> {
    verdict.contract.iter().filter(|(name, _)| name == BROKEN).map(|(_, breach)| breach.path.as_str()).collect()
}

const ACCEPTED: &[&str] = &["Accepted=True/Accepted"];
/// The budget of a route and its grace, from when the step is over.
const TOO_LATE: u64 = 60_000;

#[rstest]
#[case::never(vec![(20, routed(ACCEPTED))], true)]
#[case::from_the_first(vec![(20, routed(GOOD))], false)]
#[case::soon(vec![(20, routed(ACCEPTED)), (60, routed(GOOD))], false)]
#[case::within_the_budget(vec![(20, routed(ACCEPTED)), (4000, routed(GOOD))], false)]
#[case::too_late(vec![(20, routed(ACCEPTED)), (TOO_LATE, routed(GOOD))], true)]
fn what_must_always_be_there_gets_the_time_of_a_settle(#[case] versions: Vec<(u64, Value)>, #[case] is_broken: bool) {
    let verdict = played(versions, Vec::new()).run();
    assert_eq!(verdict.outcome, Outcome::Passed, "{verdict:?}");
    assert!(verdict.findings.is_empty());
    assert_eq!(broken(&verdict).is_empty(), !is_broken, "{:?}", verdict.contract);
    if is_broken {
        assert!(broken(&verdict)[0].ends_with("[ResolvedRefs]"), "{:?}", verdict.contract);
    }
}

/// Nothing is said of what is gone, of what nobody has spoken of, and of what others were seen to change.
#[rstest]
#[case::gone(played(vec![(20, routed(ACCEPTED))], vec![delete(vec![object("HTTPRoute", "route")])]).writes(|step, _| {
    let gone = vec![(1, seen(Change::Deleted, &routed(ACCEPTED)))];
    (admitted(1), if step == 2 { gone } else { Vec::new() })
}))]
#[case::of_another_controller({
    let mut version = routed(GOOD);
    let mut theirs = routed(ACCEPTED)["status"]["parents"][0].clone();
    theirs["controllerName"] = json!("example.test/other");
    version["status"]["parents"].as_array_mut().unwrap().push(theirs);
    played(vec![(20, version)], Vec::new())
})]
fn nothing_is_said_of_what_is_not_the_targets(#[case] mut play: Play) {
    let verdict = play.run();
    assert_eq!(broken(&verdict), Vec::<&str>::new(), "{verdict:?}");
    assert_eq!(verdict.outcome, Outcome::Passed, "{verdict:?}");
}

/// A watch that is wrong is not believed: what a read shows is there.
#[test]
fn what_the_watch_does_not_show_is_not_missing() {
    let mut play = played(vec![(20, routed(ACCEPTED))], Vec::new());
    play.hidden = vec![(Elapsed(300_000), routed(GOOD))];
    let verdict = play.run();
    assert_eq!(broken(&verdict), Vec::<&str>::new(), "{verdict:?}");
}

/// Logs of runs that did not wait are of no less worth.
#[test]
fn a_log_that_ends_with_its_steps_has_passed() {
    let mut play = played(vec![(20, routed(ACCEPTED))], Vec::new());
    play.run();
    let steps = || scenario(vec![apply(vec![route(&["http"])]), settle(vec![route_subject(&["Accepted=True"])])]);
    let mut log: Vec<Event> = play.log.iter().filter(|event| event.at <= Elapsed(200_000)).cloned().collect();
    assert!(log.len() < play.log.len() - 1, "it was waited for");
    log.extend(play.log.last().cloned());
    let verdict = replay(steps(), context(), &log);
    assert_eq!(verdict.outcome, Outcome::Passed, "{verdict:?}");
}
