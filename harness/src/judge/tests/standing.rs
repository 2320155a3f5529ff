//! A wrong status that stands still, or a wrong answer: its scenario needs no place meanwhile, and whoever is impatient has the status
//! judged.

use std::time::Duration;

use gateproof_report::record::Outcome;
use rstest::rstest;

use super::driver::*;
use crate::judge::Context;
use crate::log::Timing;

const RIGHT: &str = "Accepted=True/Accepted";
const WRONG: &str = "Accepted=False/NotAllowedByListeners";
const OTHER: &str = "Accepted=False/NoMatchingParent";
const EARLIER: &str = "Accepted=False/NoMatchingParent@0";

fn play(versions: &[(u64, &str)], impatient: bool, slowest: u64) -> Play {
    let version = |said: &str| modified(&route_version(1, &["http"], &[("http", &[said])]));
    let versions: Vec<_> = versions.iter().map(|(at, said)| (*at, version(said))).collect();
    let timing = Timing { impatient, ..context().timing };
    let context = Context { timing, slowest_settle: Duration::from_millis(slowest), ..context() };
    let steps = vec![apply(vec![route(&["http"])]), settle(vec![route_subject(&[RIGHT])])];
    Play::under(scenario(steps), context).writes(move |_, _| (admitted(1), versions.clone()))
}

/// A quiet window is 150 ms, and the write takes 1 ms. What no step asks about and has to be said all the same is waited for behind the
/// last one.
#[rstest]
#[case::wrong(&[(10, WRONG)], 0, &[1211])]
#[case::others_are_as_quick(&[(10, WRONG)], 1200, &[1211])]
#[case::others_take_longer(&[(10, WRONG)], 1500, &[1511])]
#[case::one_took_far_longer(&[(10, WRONG)], 4000, &[2511])]
#[case::another_word(&[(10, WRONG), (1000, OTHER)], 0, &[1211, 2201])]
#[case::right_in_the_end(&[(10, WRONG), (3000, RIGHT)], 0, &[1211, 5651])]
#[case::right(&[(10, RIGHT)], 0, &[1361])]
#[case::nothing_said(&[], 0, &[])]
#[case::nothing_said_of_this_generation(&[(10, EARLIER)], 0, &[])]
fn who_waits_for_a_wrong_status_to_change_needs_no_place(
    #[case] versions: &[(u64, &str)],
    #[case] slowest: u64,
    #[case] expected: &[u64],
) {
    let mut play = play(versions, false, slowest);
    play.run();
    assert_eq!(play.lingers.iter().map(|at| at.0 / 1000).collect::<Vec<_>>(), expected);
}

/// Whatever is judged is read once more first, which takes 1 ms.
#[rstest]
#[case::judged_at_the_end(&[(10, WRONG)], false, 0, Outcome::Failed, 5002)]
#[case::judged_once_it_stands(&[(10, WRONG)], true, 0, Outcome::Failed, 1212)]
#[case::no_sooner_than_slow_ones_come(&[(10, WRONG)], true, 1500, Outcome::Failed, 3012)]
#[case::moved_meanwhile(&[(10, WRONG), (1000, OTHER)], true, 0, Outcome::Failed, 2202)]
#[case::right_before(&[(10, WRONG), (1000, RIGHT)], true, 0, Outcome::Passed, 0)]
#[case::right_after(&[(10, WRONG), (3000, RIGHT)], true, 0, Outcome::Failed, 1212)]
#[case::right_after_for_the_patient(&[(10, WRONG), (3000, RIGHT)], false, 0, Outcome::Passed, 0)]
#[case::nothing_said_of_this_generation(&[(10, EARLIER)], true, 0, Outcome::Failed, 5002)]
fn whoever_is_impatient_has_a_wrong_status_judged_once_it_stands(
    #[case] versions: &[(u64, &str)],
    #[case] impatient: bool,
    #[case] slowest: u64,
    #[case] outcome: Outcome,
    #[case] at: u64,
) {
    let verdict = play(versions, impatient, slowest).run();
    let found = verdict.findings.first().map_or(0, |finding| finding.at_ms);
    assert_eq!((verdict.outcome, found), (outcome, at), "{verdict:?}");
}

/// A wrong answer is asked for again for 5 s. Whoever gets the right one again has its place until the next wrong one stands.
#[rstest]
#[case::never_right(&[404], &[1201])]
#[case::right_at_once(&[200], &[])]
#[case::right_after_a_while(&[404, 404, 404, 200], &[1201])]
#[case::wrong_again(&[404, 200, 404, 404, 200], &[1201, 1208])]
fn who_waits_for_a_wrong_answer_to_change_needs_no_place(#[case] answers: &'static [u16], #[case] expected: &[u64]) {
    let mut asked = 0;
    let mut play = Play::new(scenario(vec![asks(get(status(&[200])))])).probes(move |_, _, _| {
        asked += 1;
        Back::Status(*answers.get(asked - 1).or(answers.last()).unwrap_or(&404))
    });
    play.run();
    assert_eq!(play.lingers.iter().map(|at| at.0 / 1000).collect::<Vec<_>>(), expected);
}
