//! How many Pods a run may have in the cluster at once, where each Gateway costs one. Pure.

use super::schedule::{BESIDE, spared};

/// What a run may have there at once, by the order in which it may have it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Crowd {
    /// Gateways of the pool, which stay.
    pool: usize,
    /// Of each scenario with Gateways of its own these and its backends, the most first.
    with_own: Vec<usize>,
    /// Of each of the others its backends, the most first.
    others: Vec<usize>,
}

impl Crowd {
    /// Beside so many Gateways of the pool, of scenarios by how many Gateways of its own and how many backends in Pods each has, executed
    /// so many times.
    pub fn of(pool: usize, scenarios: &[(usize, usize)], times: usize) -> Crowd {
        let (mut with_own, mut others) = (Vec::new(), Vec::new());
        for (own, backends) in scenarios {
            let of = if *own > 0 { &mut with_own } else { &mut others };
            of.extend(std::iter::repeat_n(own + backends, times));
        }
        for of in [&mut with_own, &mut others] {
            of.sort_unstable_by_key(|pods| std::cmp::Reverse(*pods));
        }
        Crowd { pool, with_own, others }
    }

    /// The most Pods with so many slots, beside those that are going: of scenarios that are at work and of those that have left their
    /// slots to them.
    pub fn most(&self, slots: usize) -> usize {
        let first = |of: &[usize], count: usize| of.iter().take(count).sum::<usize>();
        let beside = spared(slots);
        let busiest = |with_own: usize| {
            first(&self.with_own, with_own + beside) + first(&self.others, slots - with_own + beside * BESIDE)
        };
        self.pool + (0..=slots).map(busiest).max().unwrap_or_default()
    }

    /// The most slots with which no more Pods than these are there; nothing if one alone has more.
    pub fn slots(&self, left: usize, at_most: usize) -> Option<usize> {
        (1..=at_most).rev().find(|slots| self.most(*slots) <= left)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    /// Beside ten of the pool.
    fn crowd(with_own: &[usize], others: &[usize]) -> Crowd {
        let others = others.iter().map(|backends| (0, *backends));
        Crowd::of(10, &with_own.iter().map(|pods| (1, pods - 1)).chain(others).collect::<Vec<_>>(), 1)
    }

    #[rstest]
    #[case::the_pool_alone(crowd(&[], &[0; 9]), 4, 10)]
    #[case::as_many_linger_as_are_at_work(crowd(&[1; 20], &[]), 4, 18)]
    #[case::no_more_than_there_are(crowd(&[1; 5], &[]), 4, 15)]
    #[case::those_with_the_most(crowd(&[1, 2, 3, 1], &[]), 1, 13)]
    #[case::nobody_lingers_beside_one(crowd(&[1; 20], &[1; 20]), 1, 11)]
    #[case::backends_of_others(crowd(&[], &[2; 40]), 4, 10 + 32)]
    #[case::of_both(crowd(&[2, 3, 2], &[2; 40]), 2, 10 + 7 + 2 * 6 + 2)]
    #[case::each_again(Crowd::of(10, &[(1, 2), (0, 2)], 2), 2, 10 + 3 * 2 + 2 * 2)]
    #[case::of_both_while_few_have_their_own(crowd(&[1; 40], &[2; 40]), 2, 10 + 2 + 2 * 8)]
    fn the_most_that_are_there_at_once(#[case] crowd: Crowd, #[case] slots: usize, #[case] most: usize) {
        assert_eq!(crowd.most(slots), most);
    }

    #[rstest]
    #[case::enough(100, Some(8))]
    #[case::to_the_last(26, Some(8))]
    #[case::one_too_few(25, Some(7))]
    #[case::one_at_a_time(12, Some(1))]
    #[case::not_even_the_pool(9, None)]
    fn so_many_slots_keep_to_the_room(#[case] left: usize, #[case] slots: Option<usize>) {
        assert_eq!(crowd(&[1; 40], &[]).slots(left, 8), slots);
    }
}
