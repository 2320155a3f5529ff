#![allow(clippy::unwrap_used)]
use std::collections::VecDeque;

use proptest::prelude::*;
use rstest::rstest;

use super::*;

const QUIET: Duration = Duration::from_millis(150);
const BUDGET: Duration = Duration::from_secs(180);

fn key(name: usize) -> ObjectKey {
    ObjectKey { group: "g".into(), kind: "Gateway".into(), namespace: Some("n".into()), name: name.to_string() }
}

/// What Gateways get their machines from: what is to be done for one is shared by all that come or go.
#[derive(Clone, Copy)]
struct Node {
    cores: f64,
    /// Seconds of a core until one that was made is there, and how long it waits besides.
    coming: f64,
    waits: f64,
    /// Seconds of a core until one is gone.
    going: f64,
    /// What part of its cores each that comes or goes costs beside that.
    friction: f64,
    /// More than so many go around in circles, at a twentieth of the pace.
    holds: usize,
}

const TWO_CORES: Node = Node { cores: 2.0, coming: 1.7, waits: 9.0, going: 0.8, friction: 0.01, holds: usize::MAX };

impl Node {
    /// The same, at a pace that is so many times this one.
    fn faster(self, times: f64) -> Node {
        Node { coming: self.coming / times, waits: self.waits / times, going: self.going / times, ..self }
    }

    /// What each that comes or goes gets of a core.
    fn part(&self, at_once: usize) -> f64 {
        let cores = self.cores / (1.0 + self.friction * number(at_once));
        let part = (cores / number(at_once)).min(1.0);
        if at_once > self.holds { part / 20.0 } else { part }
    }
}

/// What a run of jobs with a Gateway each comes to: how long all take, how long each takes on average until it is programmed, and the
/// most that come or go at once.
fn run(jobs: usize, node: Node, intake: &mut Intake) -> (f64, f64, usize) {
    let tick = Duration::from_secs_f64(node.waits / 200.0);
    let mut pending: VecDeque<usize> = (0..jobs).collect();
    let mut coming: BTreeMap<usize, (f64, Elapsed)> = BTreeMap::new();
    let mut waiting: BTreeMap<usize, (f64, Elapsed)> = BTreeMap::new();
    let mut going: BTreeMap<usize, f64> = BTreeMap::new();
    let (mut now, mut took, mut most) = (Elapsed(0), 0.0, 0);
    while !(pending.is_empty() && coming.is_empty() && waiting.is_empty() && going.is_empty()) {
        while let Some(job) = pending.front().copied().filter(|_| intake.admits(1)) {
            pending.pop_front();
            intake.begins(job, 1);
            intake.moved(job, Moved::Made(key(job)), now);
            coming.insert(job, (node.coming, now));
        }
        most = most.max(coming.len() + waiting.len() + going.len());
        let pace = tick.as_secs_f64() * node.part(coming.len() + going.len());
        now = now + tick;
        coming.values_mut().for_each(|(left, _)| *left -= pace);
        waiting.values_mut().for_each(|(left, _)| *left -= tick.as_secs_f64());
        going.values_mut().for_each(|left| *left -= pace);
        waiting.extend(
            coming.extract_if(.., |_, (left, _)| *left <= 0.0).map(|(job, (_, since))| (job, (node.waits, since))),
        );
        for (job, (_, since)) in waiting.extract_if(.., |_, (left, _)| *left <= 0.0) {
            took += (now - since).as_secs_f64();
            intake.moved(job, Moved::Programmed(key(job)), now);
            intake.ends(job);
            going.insert(job, node.going);
        }
        going.extract_if(.., |_, left| *left <= 0.0).for_each(|(job, _)| intake.over(job));
    }
    ((now - Elapsed(0)).as_secs_f64(), took / number(jobs), most)
}

/// Beside all at once: how much longer the whole may take, and what part of the time one may take.
#[rstest]
#[case::at_a_real_pace(TWO_CORES, 0.8, 0.15)]
#[case::at_that_of_the_embedded_target(TWO_CORES.faster(20.0), 0.8, 0.15)]
#[case::that_loses_nothing(Node { friction: 0.0, ..TWO_CORES }, 1.3, 0.3)]
#[case::that_fails(Node { holds: 30, ..TWO_CORES }, 0.1, 0.05)]
#[case::of_many_cores(Node { cores: 16.0, ..TWO_CORES }, 1.5, 0.8)]
fn a_few_at_a_time_are_there_sooner_and_all_not_much_later(
    #[case] node: Node,
    #[case] longer: f64,
    #[case] sooner: f64,
) {
    let mut all = Intake { limit: None, ..Intake::new(Duration::MAX, BUDGET) };
    let (wall, took, _) = run(200, node, &mut all);
    let (few_wall, few_took, most) = run(200, node, &mut Intake::new(QUIET, BUDGET));
    assert!(few_wall <= wall * longer, "{few_wall} s, {wall} s with all at once, {most} at most");
    assert!(few_took <= took * sooner, "{few_took} s each, {took} s with all at once, {most} at most");
}

/// How long each of so many waits at most until it is there, where one is made after the other, the pool's before them.
fn queued(pool: u64, jobs: usize, each: u64, intake: &mut Intake) -> u64 {
    let mut pending: VecDeque<usize> = (0..jobs).collect();
    // When the next one in the queue is there.
    let (mut free, mut longest) = (0, 0);
    let mut coming: VecDeque<(usize, u64, u64)> = VecDeque::new();
    for now in pool.. {
        intake.gives_up(Elapsed(now * 1_000_000));
        while let Some(job) = pending.front().copied().filter(|_| intake.admits(1)) {
            pending.pop_front();
            intake.begins(job, 1);
            intake.moved(job, Moved::Made(key(job)), Elapsed(now * 1_000_000));
            free = free.max(now) + each;
            coming.push_back((job, now, free));
        }
        while let Some((job, since, _)) = coming.pop_front_if(|(_, _, there)| *there <= now) {
            longest = longest.max(now - since);
            intake.moved(job, Moved::Programmed(key(job)), Elapsed(now * 1_000_000));
            intake.ends(job);
            intake.over(job);
        }
        if pending.is_empty() && coming.is_empty() {
            break;
        }
    }
    longest
}

/// Such as load balancers of a cloud, which are made one by one.
#[rstest]
#[case::known_by_the_pool(19, 40)]
#[case::known_by_a_little_pool(3, 30)]
fn where_one_is_made_after_the_other_none_waits_beyond_its_budget(#[case] pool: u64, #[case] each: u64) {
    let took = pool * each;
    let mut intake = Intake::new(QUIET, BUDGET).behind((Duration::from_secs(each), Duration::from_secs(took)));
    assert!(queued(took, 30, each, &mut intake) <= BUDGET.as_secs());
}

/// Nobody knows it before the first of them have not come.
#[test]
fn where_the_first_ones_do_not_come_few_follow_them() {
    let mut intake = Intake::new(QUIET, BUDGET);
    for job in 0..FIRST {
        intake.begins(job, 1);
        intake.moved(job, Moved::Made(key(job)), Elapsed(number(job) as u64 * 1000));
    }
    for came in 0..2 {
        intake.moved(came, Moved::Programmed(key(came)), Elapsed((came as u64 + 1) * 40_000_000));
    }
    let mut given_up = 0;
    while intake.limit() == Some(FIRST) {
        intake.gives_up(intake.next().unwrap());
        given_up += 1;
    }
    assert_eq!((intake.limit(), given_up), (Some(FEWEST), 3));
}

/// Each that comes takes as long, however many come.
#[rstest]
#[case::slowly(100, 150)]
#[case::the_only_one_of_the_pool(60, 60)]
#[case::soon(5, 20)]
fn where_all_come_at_once_more_are_let_in(#[case] first: u64, #[case] last: u64) {
    let mut intake = Intake::new(QUIET, BUDGET).behind((Duration::from_secs(first), Duration::from_secs(last)));
    assert_eq!(intake.limit(), Some(FIRST));
    assert_eq!(turn(&mut intake, 0..FIRST, 0, last, true), 18);
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
    assert_eq!(turn(0..12, 10, 24, true), 18);
    assert_eq!(turn(0..18, 24, 40, true), 18);
    // Made before the turn began.
    assert_eq!(turn(0..18, 39, 100, true), 18);
    assert_eq!(turn(0..18, 100, 130, true), 12);
    for start in [130, 140, 150] {
        assert_eq!(turn(0..12, start, start + 10, true), 12);
    }
    assert_eq!(turn(0..12, 160, 170, true), 18);
    assert_eq!(turn(0..18, 170, 220, true), 12);
    assert_eq!(turn(0..12, 220, 270, true), 8);
    assert_eq!(turn(0..8, 270, 320, true), 5);
    assert_eq!(turn(0..5, 320, 370, true), FEWEST);
    // What the fewest take is what it takes, whatever the first ones did: nothing says that more would be too many.
    assert_eq!(turn(0..FEWEST, 370, 420, true), 6);
    assert_eq!(turn(0..6, 420, 470, true), 9);
}

/// Of a node that is at work already: each is there soon enough, and yet more of them are of no use.
#[test]
fn where_more_at_once_do_not_come_faster_there_are_no_more() {
    let mut intake = Intake::new(QUIET, BUDGET);
    let mut turn = |jobs, since, until, full| turn(&mut intake, jobs, since, until, full);
    assert_eq!(turn(0..12, 0, 10, true), 18);
    assert_eq!(turn(0..18, 10, 24, true), 12);
    assert_eq!(turn(0..12, 24, 34, true), 12);
    // Neither are they of a turn in which nobody had to wait, nor of two.
    assert_eq!(turn(0..12, 34, 44, false), 12);
    assert_eq!(turn(0..12, 44, 54, true), 12);
    // Now there are too many even so, and what is of use is looked for anew.
    assert_eq!(turn(0..12, 54, 75, true), 8);
    for start in [75, 85, 95] {
        assert_eq!(turn(0..8, start, start + 10, true), 8);
    }
    assert_eq!(turn(0..8, 105, 115, true), 12);
    // Nobody had to wait, so nothing is known of how many would have come.
    assert_eq!(turn(0..12, 115, 129, false), 12);
}

/// A busy moment of others does not hold for the whole run.
#[test]
fn whether_more_are_of_use_is_asked_again() {
    let mut intake = Intake::new(QUIET, BUDGET);
    let mut turn = |jobs, since, until, full| turn(&mut intake, jobs, since, until, full);
    assert_eq!(turn(0..12, 0, 10, true), 18);
    assert_eq!(turn(0..18, 10, 29, true), 12);
    for start in [29, 39, 49] {
        assert_eq!(turn(0..12, start, start + 10, true), 12);
    }
    assert_eq!(turn(0..12, 59, 69, true), 18);
    assert_eq!(turn(0..18, 69, 79, true), 27);
    assert_eq!(turn(0..27, 79, 89, true), 41);
}

/// Others had the node to themselves for a while. Once they are done, as many come soon as came at first, whatever keeps its place
/// meanwhile; beyond that more have to be of use.
#[test]
fn a_busy_time_of_others_is_made_up_for() {
    let mut intake = Intake::new(QUIET, BUDGET);
    let mut turn = |jobs, since, until| turn(&mut intake, jobs, since, until, true);
    assert_eq!(turn(0..12, 0, 10), 18);
    assert_eq!(turn(0..18, 10, 60), 12);
    assert_eq!(turn(0..12, 60, 110), 8);
    assert_eq!(turn(0..8, 110, 160), 5);
    assert_eq!(turn(0..5, 160, 210), FEWEST);
    assert_eq!(turn(0..FEWEST, 210, 260), 6);
    assert_eq!(turn(0..6, 260, 278), 9);
    assert_eq!(turn(0..9, 278, 305), 14);
    assert_eq!(turn(0..14, 305, 347), 9);
}

/// Those that are not to come say nothing of the others.
#[test]
fn where_others_come_meanwhile_nobody_is_late() {
    let at = |secs: u64| Elapsed(secs * 1_000_000);
    let mut intake = Intake::new(QUIET, BUDGET);
    assert_eq!(turn(&mut intake, 0..12, 0, 10, true), 18);
    for job in 0..21 {
        intake.begins(job, 1);
        intake.moved(job, Moved::Made(key(job)), at(10));
    }
    for job in 0..11 {
        intake.moved(job, Moved::Programmed(key(job)), at(20));
    }
    intake.moved(20, Moved::Changed(key(20)), at(31));
    assert_eq!(intake.limit(), Some(18));
}

/// Nobody waits for the last of too many: by then there would be more of them still.
#[test]
fn where_most_are_late_already_fewer_are_let_in_at_once() {
    let at = |secs: u64| Elapsed(secs * 1_000_000);
    let mut intake = Intake::new(QUIET, BUDGET);
    assert_eq!(turn(&mut intake, 0..12, 0, 10, true), 18);
    for job in 0..18 {
        intake.begins(job, 1);
        intake.moved(job, Moved::Made(key(job)), at(if job < 10 { 10 } else { 15 }));
    }
    // Twice as long as at best.
    intake.moved(0, Moved::Changed(key(0)), at(29));
    assert_eq!(intake.limit(), Some(18));
    // Though nobody says anything.
    intake.gives_up(at(30));
    assert_eq!(intake.limit(), Some(12));
    // The others were made before this turn, so that they say nothing of it.
    intake.moved(17, Moved::Changed(key(17)), at(60));
    assert_eq!(intake.limit(), Some(12));
}

#[test]
fn where_there_is_room_more_and_more_come_at_once() {
    let mut intake = Intake::new(QUIET, BUDGET);
    let (_, took, most) = run(300, Node { cores: 1e3, ..TWO_CORES }, &mut intake);
    assert!((10.7..10.9).contains(&took) && most >= FIRST * 4, "{took} s, {most} at once");
}

#[test]
fn where_gateways_are_there_at_once_nobody_waits() {
    let mut intake = Intake::new(QUIET, BUDGET);
    run(20, TWO_CORES.faster(500.0), &mut intake);
    assert_eq!(intake.limit(), None);
    // One that takes a while after all is noticed.
    run(1, TWO_CORES, &mut intake);
    assert_eq!(intake.limit(), Some(FIRST));
}

#[test]
fn one_that_is_there_at_once_says_nothing_of_many_that_are_not() {
    let mut intake = Intake::new(QUIET, BUDGET);
    assert_eq!(turn(&mut intake, 0..12, 0, 10, true), 18);
    let mut at_once = |jobs: std::ops::Range<usize>| {
        for job in jobs {
            intake.begins(job, 1);
            intake.moved(job, Moved::Made(key(job)), Elapsed(11_000_000));
            intake.moved(job, Moved::Programmed(key(job)), Elapsed(11_100_000));
            intake.over(job);
        }
        intake.limit()
    };
    assert_eq!(at_once(20..21), Some(18));
    assert_eq!(at_once(21..32), Some(18));
    // More of them were than were not.
    assert_eq!(at_once(32..33), None);
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
fn who_waits_for_something_else_keeps_no_place_for_what_it_has_yet_to_make() {
    let mut intake = Intake::new(QUIET, BUDGET);
    intake.begins(0, FIRST);
    intake.moved(0, Moved::Made(key(0)), Elapsed(1));
    intake.lingers(0, true);
    // The one that comes has its own.
    assert!(intake.admits(FIRST - 1) && !intake.admits(FIRST));
    intake.lingers(0, false);
    assert!(!intake.admits(1));
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
