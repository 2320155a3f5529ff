//! What a ConformanceReport says that an implementation supports.

use std::collections::BTreeSet;

use super::{ConformanceReport, ProfileRule};

/// What a report claims.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Claims {
    /// Core features of its profiles, and the extended ones that it lists as supported.
    pub features: BTreeSet<String>,
    /// Its profiles of which the core features are not known.
    pub unknown_profiles: Vec<String>,
}

/// Everything that any profile of a report claims. A report names extended features only: the core ones are those of
/// its profiles, of which `rules` is the table.
pub fn claimed(report: &ConformanceReport, rules: &[ProfileRule]) -> Claims {
    let mut claims = Claims::default();
    for profile in &report.profiles {
        match rules.iter().find(|rule| rule.name == current_name(&profile.name)) {
            Some(rule) => claims.features.extend(rule.core.iter().cloned()),
            None => claims.unknown_profiles.push(profile.name.clone()),
        }
        claims.features.extend(profile.extended.iter().flat_map(|extended| extended.supported_features.clone()));
    }
    claims
}

/// Profiles had shorter names up to v1.0.
pub(crate) fn current_name(name: &str) -> &str {
    match name {
        "HTTP" => "GATEWAY-HTTP",
        "TLS" => "GATEWAY-TLS",
        "MESH" => "MESH-HTTP",
        name => name,
    }
}
