//! `gateproof list profiles` and `list features`: the table of features, seen from both sides.

use gateproof_suites::{Feature, Membership, NEWEST_MINOR, Profile, profiles, profiles_of};
use schemars::JsonSchema;
use serde::Serialize;

use crate::scenario::Scenario;

/// A conformance profile, with what counts in it.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ProfileItem {
    /// Its name in reports.
    name: &'static str,
    /// What it is about.
    about: &'static str,
    /// Its core features.
    core: &'static [String],
    /// The features that a report lists as extended.
    extended: Vec<&'static str>,
    /// Scenarios all of whose features are core in it.
    core_scenarios: Vec<String>,
    /// Scenarios with an extended feature, and none that the profile does not have.
    extended_scenarios: Vec<String>,
}

impl ProfileItem {
    /// The item as a line for people.
    pub(super) fn cells(&self) -> [String; 5] {
        [
            self.name.to_owned(),
            self.about.to_owned(),
            format!("core {}", self.core.join(", ")),
            format!("{} extended features", self.extended.len()),
            format!("{} core and {} extended scenarios", self.core_scenarios.len(), self.extended_scenarios.len()),
        ]
    }
}

/// Every profile, with those of the scenarios that count in it.
pub(super) fn all(scenarios: &[Scenario]) -> Vec<ProfileItem> {
    profiles().iter().map(|profile| item(profile, scenarios)).collect()
}

fn item(profile: &'static Profile, scenarios: &[Scenario]) -> ProfileItem {
    let counted = |as_what: Membership| {
        let counts = |scenario: &&Scenario| profile.membership(of(scenario)) == Some(as_what);
        scenarios.iter().filter(counts).map(|scenario| scenario.name.clone()).collect()
    };
    ProfileItem {
        name: &profile.name,
        about: &profile.about,
        core: &profile.core,
        extended: profile.extended(NEWEST_MINOR).collect(),
        core_scenarios: counted(Membership::Core),
        extended_scenarios: counted(Membership::Extended),
    }
}

/// The scenarios that count in no profile, as lines for people; nothing if there are none.
pub(super) fn outside(scenarios: &[Scenario]) -> Option<String> {
    let outside = scenarios.iter().filter(|scenario| profiles_of(of(scenario)).is_empty());
    let lines: Vec<String> = outside.map(|s| format!("  {} ({})", s.name, s.features.join(", "))).collect();
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

fn of(scenario: &Scenario) -> impl Iterator<Item = &str> + Clone {
    scenario.features.iter().map(String::as_str)
}
