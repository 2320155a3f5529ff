//! Misbehaviour that upstream's tests at v1.6.1 would not notice, though the specification forbids it.

use std::sync::OnceLock;

/// A misbehaviour that an upstream test would not notice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlindSpot {
    /// `TEST.n`, or `Generic.n` for what holds for many tests.
    pub id: &'static str,
    /// The misbehaviour.
    pub text: &'static str,
}

/// Every blind spot that a target can have.
pub fn blind_spots() -> &'static [BlindSpot] {
    static TABLE: OnceLock<Vec<BlindSpot>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let lines = include_str!("../blind-spots.txt").lines().filter(|line| !line.starts_with('#'));
        lines.filter_map(|line| line.split_once(' ')).map(|(id, text)| BlindSpot { id, text }).collect()
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_names_a_test_and_a_fault() {
        let ids = blind_spots().iter().map(|b| b.id).collect::<BTreeSet<_>>();
        assert_eq!(ids.len(), 192);
        assert_eq!(blind_spots().len(), 192);
        for spot in blind_spots() {
            let (test, number) = spot.id.split_once('.').unwrap_or_default();
            let known = test == "Generic" || crate::upstream_tests().iter().any(|t| t.name == test);
            assert!(known && number.parse::<u32>().is_ok(), "{}", spot.id);
            assert!(spot.text.len() > 10, "{}", spot.id);
        }
    }
}
