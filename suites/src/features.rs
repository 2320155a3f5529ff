//! Features and conformance profiles.

use std::sync::OnceLock;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A feature that an implementation may claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Feature {
    /// Its name in `GatewayClass.status.supportedFeatures`.
    pub name: String,
    /// The resource, or Mesh, that it belongs to.
    pub kind: String,
    /// Whether that resource counts it as core.
    pub level: Membership,
    /// The release channel that its fields are in.
    pub channel: Channel,
    /// The profiles that count it, and as what.
    pub profiles: IndexMap<String, Membership>,
    /// The minor release that it came with; nothing if it was there in v1.2, the first that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// The minor release that it is gone from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// Its name in older releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub formerly: Option<String>,
}

/// The newest minor release of Gateway API v1 whose features are known.
pub const NEWEST_MINOR: u32 = 7;

impl Feature {
    /// Whether a minor release of v1 has it.
    pub fn is_in(&self, minor: u32) -> bool {
        let minor_of = |bound: &Option<String>| bound.as_deref()?.strip_prefix("1.")?.parse::<u32>().ok();
        minor_of(&self.since).is_none_or(|since| since <= minor)
            && minor_of(&self.until).is_none_or(|until| minor < until)
    }
}

/// Core or extended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Membership {
    /// Asked of everyone.
    Core,
    /// Asked of those who claim it.
    Extended,
}

impl Membership {
    /// Its word.
    pub const fn word(self) -> &'static str {
        match self {
            Membership::Core => "core",
            Membership::Extended => "extended",
        }
    }
}

/// A release channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Channel {
    /// Standard.
    Standard,
    /// Experimental.
    Experimental,
}

impl Channel {
    /// Its word.
    pub const fn word(self) -> &'static str {
        match self {
            Channel::Standard => "standard",
            Channel::Experimental => "experimental",
        }
    }
}

/// A conformance profile.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Its name in reports.
    pub name: String,
    /// What it is about.
    pub about: String,
    /// Its core features.
    pub core: Vec<String>,
    /// Core features that upstream's reports list among the extended ones too.
    #[serde(default, rename = "alsoExtended")]
    pub also_extended: Vec<String>,
}

impl Profile {
    /// How a test with these features counts here: extended as soon as one is not core, `None` if one is in neither set.
    pub fn membership<'f>(&self, of: impl IntoIterator<Item = &'f str>) -> Option<Membership> {
        let mut level = Membership::Core;
        for name in of {
            match features().iter().find(|f| f.name == name)?.profiles.get(&self.name)? {
                Membership::Core => {}
                Membership::Extended => level = Membership::Extended,
            }
        }
        Some(level)
    }

    /// The features that a report about a minor release of v1 lists as extended.
    pub fn extended(&self, minor: u32) -> impl Iterator<Item = &'static str> + '_ {
        let listed = move |f: &&Feature| {
            let counts = f.profiles.get(&self.name) == Some(&Membership::Extended);
            f.is_in(minor) && (counts || self.also_extended.contains(&f.name))
        };
        features().iter().filter(listed).map(|f| f.name.as_str())
    }
}

/// Every feature of Gateway API up to v1.7.0, gone ones too.
pub fn features() -> &'static [Feature] {
    static TABLE: OnceLock<Vec<Feature>> = OnceLock::new();
    TABLE.get_or_init(|| super::table("features", include_str!("../dialects/gateway-api/features.yaml")))
}

/// The name that a feature goes by today: another one only for what was renamed.
pub fn current_name(claimed: &str) -> &str {
    let renamed = features().iter().find(|feature| feature.formerly.as_deref() == Some(claimed));
    renamed.map_or(claimed, |feature| &feature.name)
}

/// Every conformance profile of Gateway API v1.7.0.
pub fn profiles() -> &'static [Profile] {
    static TABLE: OnceLock<Vec<Profile>> = OnceLock::new();
    TABLE.get_or_init(|| super::table("profiles", include_str!("../dialects/gateway-api/profiles.yaml")))
}

/// The profiles that a test with these features counts in, and as what. A test of which no profile has all features is in
/// none, and no ConformanceReport counts it.
pub fn profiles_of<'f>(of: impl IntoIterator<Item = &'f str> + Clone) -> IndexMap<&'static str, Membership> {
    let counts = |profile: &'static Profile| Some((profile.name.as_str(), profile.membership(of.clone())?));
    profiles().iter().filter_map(counts).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::collections::BTreeSet;

    use rstest::rstest;

    use super::*;

    #[test]
    fn there_are_as_many_as_upstream_has() {
        let names = features().iter().map(|f| f.name.as_str()).collect::<BTreeSet<_>>();
        assert_eq!(names.len(), features().len());
        let of = |minor| features().iter().filter(move |f| f.is_in(minor));
        assert_eq!([2, 3, 4, 5, 6, NEWEST_MINOR].map(|minor| of(minor).count()), [30, 32, 44, 54, 58, 64]);
        assert_eq!(of(NEWEST_MINOR).filter(|f| f.channel == Channel::Experimental).count(), 5);
        assert_eq!(profiles().len(), 7);
    }

    #[rstest]
    #[case("GATEWAY-HTTP", 43)]
    #[case("GATEWAY-TLS", 19)]
    #[case("GATEWAY-TCP", 16)]
    #[case("GATEWAY-UDP", 16)]
    #[case("GATEWAY-GRPC", 17)]
    #[case("MESH-HTTP", 9)]
    #[case("MESH-GRPC", 9)]
    fn profiles_extend_as_many_features_as_upstream(#[case] name: &str, #[case] count: usize) {
        let profile = profiles().iter().find(|p| p.name == name).unwrap();
        assert_eq!(profile.extended(NEWEST_MINOR).count(), count);
        for core in &profile.core {
            let feature = features().iter().find(|f| f.name == *core).unwrap();
            assert_eq!(feature.profiles.get(name), Some(&Membership::Core), "{core}");
        }
    }

    #[rstest]
    #[case("GatewayInfrastructurePropagation", "GatewayInfrastructure")]
    #[case("GatewayInfrastructure", "GatewayInfrastructure")]
    #[case("Other", "Other")]
    fn a_renamed_feature_is_known_by_both_names(#[case] claimed: &str, #[case] name: &str) {
        assert_eq!(current_name(claimed), name);
    }

    #[test]
    fn bounds_are_minor_releases() {
        for feature in features() {
            for bound in feature.since.iter().chain(&feature.until) {
                let minor = bound.strip_prefix("1.").and_then(|minor| minor.parse::<u32>().ok());
                assert!(minor.is_some_and(|minor| minor <= NEWEST_MINOR), "{} of {}", bound, feature.name);
            }
        }
    }

    #[rstest]
    #[case("GATEWAY-HTTP", &["Gateway", "HTTPRoute"], Some(Membership::Core))]
    #[case("GATEWAY-HTTP", &["Gateway", "HTTPRoute", "HTTPRouteRetry"], Some(Membership::Extended))]
    #[case("GATEWAY-TCP", &["Gateway", "TCPRoute"], Some(Membership::Core))]
    #[case("GATEWAY-TCP", &["Gateway", "HTTPRoute"], None)]
    #[case("GATEWAY-HTTP", &["NoSuchFeature"], None)]
    fn a_test_counts_by_its_features(#[case] profile: &str, #[case] of: &[&str], #[case] expected: Option<Membership>) {
        let profile = profiles().iter().find(|p| p.name == profile).unwrap();
        assert_eq!(profile.membership(of.iter().copied()), expected);
    }

    #[test]
    fn a_test_counts_in_every_profile_that_has_its_features() {
        let names = |of: &[&str]| profiles_of(of.iter().copied()).into_iter().collect::<Vec<_>>();
        assert_eq!(names(&["Gateway", "HTTPRoute"]), [("GATEWAY-HTTP", Membership::Core)]);
        assert_eq!(names(&["Gateway", "ListenerSet"]).len(), 5);
        assert_eq!(names(&["Gateway", "HTTPRoute", "GRPCRoute"]), []);
        assert_eq!(names(&["Gateway", "GRPCRoute", "GRPCRouteNamedRouteRule"]), []);
    }

    /// Upstream counts ten of its tests nowhere.
    #[test]
    fn as_many_upstream_tests_are_outside_of_every_profile_as_upstream_has() {
        let outside =
            crate::upstream_tests().iter().filter(|test| profiles_of(test.features.iter().copied()).is_empty());
        let names = outside.map(|test| test.name).collect::<Vec<_>>();
        let known = [
            "GRPCRouteNamedRule",
            "GRPCRouteRequestHeaderModifier",
            "HTTPRouteDisallowedKind",
            "MeshConsumerRoute",
            "MeshFrontend",
            "MeshFrontendHostname",
            "MeshHTTPRoute303Redirect",
            "MeshHTTPRoute307Redirect",
            "MeshHTTPRoute308Redirect",
            "MeshPorts",
        ];
        assert_eq!(names, known);
    }
}
