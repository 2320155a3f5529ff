use std::net::{IpAddr, SocketAddr};

use gateproof_proxy::config::{BackendTarget, BackendTls};

use super::{
    encryption,
    grants::{From, To, permitted},
    verdict::Problem,
};
use crate::{
    model::{BackendRef, GATEWAY_GROUP, ServicePort, ServiceSpec},
    snapshot::{Kind, Object, Snapshot},
};

/// A Service port to send traffic to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Destination {
    /// Whether HTTP/2 with prior knowledge is spoken there.
    pub(crate) h2c: bool,
    /// Ready endpoints.
    pub(crate) endpoints: Vec<SocketAddr>,
    /// How it is encrypted, or why it has to be and cannot.
    pub(crate) tls: Option<Result<BackendTls, String>>,
}

impl Destination {
    /// Where the data plane sends requests. Those that cannot be protected as they have to be are answered with `broken`.
    pub(crate) fn target(self, broken: u16) -> BackendTarget {
        match self.tls {
            Some(Err(reason)) => BackendTarget::Fail { status: broken, reason },
            Some(Ok(tls)) => BackendTarget::Tls { endpoints: self.endpoints, h2: self.h2c, tls },
            None if self.h2c => BackendTarget::H2cEndpoints(self.endpoints),
            None => BackendTarget::Endpoints(self.endpoints),
        }
    }
}

/// How a reference reads in messages and logs.
pub(crate) fn describe(route: &Object, reference: &BackendRef) -> String {
    let namespace = namespace(route, reference);
    match reference.port {
        Some(port) => format!("{namespace}/{}:{port}", reference.name),
        None => format!("{namespace}/{}", reference.name),
    }
}

fn namespace<'a>(route: &'a Object, reference: &'a BackendRef) -> &'a str {
    reference.namespace.as_deref().filter(|namespace| !namespace.is_empty()).unwrap_or(&route.meta.namespace)
}

/// Follows a backendRef of a route of this kind. Permission comes before existence, which is not for the route's owner
/// to know.
pub(crate) fn resolve(
    snapshot: &Snapshot,
    kind: Kind,
    route: &Object,
    reference: &BackendRef,
) -> Result<Destination, Problem> {
    let what = format!("backendRef {} {}", reference.kind, describe(route, reference));
    let to_namespace = namespace(route, reference);
    if (&*reference.group, &*reference.kind) != ("", "Service") {
        let group = if reference.group.is_empty() { "core" } else { &reference.group };
        return Err(Problem::new("InvalidKind", format!("{what} of group {group}: only core Services work")));
    }
    let from = From { group: GATEWAY_GROUP, kind: kind.name(), namespace: &route.meta.namespace };
    let to = To { group: "", kind: "Service", namespace: to_namespace, name: &reference.name };
    if !permitted(snapshot, from, to) {
        let message = format!("{what}: no ReferenceGrant in {to_namespace} permits it");
        return Err(Problem::new("RefNotPermitted", message));
    }
    let Some((_, service)) = snapshot.service(to_namespace, &reference.name) else {
        return Err(Problem::new("BackendNotFound", format!("{what}: no such Service")));
    };
    if service.r#type == "ExternalName" {
        return Err(Problem::new("InvalidKind", format!("{what}: Services of type ExternalName are not supported")));
    }
    // A Service may have one number for TCP and for UDP, in any order.
    let carrier = carrier(kind);
    let mut of_number: Vec<&ServicePort> =
        service.ports.iter().filter(|port| Some(port.port) == reference.port).collect();
    of_number.sort_by_key(|port| protocol(port) != carrier);
    let Some(&port) = of_number.first() else {
        return Err(Problem::new("BackendNotFound", format!("{what}: the Service has no such port")));
    };
    let tls = encryption::of_port(snapshot, to_namespace, &reference.name, port);
    let h2c = spoken(kind, port, tls.is_some())
        .map_err(|why| Problem::new("UnsupportedProtocol", format!("{what}: {why}")))?;
    let endpoints = endpoints(snapshot, to_namespace, &reference.name, service, port);
    Ok(Destination { h2c, endpoints, tls })
}

fn protocol(port: &ServicePort) -> &str {
    port.protocol.as_deref().unwrap_or("TCP")
}

/// The protocol of Service ports that carries what a route of this kind forwards.
fn carrier(kind: Kind) -> &'static str {
    if kind == Kind::UdpRoute { "UDP" } else { "TCP" }
}

/// Whether the port speaks HTTP/2 in clear text. Routes of TCP, TLS and UDP carry whatever is spoken, and calls of a GRPCRoute need
/// HTTP/2 where the port does not say.
fn spoken(kind: Kind, port: &ServicePort, encrypted: bool) -> Result<bool, String> {
    if protocol(port) != carrier(kind) {
        return Err(format!("protocol {} cannot be spoken to", protocol(port)));
    }
    match port.app_protocol.as_deref() {
        _ if matches!(kind, Kind::TcpRoute | Kind::TlsRoute | Kind::UdpRoute) => Ok(false),
        None if kind == Kind::GrpcRoute => Ok(true),
        Some(other @ ("http" | "kubernetes.io/ws")) if kind == Kind::GrpcRoute => {
            Err(format!("appProtocol {other} carries no gRPC"))
        }
        None | Some("http" | "kubernetes.io/ws") => Ok(false),
        Some("kubernetes.io/h2c") => Ok(true),
        // Without a policy nobody says whom to believe.
        Some("https" | "HTTPS" | "kubernetes.io/wss") if encrypted => Ok(kind == Kind::GrpcRoute),
        Some(other) => Err(format!("appProtocol {other} is not supported")),
    }
}

/// Ready endpoints of a Service port: those that the slices list under the port's name, on the port that they say.
fn endpoints(
    snapshot: &Snapshot,
    namespace: &str,
    name: &str,
    service: &ServiceSpec,
    port: &ServicePort,
) -> Vec<SocketAddr> {
    let named = |name: &Option<String>| name.clone().unwrap_or_default();
    let has_family = |family: &String| service.ip_families.is_empty() || service.ip_families.contains(family);
    let mut found: Vec<SocketAddr> = snapshot
        .endpoint_slices()
        .filter(|(slice, _)| slice.meta.namespace == namespace)
        .filter(|(slice, _)| slice.meta.labels.get("kubernetes.io/service-name").is_some_and(|of| of == name))
        .filter(|(_, slice)| has_family(&slice.address_type))
        .flat_map(|(_, slice)| {
            let ports = slice.ports.iter().filter(|on| named(&on.name) == named(&port.name)).filter_map(|on| on.port);
            ports.flat_map(|port| {
                let ready = slice.endpoints.iter().filter(|endpoint| endpoint.is_ready());
                let addresses = ready.filter_map(|endpoint| endpoint.addresses.first()?.parse::<IpAddr>().ok());
                addresses.map(move |address| SocketAddr::new(address, port))
            })
        })
        .collect();
    found.sort_unstable();
    found.dedup();
    found
}
