//! What is known of Gateway API beside the reports: tables of others, as the matrix needs them.

use schemars::JsonSchema;
use serde::Serialize;

pub(super) use crate::conformance::release;
use crate::conformance::{ProfileRule, renamed_early};

/// The tables.
#[derive(Debug, Clone, Default)]
pub struct Known {
    /// Profiles, in the order in which they are shown.
    pub profiles: Vec<ProfileRule>,
    /// Features, in the order in which they are shown.
    pub features: Vec<KnownFeature>,
    /// Tests of upstream's suite.
    pub tests: Vec<SuiteTest>,
}

/// A feature.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KnownFeature {
    /// Its name.
    pub name: String,
    /// Its name in older releases.
    pub formerly: Option<String>,
    /// Where it is defined.
    pub link: Option<String>,
    /// Clauses of the specification that are about it alone.
    pub clauses: Vec<Clause>,
}

/// A clause of the specification.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Clause {
    /// Its ID.
    pub id: String,
    /// Where it is written.
    pub link: String,
}

/// A test of upstream's suite.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SuiteTest {
    /// Its name.
    pub name: String,
    /// The first minor release whose suite has it, such as `v1.4`.
    pub since: String,
    /// The features that it needs.
    pub features: Vec<String>,
    /// Scenarios of ours that prove the same.
    pub scenarios: Vec<String>,
}

impl Known {
    /// A feature by the name that it goes by today.
    pub(super) fn feature(&self, name: &str) -> Option<&KnownFeature> {
        self.features.iter().find(|one| one.name == name)
    }

    /// The name that a feature goes by today.
    pub(super) fn current<'a>(&'a self, name: &'a str) -> &'a str {
        let renamed = self.features.iter().find(|one| one.formerly.as_deref() == Some(name));
        renamed.map(|one| &*one.name).or_else(|| renamed_early(name)).unwrap_or(name)
    }

    pub(super) fn test(&self, name: &str) -> Option<&SuiteTest> {
        self.tests.iter().find(|one| one.name == name)
    }

    pub(super) fn profile(&self, name: &str) -> Option<&ProfileRule> {
        self.profiles.iter().find(|one| one.name == name)
    }
}
