//! The test of shares as a Markov chain: what becomes of it, computed instead of drawn.

use std::collections::HashMap;

use gateproof::judge::statistics::{Decision, SharePlan, next};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Chances below this are left out of a computation. There are some thousand of them in the longest.
const NEGLIGIBLE: f64 = 1e-13;

/// Answers by chance, independent of each other.
#[derive(Debug, Clone, Copy)]
pub struct Splitter {
    /// Of the answers that may be, the share of the first part.
    pub first: f64,
    /// The share of answers that must never be: of parts without a share, and of anybody else.
    pub stray: f64,
}

/// What becomes of a test.
#[derive(Debug, Clone, Copy, Default)]
pub struct Ends {
    /// The chance that it disagrees.
    pub disagree: f64,
    /// The chance that it agrees.
    pub agree: f64,
    /// The answers that it takes on average.
    pub mean: f64,
}

/// A plan with one or two parts that have a share, and what is decided at each state.
pub struct Chain {
    plan: SharePlan,
    /// The parts with a share.
    parts: Vec<usize>,
    /// By answers, then by those of the first part.
    decisions: Vec<Vec<Option<Decision>>>,
}

impl Chain {
    /// The chain of a plan.
    pub fn new(plan: SharePlan) -> Chain {
        let parts: Vec<usize> = (0..plan.expected.len()).filter(|part| plan.expected[*part] > 0.0).collect();
        assert!((1..=2).contains(&parts.len()), "{} parts with a share need another computation", parts.len());
        Chain { plan, parts, decisions: Vec::new() }
    }

    /// A splitter that does what is expected.
    pub fn correct(&self) -> Splitter {
        Splitter { first: self.plan.expected[self.parts[0]], stray: 0.0 }
    }

    /// Whether there are two parts between which answers can go wrong.
    pub fn has_two_parts(&self) -> bool {
        self.parts.len() == 2
    }

    /// What is decided after `n` answers, `first` of which are of the first part and none of which are stray.
    fn decide(&mut self, n: u32, first: u32) -> Decision {
        let (plan, parts, n_index) = (&self.plan, &self.parts, n as usize);
        if self.decisions.len() <= n_index {
            self.decisions.resize(n_index + 1, Vec::new());
        }
        let row = &mut self.decisions[n_index];
        if row.is_empty() {
            row.resize(n_index + 1, None);
        }
        *row[first as usize].get_or_insert_with(|| {
            let mut counts = vec![0; plan.expected.len()];
            counts[parts[0]] = first;
            if let Some(second) = parts.get(1) {
                counts[*second] = n - first;
            }
            next(plan, &counts, 0)
        })
    }

    /// What becomes of a test of this splitter.
    pub fn ends(&mut self, of: Splitter) -> Ends {
        let mut ends = Ends::default();
        // The chance of each count of the first part, as long as nothing is decided.
        let mut states = vec![1.0];
        let (mut n, mut more) = (0, self.first_batch());
        loop {
            let mass: f64 = states.iter().sum();
            if mass <= 0.0 {
                return ends;
            }
            let pure = (1.0 - of.stray).powi(i32::try_from(more).unwrap());
            ends.mean += mass * f64::from(more);
            ends.disagree += mass * (1.0 - pure);
            let draws = binomial(more, of.first);
            let mut drawn = vec![0.0; states.len() + more as usize];
            for (first, chance) in states.iter().enumerate().filter(|(_, chance)| **chance > 0.0) {
                for (into, weight) in drawn[first..].iter_mut().zip(&draws) {
                    *into += chance * weight * pure;
                }
            }
            n += more;
            for (first, chance) in (0..).zip(&mut drawn) {
                if *chance <= NEGLIGIBLE {
                    *chance = 0.0;
                    continue;
                }
                match self.decide(n, first) {
                    Decision::MoreProbes(batch) => {
                        more = batch;
                        continue;
                    }
                    Decision::Agree => ends.agree += *chance,
                    Decision::Disagree => ends.disagree += *chance,
                    Decision::Undecided => {}
                }
                *chance = 0.0;
            }
            states = drawn;
        }
    }

    /// How many of so many tests, in which answers are drawn, do not end so.
    pub fn misses(&mut self, of: Splitter, end: Decision, runs: u32) -> u32 {
        let mut first = Draws::new(of.first);
        let mut stray = Draws::new(of.stray);
        let mut missed = 0;
        for seed in 0..runs {
            let mut rng = ChaCha8Rng::seed_from_u64(u64::from(seed));
            missed += u32::from(self.draw(&mut first, &mut stray, &mut rng) != end);
        }
        missed
    }

    fn draw(&mut self, first: &mut Draws, stray: &mut Draws, rng: &mut ChaCha8Rng) -> Decision {
        let (mut n, mut count, mut more) = (0, 0, self.first_batch());
        loop {
            if stray.share > 0.0 && stray.of(more, rng) > 0 {
                return Decision::Disagree;
            }
            count += first.of(more, rng);
            n += more;
            match self.decide(n, count) {
                Decision::MoreProbes(batch) => more = batch,
                decision => return decision,
            }
        }
    }

    fn first_batch(&mut self) -> u32 {
        match self.decide(0, 0) {
            Decision::MoreProbes(batch) => batch,
            other => panic!("{other:?} before any answer"),
        }
    }
}

/// The chance of each number of hits among `n`.
pub fn binomial(n: u32, share: f64) -> Vec<f64> {
    let mut choose = 1.0;
    (0..=n)
        .map(|hits| {
            let power = |base: f64, exponent: u32| base.powi(i32::try_from(exponent).unwrap());
            let chance = choose * power(share, hits) * power(1.0 - share, n - hits);
            choose *= f64::from(n - hits) / f64::from(hits + 1);
            chance
        })
        .collect()
}

/// Draws of how many answers of a batch are of some sort.
struct Draws {
    share: f64,
    /// By size of the batch, the chance of this number or fewer.
    up_to: HashMap<u32, Vec<f64>>,
}

impl Draws {
    fn new(share: f64) -> Draws {
        Draws { share, up_to: HashMap::new() }
    }

    fn of(&mut self, batch: u32, rng: &mut ChaCha8Rng) -> u32 {
        let up_to = self.up_to.entry(batch).or_insert_with(|| {
            let mut sum = 0.0;
            let add = |chance: f64| {
                sum += chance;
                sum
            };
            binomial(batch, self.share).into_iter().map(add).collect()
        });
        let draw: f64 = rng.random();
        u32::try_from(up_to.partition_point(|chance| *chance <= draw)).unwrap().min(batch)
    }
}
