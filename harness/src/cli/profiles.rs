//! Profiles, as ConformanceReports count them.

use gateproof_report::conformance::ProfileRule;

use crate::scenario::Version;

/// Profiles as a ConformanceReport about a release counts them; without one, or with a strange one, as about the newest known.
pub(crate) fn profile_rules(release: &str) -> Vec<ProfileRule> {
    let minor = release.parse::<Version>().map_or(gateproof_suites::NEWEST_MINOR, |version| version.minor.into());
    let rule = |profile: &gateproof_suites::Profile| ProfileRule {
        name: profile.name.clone(),
        core: profile.core.iter().cloned().collect(),
        extended: profile.extended(minor).map(str::to_owned).collect(),
    };
    gateproof_suites::profiles().iter().map(rule).collect()
}

#[cfg(test)]
mod tests {
    use gateproof_suites::{Membership, features};

    use super::*;

    /// Upstream's reports list TCPRoute and UDPRoute among the extended features of profiles in which they are core. They are
    /// counted as core.
    #[test]
    fn the_rules_are_those_of_the_table() {
        for (rule, profile) in profile_rules("v1.7.0").iter().zip(gateproof_suites::profiles()) {
            assert_eq!(rule.name, profile.name);
            for feature in features().iter().filter(|feature| feature.is_in(7)) {
                let membership = profile.membership([feature.name.as_str()]);
                assert_eq!(rule.core.contains(&feature.name), membership == Some(Membership::Core), "{}", feature.name);
                let listed = membership == Some(Membership::Extended) || profile.also_extended.contains(&feature.name);
                assert_eq!(rule.extended.contains(&feature.name), listed, "{}", feature.name);
            }
        }
        let both = profile_rules("v1.7.0").into_iter().filter(|rule| !rule.core.is_disjoint(&rule.extended));
        assert_eq!(both.map(|rule| rule.name).collect::<Vec<_>>(), ["GATEWAY-TCP", "GATEWAY-UDP"]);
    }
}
