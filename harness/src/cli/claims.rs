//! `--features-from`: what a ConformanceReport says that an implementation supports.

use std::path::Path;

use gateproof_report::conformance::{ConformanceReport, claimed};

use super::output::tell;
use super::profiles::profile_rules;
use super::{Failure, given};
use crate::scenario::Version;

/// What a report claims.
pub(super) struct Claimed {
    /// Its features that are known here.
    pub(super) features: Vec<String>,
    /// The release that it is of, if that can be told.
    pub(super) release: Option<Version>,
}

/// Reads it. Features of newer releases are told of.
pub(super) fn read(file: &Path) -> Result<Claimed, Failure> {
    let place = file.display();
    let published = ConformanceReport::from_yaml(&given::read(file)?).map_err(|error| {
        let help = "name a ConformanceReport: a published one, or conformance-report.yaml of another run";
        Failure::usage(format!("{place}: {error}"), help)
    })?;
    let claims = claimed(&published, &profile_rules(&published.gateway_api_version));
    let is_known = |name: &String| gateproof_suites::features().iter().any(|feature| feature.name == *name);
    let (known, foreign): (Vec<String>, Vec<String>) =
        claims.features.iter().map(|name| gateproof_suites::current_name(name).to_owned()).partition(is_known);
    for (what, names) in [("profiles", claims.unknown_profiles), ("features", foreign)] {
        if !names.is_empty() {
            tell!("{place} names {what} that this version does not know, and that are left out: {}", names.join(", "));
        }
    }
    if known.is_empty() {
        let help = "name them with --features, or hold the target to all with --all-features";
        return Err(Failure::usage(format!("{place} claims no feature that is known"), help));
    }
    Ok(Claimed { features: known, release: published.gateway_api_version.parse().ok() })
}

/// The features that came after a release: whoever says what there was at that one says nothing of them.
pub(super) fn newer_than(release: Version) -> Vec<String> {
    let is_newer = |since: &str| since.parse::<Version>().is_ok_and(|since| since > release);
    let newer = gateproof_suites::features().iter().filter(|one| one.since.as_deref().is_some_and(is_newer));
    newer.map(|feature| feature.name.clone()).collect()
}
