//! What the implementation knows of the cluster at one moment.

use std::{
    collections::BTreeMap,
    fmt,
    net::{IpAddr, Ipv4Addr},
    sync::Arc,
};

use gateproof_proxy::config::Transport;
use serde::Deserialize;
use serde_json::Value;

use crate::model::{
    BackendTlsPolicySpec, ConfigMapView, CrdView, EndpointSliceView, GatewayClassSpec, GatewaySpec, GrantSpec,
    GrpcRouteSpec, HttpRouteSpec, ListenerSetSpec, Meta, NamespaceView, SecretView, ServiceSpec, TcpRouteSpec,
    TlsRouteSpec, TrustBundleView,
};

/// The kinds that the implementation watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "the names are the kinds")]
pub enum Kind {
    CustomResourceDefinition,
    Namespace,
    Service,
    EndpointSlice,
    Secret,
    GatewayClass,
    Gateway,
    ListenerSet,
    HttpRoute,
    GrpcRoute,
    TcpRoute,
    TlsRoute,
    UdpRoute,
    ReferenceGrant,
    ConfigMap,
    ClusterTrustBundle,
    BackendTlsPolicy,
}

impl Kind {
    /// Every kind, in the order of dependence.
    pub const ALL: [Self; 17] = [
        Self::CustomResourceDefinition,
        Self::Namespace,
        Self::Service,
        Self::EndpointSlice,
        Self::Secret,
        Self::GatewayClass,
        Self::Gateway,
        Self::ListenerSet,
        Self::HttpRoute,
        Self::GrpcRoute,
        Self::TcpRoute,
        Self::TlsRoute,
        Self::UdpRoute,
        Self::ReferenceGrant,
        Self::ConfigMap,
        Self::ClusterTrustBundle,
        Self::BackendTlsPolicy,
    ];

    /// API group, empty for core.
    pub const fn group(self) -> &'static str {
        match self {
            Self::CustomResourceDefinition => "apiextensions.k8s.io",
            Self::Namespace | Self::Service | Self::Secret | Self::ConfigMap => "",
            Self::EndpointSlice => "discovery.k8s.io",
            Self::ClusterTrustBundle => "certificates.k8s.io",
            _ => crate::model::GATEWAY_GROUP,
        }
    }

    /// The kind as manifests spell it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::CustomResourceDefinition => "CustomResourceDefinition",
            Self::Namespace => "Namespace",
            Self::Service => "Service",
            Self::EndpointSlice => "EndpointSlice",
            Self::Secret => "Secret",
            Self::GatewayClass => "GatewayClass",
            Self::Gateway => "Gateway",
            Self::ListenerSet => "ListenerSet",
            Self::HttpRoute => "HTTPRoute",
            Self::GrpcRoute => "GRPCRoute",
            Self::TcpRoute => "TCPRoute",
            Self::TlsRoute => "TLSRoute",
            Self::UdpRoute => "UDPRoute",
            Self::ReferenceGrant => "ReferenceGrant",
            Self::ConfigMap => "ConfigMap",
            Self::ClusterTrustBundle => "ClusterTrustBundle",
            Self::BackendTlsPolicy => "BackendTLSPolicy",
        }
    }

    /// The kind of an object in JSON, if it is one of ours.
    pub fn of(object: &Value) -> Option<Self> {
        let (api_version, kind) = (object["apiVersion"].as_str()?, object["kind"].as_str()?);
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        Self::ALL.into_iter().find(|known| known.name() == kind && known.group() == group)
    }
}

/// Namespace and name; the namespace is empty for cluster-scoped objects.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectKey {
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
}

impl ObjectKey {
    /// Puts the two parts together.
    pub fn new(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self { namespace: namespace.into(), name: name.into() }
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.namespace.is_empty() { f.write_str(&self.name) } else { write!(f, "{}/{}", self.namespace, self.name) }
    }
}

/// What an object says, by kind.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "the names are the kinds")]
pub enum Body {
    CustomResourceDefinition(CrdView),
    Namespace(NamespaceView),
    Service(ServiceSpec),
    EndpointSlice(EndpointSliceView),
    Secret(SecretView),
    GatewayClass(GatewayClassSpec),
    Gateway(Box<GatewaySpec>),
    ListenerSet(ListenerSetSpec),
    HttpRoute(HttpRouteSpec),
    GrpcRoute(GrpcRouteSpec),
    TcpRoute(TcpRouteSpec),
    TlsRoute(TlsRouteSpec),
    UdpRoute(TcpRouteSpec),
    ReferenceGrant(GrantSpec),
    ConfigMap(ConfigMapView),
    ClusterTrustBundle(TrustBundleView),
    BackendTlsPolicy(BackendTlsPolicySpec),
}

/// An object: as it came, and as it reads.
#[derive(Clone, Debug, PartialEq)]
pub struct Object {
    /// The metadata.
    pub meta: Meta,
    /// The typed view.
    pub body: Body,
    /// The object as it came from the server.
    pub raw: Arc<Value>,
}

/// An object that does not read as its kind.
#[derive(Debug, thiserror::Error)]
#[error("reading {kind} {name}: {source}")]
pub struct ReadError {
    kind: &'static str,
    name: String,
    source: serde_json::Error,
}

impl Object {
    /// Reads an object of the given kind.
    pub fn read(kind: Kind, raw: Value) -> Result<Self, ReadError> {
        let parse = || -> Result<(Meta, Body), serde_json::Error> {
            let meta = Meta::deserialize(&raw["metadata"])?;
            let empty = Value::Object(serde_json::Map::new());
            let spec = raw.get("spec").unwrap_or(&empty);
            let body = match kind {
                Kind::CustomResourceDefinition => Body::CustomResourceDefinition(CrdView::deserialize(spec)?),
                Kind::Namespace => Body::Namespace(NamespaceView {}),
                Kind::Service => Body::Service(ServiceSpec::deserialize(spec)?),
                Kind::EndpointSlice => Body::EndpointSlice(EndpointSliceView::deserialize(&raw)?),
                Kind::Secret => Body::Secret(SecretView::read(&raw)?),
                Kind::GatewayClass => Body::GatewayClass(GatewayClassSpec::deserialize(spec)?),
                Kind::Gateway => Body::Gateway(Box::deserialize(spec)?),
                Kind::ListenerSet => Body::ListenerSet(ListenerSetSpec::deserialize(spec)?),
                Kind::HttpRoute => Body::HttpRoute(HttpRouteSpec::deserialize(spec)?),
                Kind::GrpcRoute => Body::GrpcRoute(GrpcRouteSpec::deserialize(spec)?),
                Kind::TcpRoute => Body::TcpRoute(TcpRouteSpec::deserialize(spec)?),
                Kind::TlsRoute => Body::TlsRoute(TlsRouteSpec::deserialize(spec)?),
                Kind::UdpRoute => Body::UdpRoute(TcpRouteSpec::deserialize(spec)?),
                Kind::ReferenceGrant => Body::ReferenceGrant(GrantSpec::deserialize(spec)?),
                Kind::ConfigMap => Body::ConfigMap(ConfigMapView::read(&raw)?),
                Kind::ClusterTrustBundle => Body::ClusterTrustBundle(TrustBundleView::read(spec)?),
                Kind::BackendTlsPolicy => Body::BackendTlsPolicy(BackendTlsPolicySpec::deserialize(spec)?),
            };
            Ok((meta, body))
        };
        match parse() {
            Ok((meta, body)) => Ok(Self { meta, body, raw: Arc::new(raw) }),
            Err(source) => {
                let name = raw["metadata"]["name"].as_str().unwrap_or_default().to_owned();
                Err(ReadError { kind: kind.name(), name, source })
            }
        }
    }

    /// Namespace and name.
    pub fn key(&self) -> ObjectKey {
        ObjectKey::new(&self.meta.namespace, &self.meta.name)
    }
}

/// What became of a request to listen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bind {
    /// Connections are taken.
    Bound,
    /// The system refused, with its words.
    Failed(String),
}

/// What the data plane reported last about each address and port (as declared, before any port mapping) of a transport.
pub type Binds = BTreeMap<(IpAddr, u16, Transport), Bind>;

/// The addresses given to Gateways.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Addresses {
    /// By the Gateway's UID: one entry for each address that it asked for, or the one that it got unasked.
    pub given: BTreeMap<String, Vec<Assigned>>,
    /// Last octet that was given out last, so that the next one is another.
    pub last: Option<u8>,
}

impl Addresses {
    /// The addresses that a Gateway has.
    pub fn of(&self, uid: &str) -> impl Iterator<Item = Ipv4Addr> {
        self.given.get(uid).into_iter().flatten().filter_map(Assigned::address)
    }

    /// Whether some Gateway has the address.
    pub fn holds(&self, address: Ipv4Addr) -> bool {
        self.given.values().flatten().any(|assigned| assigned.address() == Some(address))
    }
}

/// What became of one address that a Gateway needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Assigned {
    /// The Gateway has this address.
    Address(Ipv4Addr),
    /// The requested value cannot be given to it, and why.
    NotUsable(String),
    /// No address can be reached as it asks, and why.
    Unreachable(String),
    /// No address is left.
    Exhausted,
}

impl Assigned {
    /// The address, if there is one.
    pub fn address(&self) -> Option<Ipv4Addr> {
        match self {
            Self::Address(address) => Some(*address),
            _ => None,
        }
    }
}

/// What the implementation knows of the cluster and of its own data plane at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    objects: BTreeMap<Kind, BTreeMap<ObjectKey, Arc<Object>>>,
    /// Addresses given out so far.
    pub addresses: Addresses,
    /// What the data plane said about the ports.
    pub binds: Binds,
    /// Whether ClusterTrustBundles are a kind that the cluster does not serve, or that the implementation has no use for.
    pub(crate) lacks_trust_bundles: bool,
}

impl Snapshot {
    /// Adds an object or replaces it.
    pub fn insert(&mut self, kind: Kind, object: Arc<Object>) {
        self.objects.entry(kind).or_default().insert(object.key(), object);
    }

    /// Reads an object and adds it.
    pub fn put(&mut self, kind: Kind, raw: Value) -> Result<(), ReadError> {
        self.insert(kind, Arc::new(Object::read(kind, raw)?));
        Ok(())
    }

    /// Takes an object out.
    pub fn remove(&mut self, kind: Kind, key: &ObjectKey) -> Option<Arc<Object>> {
        self.objects.get_mut(&kind)?.remove(key)
    }

    /// Keeps only the objects of a kind that the predicate takes.
    pub fn retain(&mut self, kind: Kind, mut keep: impl FnMut(&Object) -> bool) {
        if let Some(objects) = self.objects.get_mut(&kind) {
            objects.retain(|_, object| keep(object));
        }
    }

    /// Changes objects of a kind in place. One that no longer reads as its kind afterwards stays as it was.
    pub fn edit(&mut self, kind: Kind, mut change: impl FnMut(&mut Value)) {
        for object in self.objects.get_mut(&kind).into_iter().flat_map(BTreeMap::values_mut) {
            let mut raw = (*object.raw).clone();
            change(&mut raw);
            if raw != *object.raw
                && let Ok(changed) = Object::read(kind, raw)
            {
                *object = Arc::new(changed);
            }
        }
    }

    /// All objects of a kind, by namespace and name.
    pub fn all(&self, kind: Kind) -> impl Iterator<Item = &Arc<Object>> {
        self.objects.get(&kind).into_iter().flat_map(BTreeMap::values)
    }

    /// One object.
    pub fn get(&self, kind: Kind, namespace: &str, name: &str) -> Option<&Arc<Object>> {
        self.objects.get(&kind)?.get(&ObjectKey::new(namespace, name))
    }
}

macro_rules! views {
    ($($method:ident, $one:ident, $kind:ident, $view:ty;)*) => {
        impl Snapshot {
            $(
                #[doc = concat!("Every ", stringify!($kind), ", with its metadata.")]
                pub fn $method(&self) -> impl Iterator<Item = (&Object, &$view)> {
                    self.all(Kind::$kind).filter_map(|object| {
                        let Body::$kind(view) = &object.body else { return None };
                        // Large ones are boxed.
                        let view: &$view = view;
                        Some((&**object, view))
                    })
                }

                #[doc = concat!("One ", stringify!($kind), ".")]
                pub fn $one(&self, namespace: &str, name: &str) -> Option<(&Object, &$view)> {
                    let object = self.get(Kind::$kind, namespace, name)?;
                    let Body::$kind(view) = &object.body else { return None };
                    Some((object, view))
                }
            )*
        }
    };
}

views! {
    crds, crd, CustomResourceDefinition, CrdView;
    namespaces, namespace, Namespace, NamespaceView;
    services, service, Service, ServiceSpec;
    endpoint_slices, endpoint_slice, EndpointSlice, EndpointSliceView;
    secrets, secret, Secret, SecretView;
    gateway_classes, gateway_class, GatewayClass, GatewayClassSpec;
    gateways, gateway, Gateway, GatewaySpec;
    listener_sets, listener_set, ListenerSet, ListenerSetSpec;
    http_routes, http_route, HttpRoute, HttpRouteSpec;
    grpc_routes, grpc_route, GrpcRoute, GrpcRouteSpec;
    tcp_routes, tcp_route, TcpRoute, TcpRouteSpec;
    tls_routes, tls_route, TlsRoute, TlsRouteSpec;
    udp_routes, udp_route, UdpRoute, TcpRouteSpec;
    reference_grants, reference_grant, ReferenceGrant, GrantSpec;
    config_maps, config_map, ConfigMap, ConfigMapView;
    trust_bundles, trust_bundle, ClusterTrustBundle, TrustBundleView;
    backend_tls_policies, backend_tls_policy, BackendTlsPolicy, BackendTlsPolicySpec;
}
