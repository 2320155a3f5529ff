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

    /// The features that a report lists as extended.
    pub fn extended(&self) -> impl Iterator<Item = &'static str> + '_ {
        let listed = |f: &&Feature| {
            f.profiles.get(&self.name) == Some(&Membership::Extended) || self.also_extended.contains(&f.name)
        };
        features().iter().filter(listed).map(|f| f.name.as_str())
    }
}

/// Every feature of Gateway API v1.6.1.
pub fn features() -> &'static [Feature] {
    static TABLE: OnceLock<Vec<Feature>> = OnceLock::new();
    TABLE.get_or_init(|| super::table("features", include_str!("../features.yaml")))
}

/// Every conformance profile of Gateway API v1.6.1.
pub fn profiles() -> &'static [Profile] {
    static TABLE: OnceLock<Vec<Profile>> = OnceLock::new();
    TABLE.get_or_init(|| super::table("profiles", include_str!("../profiles.yaml")))
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
        assert_eq!(names.len(), 58);
        assert_eq!(features().len(), 58);
        assert_eq!(features().iter().filter(|f| f.channel == Channel::Experimental).count(), 5);
        assert_eq!(profiles().len(), 7);
    }

    #[rstest]
    #[case("GATEWAY-HTTP", 38)]
    #[case("GATEWAY-TLS", 12)]
    #[case("GATEWAY-TCP", 11)]
    #[case("GATEWAY-UDP", 11)]
    #[case("GATEWAY-GRPC", 10)]
    #[case("MESH-HTTP", 9)]
    #[case("MESH-GRPC", 9)]
    fn profiles_extend_as_many_features_as_upstream(#[case] name: &str, #[case] count: usize) {
        let profile = profiles().iter().find(|p| p.name == name).unwrap();
        assert_eq!(profile.extended().count(), count);
        for core in &profile.core {
            let feature = features().iter().find(|f| f.name == *core).unwrap();
            assert_eq!(feature.profiles.get(name), Some(&Membership::Core), "{core}");
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

    /// Upstream counts nine of its tests nowhere.
    #[test]
    fn as_many_upstream_tests_are_outside_of_every_profile_as_upstream_has() {
        let outside =
            crate::upstream_tests().iter().filter(|test| profiles_of(test.features.iter().copied()).is_empty());
        let names = outside.map(|test| test.name).collect::<Vec<_>>();
        let known = [
            "GRPCRouteNamedRule",
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
