//! `gateproof list profiles` and `list features`: the table of features, seen from both sides.

use gateproof_suites::{Feature, Membership, NEWEST_MINOR};
use schemars::JsonSchema;
use serde::Serialize;

use super::super::options::counts;
use crate::dialects::{Dialect, Profile};
use crate::scenario::Scenario;
use crate::suite::Suite;

/// A profile, with what counts in it.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ProfileItem {
    /// Its name in reports.
    name: String,
    /// What it is about.
    about: String,
    /// Its core features.
    core: Vec<String>,
    /// Its extended features; of Gateway API, those that a report lists so.
    extended: Vec<String>,
    /// Scenarios all of whose features are core in it.
    core_scenarios: Vec<String>,
    /// Scenarios with an extended feature, and none that the profile does not have.
    extended_scenarios: Vec<String>,
}

impl ProfileItem {
    /// The item as a line for people.
    pub(super) fn cells(&self) -> [String; 5] {
        [
            self.name.clone(),
            self.about.clone(),
            format!("core {}", self.core.join(", ")),
            format!("{} extended features", self.extended.len()),
            format!("{} core and {} extended scenarios", self.core_scenarios.len(), self.extended_scenarios.len()),
        ]
    }
}

/// Every profile, with those of the scenarios that count in it.
pub(super) fn all(suite: &Suite, scenarios: &[Scenario]) -> Vec<ProfileItem> {
    suite.vocabulary.profiles.iter().map(|profile| item(profile, &suite.dialect, scenarios)).collect()
}

fn item(profile: &Profile, dialect: &Dialect, scenarios: &[Scenario]) -> ProfileItem {
    let counted = |as_what: Membership| {
        let counts = |scenario: &&Scenario| counts(scenario, profile) == Some(as_what);
        scenarios.iter().filter(counts).map(|scenario| scenario.name.clone()).collect()
    };
    // Its own tables know more: what a report lists, in which order, and what is of no release any more.
    let listed = gateproof_suites::profiles().iter().filter(|_| *dialect == *Dialect::gateway_api());
    let (core, extended) = match listed.into_iter().find(|listed| listed.name == profile.name) {
        Some(listed) => (listed.core.clone(), listed.extended(NEWEST_MINOR).map(str::to_owned).collect()),
        None => (profile.core.clone(), profile.extended.clone()),
    };
    ProfileItem {
        name: profile.name.clone(),
        about: profile.about.clone(),
        core,
        extended,
        core_scenarios: counted(Membership::Core),
        extended_scenarios: counted(Membership::Extended),
    }
}

/// The scenarios that count in no profile, as lines for people; nothing if there are none.
pub(super) fn outside(profiles: &[Profile], scenarios: &[Scenario]) -> Option<String> {
    let is_outside = |scenario: &&Scenario| profiles.iter().all(|profile| counts(scenario, profile).is_none());
    let needs = |scenario: &Scenario| match &scenario.features[..] {
        [] => String::new(),
        features => format!(" ({})", features.join(", ")),
    };
    let lines: Vec<String> =
        scenarios.iter().filter(is_outside).map(|scenario| format!("  {}{}", scenario.name, needs(scenario))).collect();
    (!lines.is_empty()).then(|| format!("in no profile:\n{}", lines.join("\n")))
}

/// A feature as a line for people.
pub(super) fn cells(feature: &Feature) -> [String; 5] {
    let counted: Vec<String> =
        feature.profiles.iter().map(|(profile, level)| format!("{profile} {}", level.word())).collect();
    let counted = if counted.is_empty() { "in no profile".to_owned() } else { counted.join(", ") };
    [
        feature.name.clone(),
        feature.kind.clone(),
        feature.level.word().to_owned(),
        feature.channel.word().to_owned(),
        counted,
    ]
}
