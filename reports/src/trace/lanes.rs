//! Who shares a line: what does not overlap.

use super::Micros;

/// The line of each stretch of time, which are in order of their begin: the first that is free. Whatever is on one line is over before the next
/// begins.
pub(super) fn lines(stretches: impl IntoIterator<Item = (Micros, Micros)>) -> Vec<usize> {
    let mut ends: Vec<Micros> = Vec::new();
    let place = |(from, to): (Micros, Micros)| {
        let free = ends.iter().position(|end| *end <= from).unwrap_or(ends.len());
        if free == ends.len() {
            ends.push(0);
        }
        // What has no length takes its place too, so that two of one time stay apart.
        ends[free] = to.max(from.saturating_add(1));
        free
    };
    stretches.into_iter().map(place).collect()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::none(&[], &[])]
    #[case::one_after_the_other(&[(0, 5), (5, 9), (9, 9)], &[0, 0, 0])]
    #[case::beside(&[(0, 5), (1, 2), (2, 3), (4, 8), (5, 6)], &[0, 1, 1, 1, 0])]
    #[case::at_once(&[(3, 3), (3, 3)], &[0, 1])]
    fn what_overlaps_is_on_two_lines(#[case] stretches: &[(u64, u64)], #[case] expected: &[usize]) {
        assert_eq!(lines(stretches.iter().copied()), expected);
    }
}
