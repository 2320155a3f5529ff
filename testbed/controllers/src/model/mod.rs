//! Typed views of the objects that the implementation reads.
//!
//! Only the fields that decide something are here. Everything is optional where the CRD lets it be absent, so that an
//! object of any served version parses; whether a value makes sense is the reconciler's question, not the parser's.

mod certificate;
mod clients;
mod core;
mod gateway;
mod grpc;
mod listener_filters;
mod policy;
mod route;
mod tls;

pub use self::core::{
    Certificate, CrdView, EndpointSliceView, NamespaceView, SecretView, ServicePort, ServiceSpec, SliceEndpoint,
    SlicePort,
};
pub use certificate::CertificateRef;
pub use clients::{
    ClientAuthorityRef, FrontendTls, FrontendValidation, GatewayBackendTls, GatewayTls, PortTls, PortValidation,
};
pub use gateway::{
    AddressRequest, AllowedListeners, AllowedRoutes, GatewayClassSpec, GatewaySpec, GrantFrom, GrantSpec, GrantTo,
    Infrastructure, LabelSelector, Listener, ListenerSetSpec, ListenerTls, RouteKind, RouteNamespaces,
    SelectorRequirement,
};
pub use grpc::{GrpcMatch, GrpcRouteSpec, GrpcRule, MethodMatch};
pub use listener_filters::{ExternalAuth, ForwardBody, HttpAuth, ListenerFilter, ListenerFilters};
pub use policy::{AltName, AuthorityRef, BackendTlsPolicySpec, ConfigMapView, TargetRef, TrustBundleView, Validation};
pub use route::{
    BackendRef, Cors, ExtensionRef, Fraction, HeaderModifier, HttpFilter, HttpMatch, HttpRouteSpec, HttpRule,
    NameMatch, NameValue, ParentRef, PathMatch, PathModifier, Redirect, RequestMirror, Retry, Rewrite, TcpRouteSpec,
    TcpRule, Timeouts,
};
pub use tls::TlsRouteSpec;

use std::collections::BTreeMap;

use serde::Deserialize;

/// The API group of Gateway API.
pub const GATEWAY_GROUP: &str = "gateway.networking.k8s.io";

/// The parts of `metadata` that decide anything.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Meta {
    /// `metadata.name`.
    pub name: String,
    /// `metadata.namespace`, empty for cluster-scoped objects.
    pub namespace: String,
    /// `metadata.uid`, distinguishes an object from a later one of the same name.
    pub uid: String,
    /// `metadata.generation`, what `observedGeneration` is taken from.
    pub generation: i64,
    /// `metadata.creationTimestamp` in RFC 3339, so that text order is time order.
    pub creation_timestamp: String,
    /// `metadata.labels`.
    pub labels: BTreeMap<String, String>,
    /// `metadata.annotations`.
    pub annotations: BTreeMap<String, String>,
}

impl Meta {
    /// The order that decides every conflict of Gateway API: older first, then by namespace and name.
    pub fn precedence(&self) -> (&str, &str, &str) {
        (&self.creation_timestamp, &self.namespace, &self.name)
    }
}
