//! Objects as they come from the API server, and what is known of them at one moment.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub use gateproof_runtime::object::{full_name, items, name, namespace, text};
use serde::Deserialize;
use serde_json::Value;

use crate::components::Components;

macro_rules! kinds {
    ($($variant:ident, $name:literal, $group:literal, $version:literal, $plural:literal;)*) => {
        /// A kind that the implementation reads.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[allow(missing_docs, reason = "the names are the kinds")]
        pub enum Kind { $($variant),* }

        impl Kind {
            /// Every kind.
            pub const ALL: &'static [Kind] = &[$(Kind::$variant),*];

            /// Name, group, version and plural.
            #[must_use]
            pub const fn parts(self) -> (&'static str, &'static str, &'static str, &'static str) {
                match self { $(Kind::$variant => ($name, $group, $version, $plural)),* }
            }
        }
    };
}

kinds! {
    GatewayClass, "GatewayClass", "gateway.networking.k8s.io", "v1", "gatewayclasses";
    Gateway, "Gateway", "gateway.networking.k8s.io", "v1", "gateways";
    HttpRoute, "HTTPRoute", "gateway.networking.k8s.io", "v1", "httproutes";
    GrpcRoute, "GRPCRoute", "gateway.networking.k8s.io", "v1", "grpcroutes";
    Secret, "Secret", "", "v1", "secrets";
    AuthPolicy, "AuthPolicy", "kuadrant.io", "v1", "authpolicies";
    RateLimitPolicy, "RateLimitPolicy", "kuadrant.io", "v1", "ratelimitpolicies";
    TlsPolicy, "TLSPolicy", "kuadrant.io", "v1", "tlspolicies";
    DnsPolicy, "DNSPolicy", "kuadrant.io", "v1", "dnspolicies";
    Kuadrant, "Kuadrant", "kuadrant.io", "v1beta1", "kuadrants";
    DnsRecord, "DNSRecord", "kuadrant.io", "v1alpha1", "dnsrecords";
    Authorino, "Authorino", "operator.authorino.kuadrant.io", "v1beta1", "authorinos";
    AuthConfig, "AuthConfig", "authorino.kuadrant.io", "v1beta3", "authconfigs";
    Limitador, "Limitador", "limitador.kuadrant.io", "v1alpha1", "limitadors";
    Issuer, "Issuer", "cert-manager.io", "v1", "issuers";
    ClusterIssuer, "ClusterIssuer", "cert-manager.io", "v1", "clusterissuers";
    Certificate, "Certificate", "cert-manager.io", "v1", "certificates";
}

impl Kind {
    /// The kinds that are policies.
    pub const POLICIES: [Kind; 4] = [Kind::AuthPolicy, Kind::RateLimitPolicy, Kind::TlsPolicy, Kind::DnsPolicy];

    /// The kind's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.parts().0
    }

    /// `group/version`, or the version alone.
    #[must_use]
    pub fn api_version(self) -> String {
        let (_, group, version, _) = self.parts();
        if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") }
    }

    /// The kind of that name.
    #[must_use]
    pub fn find(name: &str) -> Option<Kind> {
        Kind::ALL.iter().copied().find(|kind| kind.name() == name)
    }
}

/// What policies need beside their own definitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Dependency {
    /// The Gateway API.
    GatewayApi,
    /// An implementation of it that is known.
    Provider,
    /// The service that authorizes requests.
    Authorino,
    /// The service that counts them.
    Limitador,
    /// What publishes DNSRecords.
    Dns,
    /// What issues certificates.
    Issuer,
}

impl Dependency {
    /// Every one, in the order in which messages list them.
    pub const ALL: [Dependency; 6] =
        [Self::GatewayApi, Self::Provider, Self::Authorino, Self::Limitador, Self::Dns, Self::Issuer];

    /// As messages call it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::GatewayApi => "Gateway API",
            Self::Provider => "Gateway API provider",
            Self::Authorino => "Authorino Operator",
            Self::Limitador => "Limitador Operator",
            Self::Dns => "DNS Operator",
            Self::Issuer => "Cert Manager",
        }
    }

    /// The kinds that it is known by. Here the provider has none of its own.
    #[must_use]
    pub const fn kinds(self) -> &'static [Kind] {
        match self {
            Self::GatewayApi => &[Kind::Gateway, Kind::HttpRoute],
            Self::Provider => &[],
            Self::Authorino => &[Kind::Authorino, Kind::AuthConfig],
            Self::Limitador => &[Kind::Limitador],
            Self::Dns => &[Kind::DnsRecord],
            Self::Issuer => &[Kind::Issuer, Kind::ClusterIssuer, Kind::Certificate],
        }
    }
}

/// Kind, namespace (empty for what has none) and name.
pub type Key = (Kind, String, String);

/// What is known of the cluster at one moment.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// The objects.
    pub objects: BTreeMap<Key, Arc<Value>>,
    /// What is not there. Worked out when the implementation starts and never again, as the original does it.
    pub missing: BTreeSet<Dependency>,
    /// What the components are told to do.
    pub components: Components,
}

impl Snapshot {
    /// Adds or replaces an object.
    pub fn put(&mut self, kind: Kind, object: Value) {
        let key = (kind, text(&object, "/metadata/namespace").to_owned(), text(&object, "/metadata/name").to_owned());
        self.objects.insert(key, Arc::new(object));
    }

    /// One object.
    #[must_use]
    pub fn get(&self, kind: Kind, namespace: &str, name: &str) -> Option<&Value> {
        self.objects.get(&(kind, namespace.to_owned(), name.to_owned())).map(|object| &**object)
    }

    /// All objects of a kind, by namespace and name.
    pub fn all(&self, kind: Kind) -> impl Iterator<Item = &Value> {
        let from = (kind, String::new(), String::new());
        self.objects.range(from..).take_while(move |(key, _)| key.0 == kind).map(|(_, object)| &**object)
    }

    /// Changes every object of a kind.
    pub fn edit(&mut self, kind: Kind, mut change: impl FnMut(&mut Value)) {
        for (_, object) in self.objects.iter_mut().filter(|(key, _)| key.0 == kind) {
            change(Arc::make_mut(object));
        }
    }
}

/// What precedence goes by: the time of creation, then namespace and name.
#[must_use]
pub fn age(object: &Value) -> (&str, &str, &str) {
    (text(object, "/metadata/creationTimestamp"), namespace(object), name(object))
}

/// A condition among the `conditions` of a holder, such as a status.
#[must_use]
pub fn condition<'a>(holder: &'a Value, r#type: &str) -> Option<&'a Value> {
    items(holder, "/conditions").find(|condition| condition["type"] == r#type)
}

/// Whether a condition is there and True.
#[must_use]
pub fn is_true(holder: &Value, r#type: &str) -> bool {
    condition(holder, r#type).is_some_and(|condition| condition["status"] == "True")
}
