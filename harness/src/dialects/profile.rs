//! Profiles: what of a dialect is asked of targets of one sort.

use gateproof_suites::Membership;
use serde::Deserialize;

/// A profile. Which scenarios count in it follows from the features that they need.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Its name.
    pub name: String,
    /// What it is about.
    pub about: String,
    /// Features that every target of this sort has.
    #[serde(default)]
    pub core: Vec<String>,
    /// Features that it may have.
    #[serde(default)]
    pub extended: Vec<String>,
    /// The scenarios that alone count in it, if it names any; else all that need no other features.
    #[serde(default)]
    pub scenarios: Vec<String>,
}

impl Profile {
    /// Those of Gateway API.
    pub(crate) fn of_gateway_api() -> Vec<Profile> {
        let all = gateproof_suites::profiles().iter();
        all.map(|profile| {
            let counted = |as_what: Membership| {
                let of = gateproof_suites::features().iter();
                let counts = of.filter(|feature| feature.profiles.get(&profile.name) == Some(&as_what));
                counts.map(|feature| feature.name.clone()).collect()
            };
            Profile {
                name: profile.name.clone(),
                about: profile.about.clone(),
                core: counted(Membership::Core),
                extended: counted(Membership::Extended),
                scenarios: Vec::new(),
            }
        })
        .collect()
    }

    /// How a scenario of this name counts that needs these features: extended as soon as one of them is, and not at all if one is in
    /// neither set.
    pub fn membership<'f>(&self, scenario: &str, needs: impl IntoIterator<Item = &'f str>) -> Option<Membership> {
        let has = |names: &[String], name: &str| names.iter().any(|own| own == name);
        if !self.scenarios.is_empty() && !has(&self.scenarios, scenario) {
            return None;
        }
        needs.into_iter().try_fold(Membership::Core, |so_far, feature| match () {
            () if has(&self.core, feature) => Some(so_far),
            () if has(&self.extended, feature) => Some(Membership::Extended),
            () => None,
        })
    }

    /// Whether its name is one: letters, digits and dashes, a letter first.
    pub(crate) fn can_be_named(&self) -> bool {
        self.name.starts_with(|first: char| first.is_ascii_alphabetic())
            && self.name.chars().all(|one| one.is_ascii_alphanumeric() || one == '-')
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use rstest::rstest;

    use super::*;

    /// What counts by its own tables counts here.
    #[test]
    fn those_of_gateway_api_are_as_its_tables_have_them() {
        let own = Profile::of_gateway_api();
        assert_eq!(own.len(), gateproof_suites::profiles().len());
        for (profile, table) in own.iter().zip(gateproof_suites::profiles()) {
            for feature in gateproof_suites::features() {
                let needs = [feature.name.as_str()];
                assert_eq!(profile.membership("any", needs), table.membership(needs), "{} {needs:?}", profile.name);
            }
            assert_eq!(profile.membership("any", ["Unheard"]), None);
        }
    }

    #[rstest]
    #[case::nothing("a", &[], Some(Membership::Core))]
    #[case::core("a", &["A"], Some(Membership::Core))]
    #[case::extended("a", &["A", "B"], Some(Membership::Extended))]
    #[case::foreign("a", &["A", "C"], None)]
    #[case::not_named("b", &["A"], None)]
    fn a_scenario_counts_by_its_features(
        #[case] name: &str,
        #[case] needs: &[&str],
        #[case] counts: Option<Membership>,
    ) {
        let text = "{name: P, about: b, core: [A], extended: [B], scenarios: [a]}";
        let profile: Profile = serde_yaml::from_str(text).unwrap();
        assert_eq!(profile.membership(name, needs.iter().copied()), counts);
        let all = Profile { scenarios: Vec::new(), ..profile };
        assert_eq!(all.membership("b", needs.iter().copied()), all.membership("a", needs.iter().copied()));
    }
}
