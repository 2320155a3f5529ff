//! A sequential test of shares: how many more answers are needed, and when to stop.
//!
//! Every part of the traffic is held against its expected share `p` by two of Wald's sequential probability ratio
//! tests, one for `p + margin`, one for `p - margin`. The likelihood ratio of a true `p` is a martingale, so by Ville's
//! inequality it ever reaches `1/a` with a probability of at most `a`, no matter how often one looks: `false_alarm` is
//! split among the tests and holds for the whole of them. The same inequality the other way round bounds `overlooked`.
//! Nothing asks whether the counts are more even than chance would have it: that is never a failure.

use statrs::distribution::{Binomial, DiscreteCDF as _};

/// What is tested.
#[derive(Debug, Clone, PartialEq)]
pub struct SharePlan {
    /// Expected share of each part, 0 to 1, all together 1.
    pub expected: Vec<f64>,
    /// Deviation that matters, 0 to 1 (10 percentage points are 0.1).
    pub margin: f64,
    /// Chance to call a true share wrong, over the whole test.
    pub false_alarm: f64,
    /// Chance to call a share right that is off by the margin.
    pub overlooked: f64,
    /// Most answers to count.
    pub max_probes: u32,
}

impl SharePlan {
    /// The test of shares that are as these weights, with a margin in percentage points.
    pub fn new(weights: &[u32], margin: f64, max_probes: u32) -> SharePlan {
        let total: u32 = weights.iter().sum();
        SharePlan {
            expected: weights.iter().map(|weight| f64::from(*weight) / f64::from(total.max(1))).collect(),
            margin: margin / 100.0,
            false_alarm: FALSE_ALARM,
            overlooked: OVERLOOKED,
            max_probes,
        }
    }
}

/// Chance to call a true share wrong.
pub const FALSE_ALARM: f64 = 1e-6;
/// Chance to call a share right that is off by the margin.
pub const OVERLOOKED: f64 = 1e-4;
/// Answers between two looks.
const BATCH: u32 = 40;
/// Most answers between two looks at whether a data path stays as it is. More at once would make a small machine late, but for
/// answers that take their time.
pub const STAY_BATCH: u32 = 5;
/// The same for answers that are waited for.
pub const SLOW_STAY_BATCH: u32 = 20;

/// How often the counting of a mirror starts over, because the data path may not have converged on every way through it.
pub const COUNTINGS: u32 = 3;
/// A mirror that copies no more than this share of the requests is noticed.
pub const MIRRORED_SHARE: f64 = 0.9;

/// The number of requests of which a mirror that copies `share` of them, each by chance, copies every one with a
/// probability of at most `overlooked`, even if it is let off with the best of so many `countings`.
pub fn requests_to_notice(share: f64, overlooked: f64, countings: u32) -> usize {
    let mut all = 1.0;
    let each = overlooked / f64::from(countings.max(1));
    (1..)
        .find(|_| {
            all *= share;
            all <= each
        })
        .unwrap_or(usize::MAX)
}

/// What to do after the answers so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// Count this many more.
    MoreProbes(u32),
    /// The shares are as expected, within the margin.
    Agree,
    /// They are not.
    Disagree,
    /// The most answers that may be counted do not decide.
    Undecided,
}

/// Decides by the counts of each part, and of answers that belong to none.
pub fn next(plan: &SharePlan, counts: &[u32], others: u32) -> Decision {
    let n = counts.iter().sum::<u32>() + others;
    if n == 0 {
        return Decision::MoreProbes(BATCH.min(plan.max_probes.max(1)));
    }
    // What must never answer has answered: no chance explains that.
    if others > 0 || counts.iter().zip(&plan.expected).any(|(&count, &share)| count > 0 && share <= 0.0) {
        return Decision::Disagree;
    }
    let alternatives: Vec<(u32, f64, f64)> = counts
        .iter()
        .zip(&plan.expected)
        .flat_map(|(&count, &share)| {
            [(count, share, (share + plan.margin).min(1.0)), (count, share, (share - plan.margin).max(0.0))]
        })
        // Nothing lies above all or below none.
        .filter(|(_, p0, p1)| p0 != p1)
        .collect();
    let sides = f64::from(u32::try_from(alternatives.len().max(1)).unwrap_or(u32::MAX));
    let ratios: Vec<f64> = alternatives.iter().map(|&(count, p0, p1)| log_ratio(n, count, p0, p1)).collect();
    if ratios.iter().any(|&ratio| ratio >= (sides / plan.false_alarm).ln()) {
        return Decision::Disagree;
    }
    if n >= BATCH.min(plan.max_probes) && ratios.iter().all(|&ratio| ratio <= (plan.overlooked / sides).ln()) {
        return Decision::Agree;
    }
    if n >= plan.max_probes {
        return Decision::Undecided;
    }
    Decision::MoreProbes(BATCH.min(plan.max_probes - n))
}

/// What is tested of a data path that has agreed: whether it stays so.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StayPlan {
    /// The share of disagreeing answers that matters, 0 to 1.
    pub flaps: f64,
    /// Most answers to count.
    pub max_probes: u32,
    /// Most answers between two looks.
    pub batch: u32,
}

/// The share of disagreeing answers of a data path that is as it should be: what happens to a connection now and then.
pub const BLIPS: f64 = 1e-3;
/// Chance to take a data path for one that stays although it disagrees in the share that matters.
pub const FLAPS_OVERLOOKED: f64 = 1e-2;

/// Decides by how many of `n` answers disagreed: Wald's test of [`BLIPS`] against the share that matters.
pub fn stays(plan: &StayPlan, n: u32, disagreed: u32) -> Decision {
    let ratio = log_ratio(n, disagreed, BLIPS, plan.flaps);
    if ratio >= (1.0 / FALSE_ALARM).ln() {
        return Decision::Disagree;
    }
    if ratio <= FLAPS_OVERLOOKED.ln() {
        return Decision::Agree;
    }
    if n >= plan.max_probes {
        return Decision::Undecided;
    }
    // As many as would do if all of them agreed, but not too many at once.
    let enough =
        (1..plan.batch).find(|more| log_ratio(n + more, disagreed, BLIPS, plan.flaps) <= FLAPS_OVERLOOKED.ln());
    Decision::MoreProbes(enough.unwrap_or(plan.batch).min(plan.max_probes - n))
}

/// Exact two-sided binomial probability of the count that deviates most, if the expected shares are true; 0 if something
/// answered that never must. It is for the record: the decision is the ratio test's.
pub fn probability(plan: &SharePlan, counts: &[u32], others: u32) -> f64 {
    let n = counts.iter().sum::<u32>() + others;
    let own = counts.iter().zip(&plan.expected).map(|(&count, &share)| two_sided(n, count, share));
    if others > 0 { 0.0 } else { own.fold(1.0, f64::min) }
}

/// Logarithm of the likelihood of `count` among `n` under `p1` over that under `p0`.
fn log_ratio(n: u32, count: u32, p0: f64, p1: f64) -> f64 {
    let term = |times: u32, one: f64, zero: f64| match (times, one) {
        (0, _) => 0.0,
        (_, one) if one <= 0.0 => f64::NEG_INFINITY,
        (times, one) => f64::from(times) * (one / zero).ln(),
    };
    term(count, p1, p0) + term(n - count, 1.0 - p1, 1.0 - p0)
}

/// Exact two-sided binomial probability: twice the smaller tail that holds `count`, at most 1.
pub fn two_sided(n: u32, count: u32, share: f64) -> f64 {
    if share <= 0.0 {
        return if count == 0 { 1.0 } else { 0.0 };
    }
    if share >= 1.0 {
        return if count == n { 1.0 } else { 0.0 };
    }
    // Shares that it refuses are dealt with above.
    let Ok(binomial) = Binomial::new(share, u64::from(n)) else { return 1.0 };
    let lower = binomial.cdf(u64::from(count));
    let upper = match count.checked_sub(1) {
        Some(below) => binomial.sf(u64::from(below)),
        None => 1.0,
    };
    (2.0 * lower.min(upper)).min(1.0)
}
