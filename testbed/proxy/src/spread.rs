//! Spreading requests over shares.

use std::sync::atomic::{AtomicU64, Ordering};

/// The fractional part of the golden ratio, scaled to 64 bits. Its multiples fill the circle as evenly as multiples of
/// any number can.
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// A sequence that gives every share its due after few draws. It starts anywhere, so that replacing a configuration
/// often prefers nobody, and it has no period that a client's own rhythm could fall in with.
#[derive(Debug)]
pub struct Spread(AtomicU64);

impl Spread {
    /// A sequence with a random start.
    pub fn new() -> Self {
        Self::starting_at(rand::random())
    }

    /// A sequence with a given start.
    pub fn starting_at(start: u64) -> Self {
        Self(AtomicU64::new(start))
    }

    /// The next number below `total`; 0 if `total` is 0.
    pub fn draw(&self, total: u64) -> u64 {
        let point = self.0.fetch_add(STEP, Ordering::Relaxed);
        u64::try_from((u128::from(point) * u128::from(total)) >> 64).unwrap_or_default()
    }

    /// The position in `weights` that the next draw falls to; nothing if they sum up to 0.
    pub fn choose(&self, weights: impl Iterator<Item = u32> + Clone) -> Option<usize> {
        let total = weights.clone().map(u64::from).sum();
        let mut left = self.draw(total);
        weights.enumerate().filter(|(_, weight)| *weight > 0).find_map(|(index, weight)| {
            let taken = left < u64::from(weight);
            left = left.saturating_sub(u64::from(weight));
            taken.then_some(index)
        })
    }
}

impl Default for Spread {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use rstest::rstest;

    use super::Spread;

    #[rstest]
    #[case::even(&[1, 1])]
    #[case::seventy_thirty(&[70, 30])]
    #[case::zero_in_between(&[3, 0, 1])]
    #[case::large(&[1_000_000, 1])]
    fn shares_come_out_right(#[case] weights: &[u32]) {
        let spread = Spread::starting_at(7);
        let mut counts = vec![0_u32; weights.len()];
        for _ in 0..1000 {
            counts[spread.choose(weights.iter().copied()).unwrap()] += 1;
        }
        let total: f64 = weights.iter().map(|weight| f64::from(*weight)).sum();
        for (count, weight) in counts.iter().zip(weights) {
            let expected = f64::from(*weight) / total * 1000.0;
            assert!((f64::from(*count) - expected).abs() <= 5.0, "{counts:?} for {weights:?}");
        }
    }

    #[test]
    fn fresh_sequences_prefer_nobody() {
        let first = (0..2000).filter(|_| Spread::new().choose([1, 1].into_iter()) == Some(0)).count();
        assert!((800..1200).contains(&first), "{first} of 2000 fell to the first");
    }

    #[rstest]
    #[case::none(&[])]
    #[case::all_zero(&[0, 0])]
    fn nothing_to_choose(#[case] weights: &[u32]) {
        assert_eq!(Spread::new().choose(weights.iter().copied()), None);
    }
}
