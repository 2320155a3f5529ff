//! Misbehaviour that upstream's tests at v1.7.0 would not notice, though the specification forbids it.

use std::sync::OnceLock;

use serde::Deserialize;

/// A misbehaviour that an upstream test would not notice.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BlindSpot {
    /// `TEST.n`, or `Generic.n` for what holds for many tests. In `proves` it is `blind:TEST.n`.
    pub id: String,
    /// The misbehaviour.
    pub text: String,
    /// Why no scenario can show it.
    #[serde(default)]
    pub untested: Option<String>,
    /// Why no scenario shows it yet.
    #[serde(default)]
    pub later: Option<String>,
}

impl BlindSpot {
    /// The name by which a scenario says that it shows it.
    pub fn clause(&self) -> String {
        format!("blind:{}", self.id)
    }

    /// A sentence for who knows its name alone.
    pub fn unnoticed(&self) -> String {
        format!("Upstream's suite does not notice: {}", self.text)
    }

    /// The test that would not notice it; none of what holds for many.
    pub fn test(&self) -> Option<&'static crate::UpstreamTest> {
        match self.id.split_once('.')? {
            ("GatewayInfrastructure", _) => crate::upstream_test("GatewayInfrastructureMetadata"),
            (test, _) => crate::upstream_test(test),
        }
    }
}

/// Every blind spot that a target can have.
pub fn blind_spots() -> &'static [BlindSpot] {
    static TABLE: OnceLock<Vec<BlindSpot>> = OnceLock::new();
    TABLE.get_or_init(|| super::table("blind-spots", include_str!("../dialects/gateway-api/blind-spots.yaml")))
}

/// The blind spot of this clause, such as `blind:HTTPRouteWeight.1`.
pub fn blind_spot(clause: &str) -> Option<&'static BlindSpot> {
    let id = clause.strip_prefix("blind:")?;
    blind_spots().iter().find(|spot| spot.id == id)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_names_a_test_and_a_fault() {
        let ids = blind_spots().iter().map(|b| &b.id).collect::<BTreeSet<_>>();
        assert_eq!(ids.len(), 257);
        assert_eq!(blind_spots().len(), 257);
        for spot in blind_spots() {
            let (test, number) = spot.id.split_once('.').unwrap_or_default();
            // A test keeps the IDs of the name that it had at first.
            let former = ["Generic", "GatewayInfrastructure"].contains(&test);
            let known = former || crate::upstream_tests().iter().any(|t| t.name == test);
            assert_eq!(spot.test().is_none(), test == "Generic", "{}", spot.id);
            assert!(known && number.parse::<u32>().is_ok(), "{}", spot.id);
            assert!(spot.text.len() > 10, "{}", spot.id);
            assert_eq!(blind_spot(&spot.clause()), Some(spot));
        }
        assert_eq!(blind_spot("Generic.2"), None);
    }

    #[test]
    fn a_reason_is_a_sentence_and_there_is_one_at_most() {
        for spot in blind_spots() {
            let reasons = spot.later.iter().chain(&spot.untested).collect::<Vec<_>>();
            assert!(reasons.len() <= 1, "{} is both for later and not to be seen", spot.id);
            assert!(reasons.iter().all(|reason| reason.len() > 20), "{}", spot.id);
        }
    }
}
