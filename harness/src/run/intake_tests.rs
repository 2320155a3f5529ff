#![allow(clippy::unwrap_used)]
use std::collections::VecDeque;

use proptest::prelude::*;
use rstest::rstest;

use super::*;

const TICK: Duration = Duration::from_millis(5);
const QUIET: Duration = Duration::from_millis(150);
const BUDGET: Duration = Duration::from_secs(180);

fn key(name: usize) -> ObjectKey {
    ObjectKey { group: "g".into(), kind: "Gateway".into(), namespace: Some("n".into()), name: name.to_string() }
}

/// How much longer than alone a Gateway takes beside so many.
type Slowness = fn(f64) -> f64;

/// Ten have room; more share what ten have.
fn shares_a_node(at_once: f64) -> f64 {
    (at_once / 10.0).max(1.0)
}

fn has_room_for_all(_: f64) -> f64 {
    1.0
}

/// More than so many go around in circles.
fn fails_beyond_a_number(at_once: f64) -> f64 {
    if at_once > 30.0 { 20.0 } else { shares_a_node(at_once) }
}

/// What a run of jobs with a Gateway each comes to: how long all take, how long each takes on average until it is programmed, and the
/// most at once.
fn run(jobs: usize, alone: f64, slowness: Slowness, intake: &mut Intake) -> (f64, f64, usize) {
    let mut pending: VecDeque<usize> = (0..jobs).collect();
    let mut coming: BTreeMap<usize, (f64, Elapsed)> = BTreeMap::new();
    let mut going: BTreeMap<usize, Elapsed> = BTreeMap::new();
    let (mut now, mut took, mut most) = (Elapsed(0), 0.0, 0);
    while !(pending.is_empty() && coming.is_empty() && going.is_empty()) {
        while let Some(job) = pending.front().copied().filter(|_| intake.admits(1)) {
            pending.pop_front();
            intake.begins(job, 1);
            intake.moved(job, Moved::Made(key(job)), now);
            coming.insert(job, (alone, now));
        }
        most = most.max(coming.len() + going.len());
        let pace = TICK.as_secs_f64() / slowness(number(coming.len() + going.len()));
        now = now + TICK;
        coming.values_mut().for_each(|(left, _)| *left -= pace);
        let up: Vec<usize> = coming.iter().filter(|(_, (left, _))| *left <= 0.0).map(|(job, _)| *job).collect();
        for job in up {
            let (_, since) = coming.remove(&job).unwrap();
            took += (now - since).as_secs_f64();
            intake.moved(job, Moved::Programmed(key(job)), now);
            intake.ends(job);
            going.insert(job, now + Duration::from_secs_f64(alone / 2.0));
        }
        for job in going.iter().filter(|(_, gone)| **gone <= now).map(|(job, _)| *job).collect::<Vec<_>>() {
            going.remove(&job);
            intake.over(job);
        }
    }
    ((now - Elapsed(0)).as_secs_f64(), took / number(jobs), most)
}

/// Beside all at once: how much longer the whole may take, and what part of the time one may take.
#[rstest]
#[case::a_node(0.55, shares_a_node, 1.25, 0.3)]
#[case::at_a_real_pace(11.0, shares_a_node, 1.25, 0.3)]
#[case::that_fails(11.0, fails_beyond_a_number, 0.6, 0.15)]
fn a_few_at_a_time_are_there_sooner_and_all_not_much_later(
    #[case] alone: f64,
    #[case] slowness: Slowness,
    #[case] longer: f64,
    #[case] sooner: f64,
) {
    let mut all = Intake { limit: None, ..Intake::new(Duration::MAX, BUDGET) };
    let (wall, took, _) = run(90, alone, slowness, &mut all);
    let (few_wall, few_took, most) = run(90, alone, slowness, &mut Intake::new(QUIET, BUDGET));
    assert!(few_wall <= wall * longer, "{few_wall} s, {wall} s with all at once, {most} at most");
    assert!(few_took <= took * sooner, "{few_took} s each, {took} s with all at once, {most} at most");
}

/// The limit once so many Gateways have come that were made then.
fn turn(intake: &mut Intake, jobs: std::ops::Range<usize>, since: u64, until: u64, full: bool) -> usize {
    let at = |secs: u64| Elapsed(secs * 1_000_000);
    for job in jobs.clone() {
        intake.begins(job, 1);
        intake.moved(job, Moved::Made(key(job)), at(since));
    }
    if full {
        assert!(!intake.admits(1000));
    }
    for job in jobs {
        intake.moved(job, Moved::Programmed(key(job)), at(until));
        intake.over(job);
    }
    intake.limit().unwrap()
}

/// What comes of a limit is known of those that were made under it alone.
#[test]
fn where_each_takes_much_longer_fewer_come_and_then_more_again() {
    let mut intake = Intake::new(QUIET, BUDGET);
    let mut turn = |jobs, since, until, full| turn(&mut intake, jobs, since, until, full);
    assert_eq!(turn(0..12, 0, 10, false), 12);
    assert_eq!(turn(0..12, 10, 24, true), 24);
    assert_eq!(turn(0..24, 24, 42, true), 24);
    // Made before the turn began.
    assert_eq!(turn(0..24, 41, 100, true), 24);
    assert_eq!(turn(0..24, 100, 130, true), 12);
    assert_eq!(turn(0..12, 130, 140, true), 15);
    assert_eq!(turn(0..15, 140, 640, true), FEWEST);
}

/// Of a node that is at work already: each is there soon enough, and yet more of them are of no use.
#[test]
fn where_more_at_once_do_not_come_faster_there_are_no_more() {
    let mut intake = Intake::new(QUIET, BUDGET);
    let mut turn = |jobs, since, until, full| turn(&mut intake, jobs, since, until, full);
    assert_eq!(turn(0..12, 0, 10, true), 24);
    assert_eq!(turn(0..24, 10, 24, true), 18);
    assert_eq!(turn(0..18, 24, 34, true), 18);
    // Neither are they of a turn in which nobody had to wait, nor of two.
    assert_eq!(turn(0..18, 34, 44, false), 18);
    assert_eq!(turn(0..18, 44, 54, true), 18);
    // Now there are too many even so, and what is of use is looked for anew.
    assert_eq!(turn(0..18, 54, 75, true), 12);
    assert_eq!(turn(0..12, 75, 85, true), 15);
    assert_eq!(turn(0..15, 85, 96, true), 19);
    // Nobody had to wait, so nothing is known of how many would have come.
    assert_eq!(turn(0..19, 96, 110, false), 19);
}

/// A busy moment of others does not hold for the whole run.
#[test]
fn whether_more_are_of_use_is_asked_again() {
    let mut intake = Intake::new(QUIET, BUDGET);
    let mut turn = |jobs, since, until, full| turn(&mut intake, jobs, since, until, full);
    assert_eq!(turn(0..12, 0, 10, true), 24);
    assert_eq!(turn(0..24, 10, 29, true), 18);
    for start in [29, 39, 49] {
        assert_eq!(turn(0..18, start, start + 10, true), 18);
    }
    // By a little, as there were too many once.
    assert_eq!(turn(0..18, 59, 69, true), 23);
    assert_eq!(turn(0..23, 69, 79, true), 29);
}

#[test]
fn where_there_is_room_more_and_more_come_at_once() {
    let mut intake = Intake::new(QUIET, BUDGET);
    let (_, took, most) = run(200, 11.0, has_room_for_all, &mut intake);
    assert!((11.0..11.1).contains(&took) && most >= FIRST * 4, "{took} s, {most} at once");
}

#[test]
fn where_gateways_are_there_at_once_nobody_waits() {
    let mut intake = Intake::new(QUIET, BUDGET);
    run(20, 0.02, has_room_for_all, &mut intake);
    assert_eq!(intake.limit(), None);
    // One that takes a while after all is noticed.
    run(1, 5.0, has_room_for_all, &mut intake);
    assert_eq!(intake.limit(), Some(FIRST));
}

#[test]
fn those_that_go_take_the_place_of_those_that_would_come() {
    let mut intake = Intake::new(QUIET, BUDGET);
    intake.begins(0, FIRST);
    for name in 0..FIRST {
        intake.moved(0, Moved::Made(key(name)), Elapsed(0));
        intake.moved(0, Moved::Programmed(key(name)), Elapsed(5_000_000));
    }
    // Whoever is there is in nobody's way.
    assert!(intake.admits(FIRST));
    intake.ends(0);
    assert!(!intake.admits(1));
    intake.over(0);
    assert!(intake.admits(FIRST));
}

#[test]
fn one_that_says_nothing_new_gives_up_its_place_and_no_sooner() {
    let at = |secs: u64| Elapsed(secs * 1_000_000);
    let mut intake = Intake::new(QUIET, BUDGET);
    for job in 0..FIRST {
        intake.begins(job, 1);
        intake.moved(job, Moved::Made(key(job)), at(0));
    }
    // Nothing has come yet, so half of the budget.
    assert_eq!(intake.next(), Some(at(90)));
    for job in 1..FIRST {
        intake.moved(job, Moved::Programmed(key(job)), at(10));
        intake.ends(job);
        intake.over(job);
    }
    intake.moved(0, Moved::Changed(key(0)), at(11));
    assert_eq!(intake.next(), Some(at(41)));
    intake.gives_up(at(40));
    assert!(!intake.admits(FIRST));
    intake.gives_up(at(41));
    assert!(intake.admits(FIRST));
    assert_eq!(intake.next(), None);
    // What comes of it after all says nothing of how long Gateways take.
    intake.moved(0, Moved::Programmed(key(0)), at(45));
    assert_eq!(intake.limit(), Some(FIRST));
    // It is to be removed all the same.
    intake.ends(0);
    assert!(!intake.admits(FIRST));
}

#[test]
fn what_is_refused_or_gone_needs_no_place() {
    let mut intake = Intake::new(QUIET, BUDGET);
    intake.begins(0, FIRST);
    assert!(!intake.admits(1));
    intake.moved(0, Moved::Refused, Elapsed(1));
    assert!(intake.admits(1) && !intake.admits(2));
    intake.moved(0, Moved::Made(key(0)), Elapsed(2));
    assert!(!intake.admits(2));
    intake.moved(0, Moved::Gone(key(0)), Elapsed(3));
    assert!(intake.admits(2));
}

#[test]
fn who_asks_for_more_than_there_may_be_begins_once_nobody_else_is_there() {
    let mut intake = Intake::new(QUIET, BUDGET);
    intake.begins(0, 1);
    assert!(!intake.admits(FIRST + 3));
    intake.over(0);
    assert!(intake.admits(FIRST + 3));
}

proptest! {
    /// Whatever is told in whatever order: somebody is always let in once nobody is left, and the limit lets in at least one.
    #[test]
    fn it_never_locks_everybody_out(told in proptest::collection::vec((0..6_u8, 0..5_usize, 0..4_usize, 0..3_000_000_u64), 0..200)) {
        let mut intake = Intake::new(QUIET, Duration::from_secs(5));
        let mut now = Elapsed(0);
        for (what, job, name, by) in told {
            now = Elapsed(now.0 + by);
            match what {
                0 => if intake.admits(name) { intake.begins(job, name) },
                1 => intake.moved(job, Moved::Made(key(name)), now),
                2 => intake.moved(job, Moved::Programmed(key(name)), now),
                3 => intake.moved(job, Moved::Gone(key(name)), now),
                4 => intake.ends(job),
                _ => intake.over(job),
            }
            intake.gives_up(now);
            prop_assert!(intake.limit().is_none_or(|limit| limit > 0));
            prop_assert!(intake.next().is_none_or(|next| next > now));
        }
        (0..5).for_each(|job| intake.over(job));
        prop_assert!(intake.admits(1) && intake.admits(100));
        prop_assert_eq!(intake.next(), None);
    }
}
