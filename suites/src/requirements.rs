//! Requirements: what the specification asks, clause by clause.

use std::sync::OnceLock;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A clause of the specification.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Requirement {
    /// Its name in `proves`.
    pub id: String,
    /// How binding the document is.
    pub level: Level,
    /// How it can be tested.
    pub tests: Vec<TestKind>,
    /// What it asks.
    pub text: String,
    /// Where it stands: a URL.
    pub source: String,
    /// The editions of the document that ask it; every one unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub editions: Option<Vec<String>>,
    /// Why it cannot be tested in a cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub untested: Option<String>,
    /// Why no scenario tests it yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub later: Option<String>,
}

impl Requirement {
    /// Whether a scenario or contract rule has to prove it.
    pub fn in_scope(&self) -> bool {
        self.untested.is_none() && self.later.is_none() && self.tests.iter().any(|kind| *kind != TestKind::C)
    }
}

/// How binding a document is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Must.
    Must,
    /// Should.
    Should,
    /// May.
    May,
    /// Stated as a fact or by example.
    Implied,
}

/// How a requirement can be tested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum TestKind {
    /// Status of a settled object.
    S,
    /// History of an object.
    H,
    /// Data path.
    D,
    /// Admission.
    A,
    /// A rule that the harness itself must keep.
    C,
    /// Cannot be seen in a cluster.
    N,
}

/// Every requirement, in order of document and number.
pub fn requirements() -> &'static [Requirement] {
    static TABLE: OnceLock<Vec<Requirement>> = OnceLock::new();
    TABLE.get_or_init(|| super::table("requirements", include_str!("../dialects/gateway-api/requirements.yaml")))
}

/// The requirement of this ID.
pub fn requirement(id: &str) -> Option<&'static Requirement> {
    requirements().iter().find(|r| r.id == id)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("GEP1364-", 60)]
    #[case("IMPL-", 42)]
    #[case("K8S-", 16)]
    #[case("GRPC-", 9)]
    fn no_number_is_left_out(#[case] prefix: &str, #[case] count: usize) {
        let all = requirements().iter().map(|r| r.id.as_str()).filter(|id| id.starts_with(prefix));
        let expected = (1..=count).map(|n| format!("{prefix}{n:02}")).collect::<Vec<_>>();
        assert_eq!(all.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn each_is_told_and_sourced() {
        let mut texts = BTreeSet::new();
        for requirement in requirements() {
            assert!(texts.insert(&requirement.text), "{} repeats another", requirement.id);
            assert!(requirement.source.starts_with("https://"), "{}", requirement.id);
            assert!(!requirement.tests.is_empty(), "{}", requirement.id);
            let unseen = requirement.tests == [TestKind::N];
            assert_eq!(unseen, requirement.untested.is_some(), "{}", requirement.id);
            assert!(!unseen || requirement.later.is_none(), "{}", requirement.id);
        }
    }

    #[test]
    fn the_ones_for_later_are_the_known_ones() {
        let later = requirements().iter().filter(|r| r.later.is_some()).map(|r| r.id.as_str()).collect::<Vec<_>>();
        let known = ["GEP1364-28", "GEP1364-56", "IMPL-12", "K8S-08"];
        assert_eq!(later, known);
    }
}
