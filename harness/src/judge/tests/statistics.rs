use proptest::prelude::*;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rstest::rstest;

use crate::judge::statistics::{
    Decision, FALSE_ALARM, OVERLOOKED, SLOW_STAY_BATCH, STAY_BATCH, SharePlan, StayPlan, next, probability,
    requests_to_notice, stays, two_sided,
};

fn plan(expected: &[f64], false_alarm: f64, overlooked: f64) -> SharePlan {
    SharePlan { expected: expected.to_vec(), margin: 0.1, false_alarm, overlooked, max_probes: 20_000 }
}

/// Draws answers by the true shares until the test decides.
fn simulate(plan: &SharePlan, truth: &[f64], rng: &mut ChaCha8Rng) -> (Decision, u32) {
    let mut counts = vec![0; truth.len()];
    let mut others = 0;
    loop {
        match next(plan, &counts, others) {
            Decision::MoreProbes(more) => {
                for _ in 0..more {
                    let mut draw: f64 = rng.random();
                    match truth.iter().position(|share| {
                        draw -= share;
                        draw < 0.0
                    }) {
                        Some(part) => counts[part] += 1,
                        None => others += 1,
                    }
                }
            }
            decision => return (decision, counts.iter().sum::<u32>() + others),
        }
    }
}

#[rstest]
#[case(&[0.5, 0.5])]
#[case(&[0.25, 0.75])]
#[case(&[0.9, 0.1])]
#[case(&[0.4, 0.3, 0.3])]
#[case(&[1.0, 0.0])]
fn a_true_share_agrees(#[case] shares: &[f64]) {
    let plan = plan(shares, FALSE_ALARM, OVERLOOKED);
    for seed in 0..40 {
        let (decision, _) = simulate(&plan, shares, &mut ChaCha8Rng::seed_from_u64(seed));
        assert_eq!(decision, Decision::Agree, "seed {seed}");
    }
}

#[rstest]
#[case(&[0.5, 0.5], &[0.6, 0.4])]
#[case(&[0.5, 0.5], &[0.0, 1.0])]
#[case(&[0.25, 0.75], &[0.5, 0.5])]
#[case(&[0.9, 0.1], &[0.8, 0.2])]
#[case(&[0.9, 0.1], &[1.0, 0.0])]
#[case(&[0.5, 0.5], &[0.5, 0.45])]
#[case(&[1.0, 0.0], &[0.9, 0.1])]
fn a_share_off_by_the_margin_disagrees(#[case] expected: &[f64], #[case] truth: &[f64]) {
    let plan = plan(expected, FALSE_ALARM, OVERLOOKED);
    for seed in 0..40 {
        let (decision, _) = simulate(&plan, truth, &mut ChaCha8Rng::seed_from_u64(seed));
        assert_eq!(decision, Decision::Disagree, "seed {seed}");
    }
}

#[test]
fn too_even_is_never_a_failure() {
    let plan = plan(&[0.5, 0.5], FALSE_ALARM, OVERLOOKED);
    assert!((1..2000).all(|half| next(&plan, &[half, half], 0) != Decision::Disagree));
}

#[test]
fn the_most_probes_that_may_be_used_decide_nothing_by_themselves() {
    let plan = SharePlan { max_probes: 60, ..plan(&[0.5, 0.5], FALSE_ALARM, OVERLOOKED) };
    assert_eq!(next(&plan, &[0, 0], 0), Decision::MoreProbes(40));
    assert_eq!(next(&plan, &[20, 20], 0), Decision::MoreProbes(20));
    assert_eq!(next(&plan, &[30, 30], 0), Decision::Undecided);
    assert_eq!(next(&plan, &[30, 29], 1), Decision::Disagree);
}

#[rstest]
#[case::even(&[0.5, 0.5], &[30, 30], 0, 1.0)]
#[case::the_worst_counts(&[0.25, 0.25, 0.5], &[0, 2, 2], 0, 2.0 * 0.26171875)]
#[case::others(&[0.5, 0.5], &[30, 29], 1, 0.0)]
#[case::never(&[1.0, 0.0], &[30, 1], 0, 0.0)]
fn the_record_has_the_probability_of_the_count_that_deviates_most(
    #[case] expected: &[f64],
    #[case] counts: &[u32],
    #[case] others: u32,
    #[case] p: f64,
) {
    let plan = plan(expected, FALSE_ALARM, OVERLOOKED);
    assert!((probability(&plan, counts, others) - p).abs() < 1e-9, "{}", probability(&plan, counts, others));
}

#[test]
fn weights_become_shares() {
    let plan = SharePlan::new(&[7, 3, 0], 5.0, 90);
    assert_eq!((plan.margin, plan.max_probes), (0.05, 90));
    assert!(plan.expected.iter().zip([0.7, 0.3, 0.0]).all(|(share, is)| (share - is).abs() < 1e-12));
}

#[rstest]
#[case(10, 5, 0.5, 1.0)]
#[case(10, 0, 0.5, 2.0 / 1024.0)]
#[case(4, 4, 0.25, 2.0 / 256.0)]
#[case(3, 1, 0.0, 0.0)]
#[case(3, 0, 0.0, 1.0)]
#[case(3, 3, 1.0, 1.0)]
#[case(3, 2, 1.0, 0.0)]
fn the_binomial_is_exact(#[case] n: u32, #[case] count: u32, #[case] share: f64, #[case] expected: f64) {
    assert!((two_sided(n, count, share) - expected).abs() < 1e-9, "{}", two_sided(n, count, share));
}

proptest! {
    #[test]
    fn a_probability_is_one(n in 1u32..3000, part in 0.0f64..1.0, share in 0.0f64..=1.0) {
        let p = two_sided(n, (f64::from(n) * part) as u32, share);
        prop_assert!((0.0..=1.0).contains(&p));
    }

    #[test]
    fn it_always_comes_to_an_end(seed: u64, truth in 0.0f64..=1.0, expected in 0.05f64..0.95) {
        let plan = SharePlan { max_probes: 3000, ..plan(&[expected, 1.0 - expected], FALSE_ALARM, OVERLOOKED) };
        let (_, n) = simulate(&plan, &[truth, 1.0 - truth], &mut ChaCha8Rng::seed_from_u64(seed));
        prop_assert!(n <= 3000);
    }
}

#[rstest]
#[case(0.9, 1, 88)]
#[case(0.9, 3, 98)]
#[case(0.5, 3, 15)]
#[case(0.0, 3, 1)]
fn a_poor_mirror_is_noticed_after_so_many_requests(
    #[case] share: f64,
    #[case] countings: u32,
    #[case] requests: usize,
) {
    assert_eq!(requests_to_notice(share, OVERLOOKED, countings), requests);
}

#[rstest]
#[case::worked_on(STAY_BATCH, &[5, 5, 5, 2])]
#[case::waited_for(SLOW_STAY_BATCH, &[17])]
fn answers_that_are_waited_for_are_waited_for_together(#[case] batch: u32, #[case] expected: &[u32]) {
    let plan = StayPlan { flaps: 0.25, max_probes: 1000, batch };
    let (mut n, mut batches) = (0, Vec::new());
    while let Decision::MoreProbes(more) = stays(&plan, n, 0) {
        batches.push(more);
        n += more;
    }
    assert_eq!((batches.as_slice(), stays(&plan, n, 0)), (expected, Decision::Agree));
}
