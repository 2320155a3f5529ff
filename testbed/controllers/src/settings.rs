//! What the operator of the implementation decides.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::Ipv4Addr,
};

use crate::snapshot::Kind;

/// Settings of the implementation. The limits are knobs so that their conditions can be seen.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The controller name that classes have to carry, and that route statuses are written under.
    pub controller_name: String,
    /// First three octets of the addresses that Gateways get.
    pub network: [u8; 3],
    /// How many Gateways of a class can be programmed, by the class's name; the newest beyond that get `NoResources`.
    /// Other classes have no limit.
    pub max_gateways: BTreeMap<String, usize>,
    /// Ports that listeners may use; others get `PortUnavailable`. `None` is no limit.
    pub ports: Option<BTreeSet<u16>>,
    /// Last octets of the addresses that may be given out.
    pub hosts: std::ops::RangeInclusive<u8>,
    /// How many addresses a Gateway gets that asks for none.
    pub addresses: usize,
    /// Whether Gateways of a class that ask for no address share one where all of their listeners are compatible.
    pub merges: bool,
    /// Whether a Gateway gets no address at all where one of them cannot be reached as it asks.
    pub all_or_none: bool,
    /// Whether a Gateway that asks for no address says its names instead of its addresses.
    pub names: bool,
    /// Whether filters of listeners may ask somebody about requests.
    pub authorizes: bool,
    /// Whether one host of a listener is for HTTPRoutes or for GRPCRoutes, whichever came first.
    pub keeps_kinds_apart: bool,
    /// Whether TCPRoutes attach to listeners of protocol TLS at which it ends, as TLSRoutes do.
    pub takes_streams_out_of_tls: bool,
    /// What it does without.
    pub lacks: BTreeSet<Dispensable>,
}

/// What the implementation can do without: it neither claims nor serves that then, and says so of who asks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Dispensable {
    /// TLSRoutes of listeners at which TLS ends.
    TlsTermination,
    /// Listeners of both TLS modes on one port.
    MixedTls,
    /// Listeners of HTTPS and TLS on one port.
    MixedHttps,
    /// Listeners of TCP and UDP on ports of one number.
    MixedTransports,
    /// ClusterTrustBundles as authorities.
    TrustBundles,
}

impl Dispensable {
    /// What has to be done without for this feature to be lacking; nothing if it is always there.
    pub fn of(feature: &str) -> Option<Self> {
        match feature {
            "TLSRouteModeTerminate" => Some(Self::TlsTermination),
            "TLSRouteModeMixed" => Some(Self::MixedTls),
            "ClusterTrustBundle" => Some(Self::TrustBundles),
            _ => None,
        }
    }

    /// The features that go with it: where TLS never ends, nothing else stands beside it.
    pub fn features(self) -> &'static [&'static str] {
        match self {
            Self::TlsTermination => &["TLSRouteModeMixed", "TLSRouteModeTerminate"],
            Self::MixedTls => &["TLSRouteModeMixed"],
            Self::TrustBundles => &["ClusterTrustBundle"],
            Self::MixedHttps | Self::MixedTransports => &[],
        }
    }
}

/// The controller name of the embedded implementation.
pub const CONTROLLER_NAME: &str = "gateproof.dev/reference";

impl Default for Settings {
    fn default() -> Self {
        Self {
            controller_name: CONTROLLER_NAME.into(),
            network: [127, 90, 0],
            max_gateways: BTreeMap::new(),
            ports: None,
            hosts: 1..=254,
            addresses: 1,
            merges: false,
            all_or_none: false,
            names: false,
            authorizes: true,
            keeps_kinds_apart: false,
            takes_streams_out_of_tls: false,
            lacks: BTreeSet::new(),
        }
    }
}

impl Settings {
    /// The address with the given last octet.
    pub fn address(&self, host: u8) -> Ipv4Addr {
        let [a, b, c] = self.network;
        Ipv4Addr::new(a, b, c, host)
    }

    /// The name that stands for an address that may be given out.
    pub fn name(&self, address: Ipv4Addr) -> String {
        let [_, _, _, host] = address.octets();
        format!("gateway-{host}.reference.test")
    }

    /// Every name with its address.
    pub fn all_names(&self) -> impl Iterator<Item = (String, Ipv4Addr)> {
        self.hosts.clone().map(|host| (self.name(self.address(host)), self.address(host)))
    }

    /// Whether a Gateway may have the address.
    pub fn may_assign(&self, address: Ipv4Addr) -> bool {
        let [a, b, c, host] = address.octets();
        [a, b, c] == self.network && self.hosts.contains(&host)
    }
}

/// What the implementation claims in `GatewayClass.status.supportedFeatures`, sorted by name as the API asks.
pub const SUPPORTED_FEATURES: &[&str] = &[
    "BackendTLSPolicy",
    "BackendTLSPolicySANValidation",
    "GRPCRoute",
    "GRPCRouteNamedRouteRule",
    "Gateway",
    "GatewayAddressEmpty",
    "GatewayBackendClientCertificate",
    "GatewayFrontendClientCertificateValidation",
    "GatewayFrontendClientCertificateValidationInsecureFallback",
    "GatewayHTTPListenerIsolation",
    "GatewayHTTPSListenerDetectMisdirectedRequests",
    "GatewayInfrastructure",
    "GatewayPort8080",
    "GatewayStaticAddresses",
    "HTTPRoute",
    "HTTPRoute303RedirectStatusCode",
    "HTTPRoute307RedirectStatusCode",
    "HTTPRoute308RedirectStatusCode",
    "HTTPRouteBackendProtocolH2C",
    "HTTPRouteBackendProtocolWebSocket",
    "HTTPRouteBackendRequestHeaderModification",
    "HTTPRouteBackendTimeout",
    "HTTPRouteCORS",
    "HTTPRouteDestinationPortMatching",
    "HTTPRouteHostRewrite",
    "HTTPRouteMethodMatching",
    "HTTPRouteNamedRouteRule",
    "HTTPRouteParentRefPort",
    "HTTPRoutePathRedirect",
    "HTTPRoutePathRewrite",
    "HTTPRoutePortRedirect",
    "HTTPRouteQueryParamMatching",
    "HTTPRouteRequestMirror",
    "HTTPRouteRequestMultipleMirrors",
    "HTTPRouteRequestPercentageMirror",
    "HTTPRouteRequestTimeout",
    "HTTPRouteResponseHeaderModification",
    "HTTPRouteSchemeRedirect",
    "ReferenceGrant",
    "TCPRoute",
    "TLSRoute",
    "TLSRouteModeMixed",
    "TLSRouteModeTerminate",
    "UDPRoute",
];

/// What it claims beside that from this minor release of Gateway API v1 on: names and fields that older ones lack.
pub const FEATURES_SINCE: (u32, &[&str]) = (
    7,
    &[
        "GRPCRouteRequestHeaderModifier",
        "GatewayRouteHostnameIntersectionPrecedence",
        "HTTPRouteBackendURLRewrite",
        "HTTPRouteRetryCodes",
        "HTTPRouteRetryConnectionError",
    ],
);

/// What it claims beside that from the same release on where definitions are of the experimental channel.
pub const EXPERIMENTAL_FEATURES: &[&str] =
    &["ClusterTrustBundle", "GatewayAddressRoutability", "GatewayListenerFilters"];

/// What it claims beside that where the definition of a kind is served that older releases lack, by kind.
pub const FEATURES_OF_KINDS: &[(Kind, &str)] = &[(Kind::ListenerSet, "ListenerSet")];

/// The field of a kind's `spec` that features are about. Where the definition lacks it, they are not claimed.
pub const FEATURES_OF_FIELDS: &[(Kind, &str, &[&str])] = &[
    (Kind::BackendTlsPolicy, "validation.subjectAltNames", &["BackendTLSPolicySANValidation"]),
    (Kind::Gateway, "infrastructure.labels", &["GatewayInfrastructure"]),
    (Kind::Gateway, "tls.backend", &["GatewayBackendClientCertificate"]),
    (
        Kind::Gateway,
        "tls.frontend",
        &["GatewayFrontendClientCertificateValidation", "GatewayFrontendClientCertificateValidationInsecureFallback"],
    ),
    (Kind::GrpcRoute, "rules.name", &["GRPCRouteNamedRouteRule"]),
    (Kind::HttpRoute, "parentRefs.port", &["HTTPRouteDestinationPortMatching", "HTTPRouteParentRefPort"]),
    (Kind::HttpRoute, "rules.filters.cors", &["HTTPRouteCORS"]),
    (Kind::HttpRoute, "rules.filters.requestMirror.percent", &["HTTPRouteRequestPercentageMirror"]),
    (Kind::HttpRoute, "rules.name", &["HTTPRouteNamedRouteRule"]),
    (Kind::HttpRoute, "rules.timeouts", &["HTTPRouteBackendTimeout", "HTTPRouteRequestTimeout"]),
];

/// What features are called by the releases before this minor one of Gateway API v1.
pub const FORMER_FEATURES: (u32, &[(&str, &str)]) =
    (6, &[("GatewayInfrastructure", "GatewayInfrastructurePropagation")]);

/// What it claims instead with older CRDs of the experimental channel, which say of retries what those releases said.
pub const OLDER_EXPERIMENTAL_FEATURES: &[&str] =
    &["HTTPRouteRetry", "HTTPRouteRetryBackendTimeout", "HTTPRouteRetryConnectionError"];

/// The newest minor release of Gateway API v1 that the implementation knows.
pub const NEWEST_MINOR: u32 = 7;

/// Whether a `bundle-version` annotation names a release that the implementation knows.
pub fn recognises(bundle_version: &str) -> bool {
    minor(bundle_version).is_some_and(|minor| minor <= NEWEST_MINOR)
}

/// The minor number of the release of v1 that a `bundle-version` annotation names.
pub fn minor(bundle_version: &str) -> Option<u32> {
    bundle_version.strip_prefix("v1.")?.split(['.', '-']).next()?.parse().ok()
}
