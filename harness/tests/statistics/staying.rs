//! The test whether a data path stays as it agreed, as a Markov chain over how many answers disagreed.

use gateproof::judge::statistics::{Decision, STAY_BATCH, StayPlan, stays};
use gateproof::log::{Timing, TimingProfile};
use gateproof::run::options::DEFAULT_MAX_PROBES;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::exact::binomial;

/// Chances below this are left out of a computation.
const NEGLIGIBLE: f64 = 1e-15;

/// What becomes of a test of a data path of which a share of the answers disagrees.
#[derive(Debug, Clone, Copy, Default)]
pub struct Ends {
    /// The chance that it is called flapping.
    pub flaps: f64,
    /// The chance that not one answer disagreed, so that nothing is said.
    pub silent: f64,
    /// The answers that it takes on average.
    pub mean: f64,
}

/// The plan of a table of limits.
pub fn plan(profile: TimingProfile) -> StayPlan {
    StayPlan { flaps: f64::from(Timing::of(profile).flaps) / 100.0, max_probes: DEFAULT_MAX_PROBES, batch: STAY_BATCH }
}

/// What becomes of a test.
pub fn ends(plan: &StayPlan, share: f64) -> Ends {
    let mut ends = Ends::default();
    // By answers and by those that disagreed: batches differ in size by what came before.
    let mut open = std::collections::BTreeMap::from([((0, 0), 1.0)]);
    while let Some(((n, disagreed), chance)) = open.pop_first() {
        match stays(plan, n, disagreed) {
            Decision::MoreProbes(more) => {
                ends.mean += chance * f64::from(more);
                for (hits, weight) in (0..).zip(binomial(more, share)) {
                    if chance * weight > NEGLIGIBLE {
                        *open.entry((n + more, disagreed + hits)).or_insert(0.0) += chance * weight;
                    }
                }
            }
            Decision::Disagree => ends.flaps += chance,
            Decision::Agree if disagreed == 0 => ends.silent += chance,
            Decision::Agree | Decision::Undecided => {}
        }
    }
    ends
}

/// How many of so many drawn tests are called flapping.
pub fn drawn(plan: &StayPlan, share: f64, runs: u32) -> u32 {
    let one = |seed: u32| {
        let mut rng = ChaCha8Rng::seed_from_u64(u64::from(seed));
        let (mut n, mut disagreed) = (0, 0);
        loop {
            match stays(plan, n, disagreed) {
                Decision::MoreProbes(more) => {
                    n += more;
                    disagreed += (0..more).map(|_| u32::from(rng.random_bool(share))).sum::<u32>();
                }
                decision => return decision == Decision::Disagree,
            }
        }
    };
    (0..runs).map(|seed| u32::from(one(seed))).sum()
}
