//! The names that manifests may use.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::dialects::{Dialect, Edition, Profile};

/// The names that manifests may use. Anything else is an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vocabulary {
    /// What the kinds are.
    pub dialect: Arc<Dialect>,
    /// Which edition of it is meant.
    pub edition: Edition,
    /// Features.
    pub features: BTreeSet<String>,
    /// Profiles.
    pub profiles: Vec<Profile>,
    /// Requirement IDs, `upstream:TEST` and `blind:TEST.n`.
    pub clauses: BTreeSet<String>,
    /// Shapes of pool Gateways.
    pub shapes: BTreeSet<String>,
    /// Condition types without a domain.
    pub conditions: BTreeSet<String>,
    /// Scripted services beside a target.
    pub services: BTreeSet<String>,
}

/// Condition types without a domain that Kubernetes itself defines.
const OF_KUBERNETES: [&str; 1] = ["Established"];

impl Vocabulary {
    /// What the embedded suites define.
    pub fn builtin() -> Vocabulary {
        let dialect = Dialect::gateway_api();
        let requirements = gateproof_suites::requirements().iter().map(|r| r.id.clone());
        let upstream = gateproof_suites::upstream_tests().iter().map(|t| format!("upstream:{}", t.name));
        let blind = gateproof_suites::blind_spots().iter().map(gateproof_suites::BlindSpot::clause);
        let features = gateproof_suites::features().iter().map(|f| f.name.clone()).collect();
        let own = Vocabulary::of(dialect, features, requirements.chain(upstream).chain(blind).collect());
        Vocabulary { profiles: Profile::of_gateway_api(), ..own }
    }

    /// What a dialect defines, with these features and clauses, and no profiles.
    pub fn of(dialect: Arc<Dialect>, features: BTreeSet<String>, clauses: BTreeSet<String>) -> Vocabulary {
        Vocabulary {
            edition: Edition::first(&dialect),
            features,
            profiles: Vec::new(),
            clauses,
            shapes: dialect.shapes().iter().cloned().collect(),
            services: dialect.services().iter().cloned().collect(),
            conditions: dialect.conditions().iter().cloned().chain(OF_KUBERNETES.map(str::to_owned)).collect(),
            dialect,
        }
    }
}

/// The known name nearest to what was written, if any is near enough to be meant.
pub fn suggest<'n>(written: &str, known: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let lower = written.to_lowercase();
    let allowed = (written.chars().count() / 3).clamp(1, 4);
    known
        .map(|name| (strsim::damerau_levenshtein(&lower, &name.to_lowercase()), name))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}
