#![allow(clippy::unwrap_used)]
use std::sync::Arc;

use rstest::rstest;

use super::*;
use crate::cluster::pool::layout;
use crate::cluster::shape::Ports;
use crate::log::{Elapsed, ObjectKey, TimingProfile};
use crate::run::coming::Moved;
use crate::scenario::load;

fn job(shapes: &[&str], isolation: Isolation, millis: u64) -> Job {
    let gateways = shapes.iter().map(|shape| (format!("gw-{shape}"), shape.parse().unwrap())).collect();
    Job { gateways, own: 0, isolation, fills: false, takes_any_host: false, estimate: Duration::from_millis(millis) }
}

fn instance(shape: &str, exclusive: bool, address: &str, port: u16) -> Instance {
    let addresses = if address.is_empty() { Vec::new() } else { vec![address.to_owned()] };
    Instance {
        name: Arc::from(format!("{shape}-{address}-{port}")),
        shape: shape.parse().unwrap(),
        port,
        exclusive,
        addresses,
    }
}

fn schedule(jobs: Vec<Job>, instances: Vec<Instance>, slots: usize) -> Schedule {
    Schedule::new(jobs, 1, instances, slots, Intake::new(Duration::ZERO, Duration::from_secs(1)))
}

/// Starts as much as may start; the indexes of the jobs.
fn fill(schedule: &mut Schedule) -> Vec<usize> {
    std::iter::from_fn(|| schedule.start()).map(|start| start.job).collect()
}

/// How many Gateways there are of the pool: those that scenarios share, and those that one at a time has for itself.
#[rstest]
#[case::shared(&[Isolation::Shared; 9], (1, 0))]
#[case::taking_turns(&[Isolation::Lane; 4], (0, 1))]
#[case::more_than_take_turns_on_one(&[Isolation::Lane; 5], (0, 2))]
#[case::shared_and_not(&[Isolation::Shared, Isolation::Lane], (1, 1))]
#[case::of_who_has_the_cluster(&[Isolation::Cluster; 9], (0, 1))]
#[case::taken_from_others_by_who_has_the_cluster(
    &[Isolation::Lane, Isolation::Lane, Isolation::Lane, Isolation::Lane, Isolation::Cluster],
    (0, 1),
)]
#[case::of_who_shares_and_who_has_the_cluster(&[Isolation::Shared, Isolation::Cluster], (1, 1))]
fn the_pool_has_what_the_jobs_take(#[case] isolated: &[Isolation], #[case] expected: (usize, usize)) {
    let jobs: Vec<Job> = isolated.iter().map(|isolation| job(&["http"], *isolation, 5)).collect();
    let pool = layout(&demand(&jobs, 1), &Ports::default(), 8).unwrap();
    let alone = pool.iter().filter(|instance| instance.exclusive).count();
    assert_eq!((pool.len() - alone, alone), expected);
}

#[test]
fn a_job_that_is_done_again_takes_as_much_again() {
    let jobs = [job(&["http"], Isolation::Lane, 5), job(&["https"], Isolation::Shared, 5)];
    let again = jobs.clone().map(|job| [job.clone(), job]).concat();
    assert_eq!(demand(&jobs, 2), demand(&again, 1));
}

#[test]
fn who_takes_several_at_once_has_them() {
    let several = Job { gateways: job(&["http"; 3], Isolation::Lane, 5).gateways, ..job(&[], Isolation::Lane, 5) };
    let both = [several, job(&["http"], Isolation::Lane, 5)];
    assert_eq!(layout(&demand(&both, 1), &Ports::default(), 8).unwrap().len(), 3);
}

#[test]
fn the_longest_go_first_within_the_slots() {
    let jobs = [10, 30, 20].map(|millis| job(&["http"], Isolation::Shared, millis));
    let mut schedule = schedule(jobs.to_vec(), vec![instance("http", false, "a", 80)], 2);
    assert_eq!(fill(&mut schedule), [1, 2]);
    schedule.finished(2);
    assert_eq!(fill(&mut schedule), [0]);
    schedule.finished(0);
    assert!(!schedule.is_done());
    schedule.finished(1);
    assert!(schedule.is_done());
}

#[test]
fn one_slot_is_a_fixed_order() {
    let jobs = vec![job(&[], Isolation::Shared, 5), job(&[], Isolation::Cluster, 9), job(&[], Isolation::Shared, 5)];
    let mut schedule = schedule(jobs, Vec::new(), 1);
    let mut order = Vec::new();
    while let Some(start) = schedule.start() {
        order.push(start.job);
        assert_eq!(schedule.start(), None);
        schedule.finished(start.job);
    }
    assert_eq!(order, [0, 2, 1]);
}

#[test]
fn one_at_a_time_fills_the_class_that_takes_one_gateway() {
    let fills = || Job { fills: true, ..job(&[], Isolation::Shared, 5) };
    let mut schedule = schedule(vec![fills(), fills(), job(&[], Isolation::Shared, 1)], Vec::new(), 8);
    assert_eq!(fill(&mut schedule), [0, 2]);
    schedule.finished(0);
    assert_eq!(fill(&mut schedule), [1]);
}

#[test]
fn what_changes_the_cluster_runs_alone_and_last() {
    let jobs = vec![
        job(&["http"], Isolation::Cluster, 50),
        job(&["http"], Isolation::Shared, 1),
        job(&["http"], Isolation::Cluster, 40),
    ];
    let instances = vec![instance("http", false, "a", 80), instance("http", true, "b", 80)];
    let mut schedule = schedule(jobs, instances, 8);
    assert_eq!(fill(&mut schedule), [1]);
    schedule.finished(1);
    assert_eq!(fill(&mut schedule), [0]);
    schedule.finished(0);
    assert_eq!(fill(&mut schedule), [2]);
}

#[test]
fn exclusive_scenarios_run_beside_others_on_lanes_of_their_own() {
    let jobs = vec![
        job(&["http"], Isolation::Lane, 3),
        job(&["http"], Isolation::Lane, 2),
        job(&["http"], Isolation::Shared, 1),
    ];
    let instances = vec![instance("http", false, "a", 80), instance("http", true, "b", 80)];
    let mut schedule = schedule(jobs, instances, 8);
    assert_eq!(schedule.start().unwrap(), Start { job: 0, gateways: vec![("gw-http".to_owned(), 1)] });
    assert_eq!(schedule.start().unwrap(), Start { job: 2, gateways: vec![("gw-http".to_owned(), 0)] });
    assert_eq!(schedule.start(), None);
    schedule.finished(0);
    assert_eq!(schedule.start().unwrap(), Start { job: 1, gateways: vec![("gw-http".to_owned(), 1)] });
}

#[test]
fn merged_gateways_are_one_lane_and_nobody_starves() {
    let jobs = vec![
        job(&["http"], Isolation::Shared, 9),
        job(&["http"], Isolation::Lane, 5),
        job(&["http"], Isolation::Shared, 1),
    ];
    let instances = vec![instance("http", false, "a", 80), instance("http", true, "a", 80)];
    let mut schedule = schedule(jobs, instances, 8);
    // The exclusive one waits for the first, and the third must not overtake it.
    assert_eq!(fill(&mut schedule), [0]);
    schedule.finished(0);
    assert_eq!(fill(&mut schedule), [1]);
    schedule.finished(1);
    assert_eq!(fill(&mut schedule), [2]);
}

#[rstest]
#[case("a", 9000, "a", 9001, 2)]
#[case("a", 9000, "b", 9000, 2)]
#[case("", 9000, "", 9001, 2)]
#[case("a", 9000, "a", 9000, 1)]
fn layer_4_is_exclusive_by_address_and_port(
    #[case] one: &str,
    #[case] port: u16,
    #[case] other: &str,
    #[case] other_port: u16,
    #[case] at_once: usize,
) {
    let jobs = vec![job(&["tcp"], Isolation::Shared, 1), job(&["tcp"], Isolation::Shared, 1)];
    let instances = vec![instance("tcp", true, one, port), instance("tcp", true, other, other_port)];
    assert_eq!(fill(&mut schedule(jobs, instances, 8)).len(), at_once);
}

#[test]
fn on_merged_targets_own_gateways_take_turns() {
    let jobs = vec![job(&[], Isolation::Lane, 1), job(&[], Isolation::Lane, 1)];
    let apart = vec![instance("http", false, "a", 80), instance("https", false, "b", 443)];
    assert_eq!(fill(&mut schedule(jobs.clone(), apart, 8)), [0, 1]);
    let merged = vec![instance("http", false, "a", 80), instance("https", false, "a", 443)];
    assert_eq!(fill(&mut schedule(jobs, merged, 8)), [0]);
}

#[rstest]
#[case::merged(vec![instance("https", false, "a", 443)], [vec![1, 2], vec![0], vec![3]])]
#[case::unknown(vec![instance("https", false, "", 443)], [vec![1, 2], vec![0], vec![3]])]
#[case::one_alone(vec![], [vec![1, 2], vec![0], vec![3]])]
#[case::apart(vec![instance("https", false, "b", 443)], [vec![0, 1, 2, 3], vec![], vec![]])]
fn unless_gateways_are_apart_what_takes_any_host_runs_alone(
    #[case] others: Vec<Instance>,
    #[case] starts: [Vec<usize>; 3],
) {
    let any = Job { takes_any_host: true, ..job(&[], Isolation::Shared, 9) };
    let jobs = vec![any.clone(), job(&[], Isolation::Shared, 2), job(&["http"], Isolation::Shared, 1), any];
    let mut instances = vec![instance("http", false, "a", 80)];
    instances.extend(others);
    let mut schedule = schedule(jobs, instances, 8);
    for expected in starts {
        let mut started = fill(&mut schedule);
        started.sort_unstable();
        assert_eq!(started, expected);
        started.into_iter().for_each(|job| schedule.finished(job));
    }
}

#[test]
fn a_stopped_schedule_starts_nothing() {
    let mut schedule = schedule(vec![job(&[], Isolation::Shared, 1); 3], Vec::new(), 1);
    assert_eq!(fill(&mut schedule), [0]);
    assert_eq!(schedule.stop(), [1, 2]);
    schedule.finished(0);
    assert_eq!(fill(&mut schedule), Vec::<usize>::new());
    assert!(schedule.is_done() && schedule.is_stopped());
}

#[test]
fn a_scenario_that_waits_for_slow_answers_goes_before_one_that_does_not() {
    let scenarios = load::builtin_once();
    let timing = Timing::of(TimingProfile::Embedded);
    let estimate = |name: &str| {
        let scenario = scenarios.iter().find(|scenario| scenario.name == name).unwrap();
        Job::of(scenario, Vec::new(), &timing).estimate
    };
    for waits in ["httproute-request-timeout", "httproute-retry-as-it-came", "httproute-timeout-of-a-body"] {
        assert!(estimate(waits) > Duration::from_secs(3), "{waits}: {:?}", estimate(waits));
    }
    assert!(estimate("httproute-missing-backend-half") > estimate("httproute-missing-backend"));
}

#[test]
fn everything_is_executed_once_before_anything_is_again() {
    let jobs = [5, 9].map(|millis| job(&[], Isolation::Shared, millis));
    let intake = Intake::new(Duration::ZERO, Duration::from_secs(1));
    let mut schedule = Schedule::new(jobs.to_vec(), 2, Vec::new(), 4, intake);
    assert_eq!(fill(&mut schedule), [2, 0, 3, 1]);
}

#[test]
fn whoever_waits_for_gateways_of_its_own_goes_before_who_has_one_that_is_there() {
    let scenarios = load::builtin_once();
    let timing = Timing::of(TimingProfile::Real);
    let estimate = |name: &str| {
        let scenario = scenarios.iter().find(|scenario| scenario.name == name).unwrap();
        Job::of(scenario, Vec::new(), &timing).estimate
    };
    let shared = ["httproute-simple", "httproute-missing-backend-half", "httproute-redirect-path-table"].map(estimate);
    assert!(estimate("gateway-class-not-accepted") > shared.into_iter().max().unwrap(), "{shared:?}");
}

#[test]
fn who_only_watches_takes_nobodys_place_and_is_told_when_nothing_else_is_at_work() {
    let jobs = [4, 3, 2, 1].map(|millis| job(&[], Isolation::Shared, millis));
    let mut schedule = schedule(jobs.to_vec(), Vec::new(), 1);
    assert_eq!(fill(&mut schedule), [0]);
    schedule.rests(0);
    assert_eq!((schedule.resting(), fill(&mut schedule)), (1, vec![1]));
    // While another is at work nobody is told, and several wait together.
    assert_eq!(schedule.rested(), [0_usize; 0]);
    schedule.rests(1);
    assert_eq!(fill(&mut schedule), [2]);
    schedule.finished(2);
    assert_eq!(fill(&mut schedule), [3]);
    schedule.finished(3);
    assert_eq!(fill(&mut schedule), [0_usize; 0]);
    assert_eq!(schedule.rested(), [0, 1]);
    // Each is told once.
    assert_eq!((schedule.rested(), schedule.resting()), (Vec::new(), 0));
    schedule.finished(0);
    assert!(!schedule.is_done());
    schedule.finished(1);
    assert!(schedule.is_done());
    // What is over rests no more.
    schedule.rests(1);
    assert_eq!((schedule.resting(), schedule.rested()), (0, Vec::new()));
}

/// Its objects stay where they are, so who needs to be alone, or its lane, waits for it; and it does not wait for them.
#[rstest]
#[case::the_cluster(Isolation::Shared, Isolation::Cluster)]
#[case::a_lane(Isolation::Lane, Isolation::Lane)]
fn nobody_waits_for_whom_it_keeps_waiting(#[case] first: Isolation, #[case] second: Isolation) {
    let jobs = vec![job(&["http"], first, 9), job(&["http"], second, 1)];
    let mut schedule =
        schedule(jobs, vec![instance("http", first != Isolation::Shared, "a", 80), instance("http", true, "a", 80)], 8);
    assert_eq!(fill(&mut schedule), [0]);
    schedule.rests(0);
    assert_eq!(fill(&mut schedule), [0_usize; 0]);
    assert_eq!(schedule.rested(), [0]);
    schedule.finished(0);
    assert_eq!(fill(&mut schedule), [1]);
}

#[test]
fn those_that_make_gateways_begin_a_few_at_a_time_and_nobody_else_waits_for_them() {
    let own = |own: usize, millis: u64| Job { own, ..job(&[], Isolation::Shared, millis) };
    let mut jobs: Vec<Job> = (0..FIRST).map(|_| own(1, 9)).collect();
    jobs.extend([own(2, 8), own(1, 7), own(0, 6), own(0, 5)]);
    let mut schedule = schedule(jobs, Vec::new(), 32);
    let others = [FIRST + 2, FIRST + 3];
    assert_eq!(fill(&mut schedule), (0..FIRST).chain(others).collect::<Vec<_>>());
    schedule.finished(0);
    // Its Gateway is still there.
    assert_eq!(fill(&mut schedule), [0_usize; 0]);
    schedule.intake().over(0);
    // The next in turn makes two, and nobody overtakes it.
    assert_eq!(fill(&mut schedule), [0_usize; 0]);
    schedule.intake().over(1);
    assert_eq!(fill(&mut schedule), [FIRST]);
    (2..=FIRST).for_each(|job| schedule.intake().over(job));
    assert_eq!(fill(&mut schedule), [FIRST + 1]);
}

/// They leave the machines to the Gateways that come, unless these cost nothing, or nobody is left who makes any.
#[rstest]
#[case::until_nobody_makes_any(false)]
#[case::until_they_are_there_at_once(true)]
fn who_makes_no_gateways_steps_aside_for_those_that_come(#[case] at_once: bool) {
    let own = |own: usize, millis: u64| Job { own, ..job(&[], Isolation::Shared, millis) };
    let mut jobs: Vec<Job> = (0..=FIRST).map(|_| own(1, 9)).collect();
    let others: Vec<usize> = (jobs.len()..jobs.len() + 20).collect();
    jobs.extend(others.iter().map(|_| own(0, 5)));
    let slots = 32;
    let mut schedule = schedule(jobs, Vec::new(), slots);
    let (beside, later) = others.split_at(slots / ASIDE);
    assert_eq!(fill(&mut schedule), (0..FIRST).chain(beside.iter().copied()).collect::<Vec<_>>());
    // Who only waits for something wrong to change does nothing.
    schedule.lingers(beside[0], true);
    assert_eq!(fill(&mut schedule), later[..1]);
    schedule.lingers(beside[0], false);
    if at_once {
        let name = String::from;
        let gateway = ObjectKey { group: name("g"), kind: name("Gateway"), namespace: None, name: name("a") };
        let [made, programmed] = [Moved::Made(gateway.clone()), Moved::Programmed(gateway)];
        [made, programmed].into_iter().for_each(|moved| schedule.intake().moved(0, moved, Elapsed::default()));
    } else {
        schedule.finished(0);
        schedule.intake().over(0);
    }
    let started = fill(&mut schedule);
    assert_eq!(started[0], FIRST);
    assert_eq!(started.len() + FIRST + beside.len() + 1, if at_once { slots } else { slots + 1 });
}

#[test]
fn the_fewer_gateways_may_come_the_fewer_others_run_beside_them() {
    let own = Job { own: 1, ..job(&[], Isolation::Shared, 9) };
    let jobs = (0..FIRST).map(|_| own.clone()).chain((0..20).map(|_| job(&[], Isolation::Shared, 5)));
    // Those of the pool came one by one, so four may come.
    let intake = Intake::new(Duration::ZERO, Duration::from_secs(180))
        .behind((Duration::from_secs(10), Duration::from_secs(60)));
    let mut schedule = Schedule::new(jobs.collect(), 1, Vec::new(), 32, intake);
    assert_eq!(fill(&mut schedule), [0, 1, 2, 3, FIRST, FIRST + 1]);
}

/// Whoever serves any host of merged Gateways waits for all others, and has them wait for nothing.
#[test]
fn nobody_steps_aside_for_whom_something_else_keeps() {
    let last = Job { own: 1, takes_any_host: true, ..job(&[], Isolation::Shared, 9) };
    let jobs = std::iter::once(last).chain((0..20).map(|_| job(&[], Isolation::Shared, 5)));
    let mut schedule = schedule(jobs.collect(), Vec::new(), 32);
    assert_eq!(fill(&mut schedule), (1..=20).collect::<Vec<_>>());
}

#[test]
fn one_after_the_other_they_run_in_their_order_however_many_gateways_are_left() {
    let own = Job { own: 5, ..job(&[], Isolation::Shared, 9) };
    let mut schedule = schedule(vec![own.clone(), own, job(&[], Isolation::Shared, 1)], Vec::new(), 1);
    assert_eq!(fill(&mut schedule), [0]);
    schedule.finished(0);
    assert_eq!(fill(&mut schedule), [1]);
}

/// What is removed makes room, and then there is more to be done beside them.
#[test]
fn who_only_watches_is_not_told_that_all_is_over_while_others_wait_to_make_gateways() {
    let own = |own: usize, millis: u64| Job { own, ..job(&[], Isolation::Shared, millis) };
    let mut schedule = schedule(vec![own(2, 9), own(1, 8), own(FIRST, 7)], Vec::new(), 8);
    assert_eq!(fill(&mut schedule), [0, 1]);
    schedule.rests(0);
    schedule.intake().rests(0);
    schedule.finished(1);
    assert_eq!((fill(&mut schedule), schedule.rested()), (Vec::new(), Vec::new()));
    schedule.intake().over(1);
    assert_eq!((fill(&mut schedule), schedule.rested()), (vec![2], Vec::new()));
    schedule.finished(2);
    assert_eq!((fill(&mut schedule), schedule.rested()), (Vec::new(), vec![0]));
}

#[rstest]
#[case::whose_gateways_stand(2, 1, &[0, 1, 2, 3])]
#[case::for_whom_nothing_stands(2, 0, &[0, 1, 2, 3, 4, 5, 6, 7])]
#[case::one_by_one(1, 0, &[0])]
fn who_waits_for_something_wrong_to_change_leaves_its_place_to_another(
    #[case] slots: usize,
    #[case] own: usize,
    #[case] expected: &[usize],
) {
    let jobs = (0..12).map(|index| Job { own, ..job(&[], Isolation::Shared, 12 - index) });
    let mut schedule = schedule(jobs.collect(), Vec::new(), slots);
    let mut started = Vec::new();
    while let Some(start) = schedule.start() {
        started.push(start.job);
        schedule.lingers(start.job, true);
    }
    assert_eq!(started, expected);
    // Nobody is told that all is over while they wait.
    assert_eq!(schedule.rested(), [0_usize; 0]);
}

#[test]
fn who_lingers_with_gateways_takes_no_place_from_those_without() {
    let own = |own: usize, millis: u64| Job { own, ..job(&[], Isolation::Shared, millis) };
    let jobs = vec![own(1, 9), own(1, 8), own(1, 7), own(1, 6), own(0, 5), own(0, 4)];
    let mut schedule = schedule(jobs, Vec::new(), 2);
    for _ in 0..2 {
        fill(&mut schedule).into_iter().for_each(|job| schedule.lingers(job, true));
    }
    assert_eq!(fill(&mut schedule), [0_usize; 0]);
    schedule.finished(0);
    assert_eq!(fill(&mut schedule), [4]);
    schedule.lingers(4, true);
    assert_eq!(fill(&mut schedule), [5]);
}

#[test]
fn who_has_its_place_again_waits_for_nobody_and_others_wait_for_it() {
    let jobs = [9, 8, 7, 6].map(|millis| job(&[], Isolation::Shared, millis));
    let mut schedule = schedule(jobs.to_vec(), Vec::new(), 2);
    assert_eq!(fill(&mut schedule), [0, 1]);
    schedule.lingers(0, true);
    assert_eq!(fill(&mut schedule), [2]);
    schedule.lingers(0, false);
    schedule.finished(1);
    assert_eq!(fill(&mut schedule), [0_usize; 0]);
    schedule.finished(2);
    assert_eq!(fill(&mut schedule), [3]);
    // What is over lingers no more.
    schedule.finished(0);
    schedule.lingers(0, true);
    schedule.finished(3);
    assert!(schedule.is_done());
}

/// Of what stays of somebody who had a Gateway of the pool to itself the next one would be blamed.
#[test]
fn nobody_has_the_lanes_on_which_something_stays() {
    let lane = |shapes: &[&str], millis| job(shapes, Isolation::Lane, millis);
    let jobs = vec![lane(&["tcp"], 50), lane(&["tcp"], 40), lane(&["tcp"], 30), lane(&["tcp", "udp"], 20)];
    let pool = [("tcp", 9000), ("tcp", 9001), ("udp", 9002)].map(|(shape, port)| instance(shape, true, "a", port));
    let mut schedule = schedule(jobs, pool.to_vec(), 1);
    assert_eq!(schedule.start().unwrap(), Start { job: 0, gateways: vec![("gw-tcp".to_owned(), 0)] });
    assert_eq!(schedule.litters(0), [0_usize; 0], "there is another one");
    schedule.finished(0);
    assert_eq!(schedule.start().unwrap(), Start { job: 1, gateways: vec![("gw-tcp".to_owned(), 1)] });
    assert_eq!(schedule.litters(1), [2, 3]);
    schedule.finished(1);
    assert!(schedule.is_done());
}

#[rstest]
#[case::who_shares(Isolation::Shared, false, &[1, 2])]
#[case::who_fills_the_class(Isolation::Shared, true, &[2])]
fn what_stays_is_in_the_way_of_its_like_alone(
    #[case] isolation: Isolation,
    #[case] fills: bool,
    #[case] left: &[usize],
) {
    let filling = Job { fills, ..job(&[], isolation, 50) };
    let jobs = vec![filling.clone(), filling, job(&["http"], Isolation::Shared, 5)];
    let apart = vec![instance("http", false, "a", 80), instance("http", true, "b", 80)];
    let mut schedule = schedule(jobs, apart, 1);
    assert_eq!(schedule.start().unwrap().job, 0);
    let hopeless = schedule.litters(0);
    schedule.finished(0);
    let mut started = Vec::new();
    while let Some(start) = schedule.start() {
        started.push(start.job);
        schedule.finished(start.job);
    }
    assert_eq!(started, left);
    assert_eq!(hopeless.len() + left.len(), 2);
}

/// Where Gateways have one address, those that share and those that one has to himself are on one lane: what stays there is in the way of
/// the latter alone, unless it answers for any host.
#[rstest]
#[case::of_its_own_host(false, &[1], &[2])]
#[case::of_any_host(true, &[1, 2], &[])]
fn who_shares_is_not_kept_from_merged_gateways(
    #[case] takes_any_host: bool,
    #[case] hopeless: &[usize],
    #[case] started: &[usize],
) {
    let lane = |millis| job(&["http"], Isolation::Lane, millis);
    let jobs = vec![Job { takes_any_host, ..lane(50) }, lane(40), job(&["http"], Isolation::Shared, 30)];
    let pool = vec![instance("http", false, "a", 80), instance("http", true, "a", 80)];
    let mut schedule = schedule(jobs, pool, 1);
    schedule.merged = true;
    schedule.running.insert(0, vec![1]);
    schedule.pending.retain(|index| *index != 0);
    assert_eq!(schedule.litters(0), hopeless);
    schedule.finished(0);
    assert_eq!(fill(&mut schedule), started);
}
