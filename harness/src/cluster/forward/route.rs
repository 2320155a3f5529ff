//! From an address and a port to a port of a Pod. Pure.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use k8s_openapi::api::core::v1::{Service, ServicePort};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::ResourceExt;
use kube::api::DynamicObject;

use super::{Behind, ServiceName};
use crate::dialects::Entries;

/// The label by which an EndpointSlice names its Service.
const SERVICE_LABEL: &str = "kubernetes.io/service-name";

/// What is known of the cluster.
pub(super) struct World {
    pub(super) services: Vec<Arc<Service>>,
    pub(super) slices: Vec<Arc<EndpointSlice>>,
    pub(super) gateways: Vec<Arc<DynamicObject>>,
    /// How generated resources name their Gateway, and where it says its addresses.
    pub(super) entries: Arc<Entries>,
}

/// A port of a ready Pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Backing {
    pub(super) namespace: String,
    pub(super) pod: String,
    pub(super) port: u16,
    /// The Pod's own address, with the port.
    pub(super) address: Option<SocketAddr>,
}

/// Why an address leads nowhere.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum NoRoute {
    #[error(
        "no Service has the address {0}, and no Gateway with it has a labelled one; name the Service with --port-forward=NAMESPACE/NAME"
    )]
    NoService(String),
    #[error("there is no Service {0}")]
    Missing(ServiceName),
    #[error("more than one Service has the address: {}; name one with --port-forward=NAMESPACE/NAME", .0.join(", "))]
    Ambiguous(Vec<String>),
    /// Nobody is meant to listen there.
    #[error("Service {service} has no TCP port {port}")]
    NoPort { service: String, port: u16 },
    #[error("no Pod behind Service {0} is ready")]
    NoPod(String),
}

impl World {
    /// The Pod and port that an address and port lead to; one of the ready Pods at random, as a load balancer would.
    pub(super) fn route(&self, behind: &Behind, host: &str, port: u16) -> Result<Backing, NoRoute> {
        let (service, port) = self.service(behind, host, port)?;
        let mut backings = self.backings(service, port);
        if backings.is_empty() {
            return Err(NoRoute::NoPod(name(service)));
        }
        Ok(backings.swap_remove(rand::random_range(0..backings.len())))
    }

    fn service(&self, behind: &Behind, host: &str, port: u16) -> Result<(&Service, &ServicePort), NoRoute> {
        let mut found: Vec<&Service> = match behind {
            Behind::Service(wanted) => {
                let is_it = |service: &&Service| name(service) == wanted.to_string();
                let named: Vec<&Service> = self.all().filter(is_it).collect();
                if named.is_empty() {
                    return Err(NoRoute::Missing(wanted.clone()));
                }
                named
            }
            Behind::Address => self.all().filter(|service| has_address(service, host)).collect(),
        };
        if found.is_empty() {
            found = self.labelled(host);
        }
        let Some(first) = found.first() else { return Err(NoRoute::NoService(host.to_owned())) };
        let no_port = NoRoute::NoPort { service: name(first), port };
        // Load balancers put Services of different ports at one address.
        let mut serving: Vec<_> =
            found.iter().filter_map(|service| tcp_port(service, port).map(|port| (*service, port))).collect();
        let is_labelled =
            |service: &Service| self.entries.label.as_ref().is_some_and(|label| service.labels().contains_key(label));
        if serving.len() > 1 && serving.iter().any(|(service, _)| is_labelled(service)) {
            serving.retain(|(service, _)| is_labelled(service));
        }
        match serving.as_slice() {
            [] => Err(no_port),
            [only] => Ok(*only),
            several => Err(NoRoute::Ambiguous(several.iter().map(|(service, _)| name(service)).collect())),
        }
    }

    fn all(&self) -> impl Iterator<Item = &Service> {
        self.services.iter().map(|service| &**service)
    }

    /// The Services that are labelled as those of Gateways with the address.
    fn labelled(&self, host: &str) -> Vec<&Service> {
        let with_address = |gateway: &&Arc<DynamicObject>| {
            self.entries.addresses.of(&gateway.data).any(|address| is_host(Some(address), host))
        };
        let gateways: Vec<_> = self.gateways.iter().filter(with_address).collect();
        let is_labelled = |service: &&Service| {
            let named = self.entries.label.as_ref().and_then(|label| service.labels().get(label));
            gateways
                .iter()
                .any(|gateway| gateway.namespace() == service.namespace() && named == Some(&gateway.name_any()))
        };
        self.all().filter(is_labelled).collect()
    }

    /// The ready Pods behind a port of a Service.
    fn backings(&self, service: &Service, port: &ServicePort) -> Vec<Backing> {
        let own = |slice: &&Arc<EndpointSlice>| {
            slice.namespace() == service.namespace() && slice.labels().get(SERVICE_LABEL) == Some(&service.name_any())
        };
        let mut found = Vec::new();
        for slice in self.slices.iter().filter(own) {
            let wanted = port.name.as_deref().unwrap_or_default();
            let mut ports = slice.ports.iter().flatten();
            let target = ports.find(|port| port.name.as_deref().unwrap_or_default() == wanted);
            let Some(target) = target.and_then(|port| u16::try_from(port.port?).ok()) else { continue };
            for endpoint in slice.endpoints.iter().flatten() {
                let ready = endpoint.conditions.as_ref().and_then(|conditions| conditions.ready) != Some(false);
                let pod = endpoint.target_ref.as_ref().filter(|of| ready && of.kind.as_deref() == Some("Pod"));
                let Some(pod) = pod.and_then(|of| of.name.clone()) else { continue };
                let address = endpoint.addresses.first().and_then(|address| address.parse::<IpAddr>().ok());
                found.push(Backing {
                    namespace: service.namespace().unwrap_or_default(),
                    pod,
                    port: target,
                    address: address.map(|address| SocketAddr::new(address, target)),
                });
            }
        }
        // A Pod of two families is listed in two slices.
        found.sort_by(|a, b| a.pod.cmp(&b.pod));
        found.dedup_by(|a, b| a.pod == b.pod);
        found
    }
}

fn name(service: &Service) -> String {
    format!("{}/{}", service.namespace().unwrap_or_default(), service.name_any())
}

/// Whether a Service is reached at an address: by its load balancer, within the cluster, or from outside of it.
fn has_address(service: &Service, host: &str) -> bool {
    let spec = service.spec.as_ref();
    let balancer = service.status.as_ref().and_then(|status| status.load_balancer.as_ref());
    let ingress = balancer.and_then(|balancer| balancer.ingress.as_ref()).into_iter().flatten();
    let mut balanced = ingress.flat_map(|one| [one.ip.as_deref(), one.hostname.as_deref()]);
    let lists = [spec.and_then(|spec| spec.cluster_ips.as_ref()), spec.and_then(|spec| spec.external_ips.as_ref())];
    let mut listed = lists.into_iter().flatten().flatten();
    let inner = format!("{}.{}.svc", service.name_any(), service.namespace().unwrap_or_default());
    let behind = |rest: &str| rest.is_empty() || rest.starts_with('.');
    balanced.any(|address| is_host(address, host))
        || listed.any(|address| is_host(Some(address), host))
        || host.strip_prefix(inner.as_str()).is_some_and(behind)
}

/// Whether an address is that host. IPv6 addresses are written in more than one way, and names in either case.
fn is_host(address: Option<&str>, host: &str) -> bool {
    let Some(address) = address else { return false };
    match (address.parse::<IpAddr>(), host.parse::<IpAddr>()) {
        (Ok(address), Ok(host)) => address == host,
        _ => address.trim_end_matches('.').eq_ignore_ascii_case(host.trim_end_matches('.')),
    }
}

fn tcp_port(service: &Service, port: u16) -> Option<&ServicePort> {
    let mut ports = service.spec.as_ref()?.ports.iter().flatten();
    ports.find(|one| one.port == i32::from(port) && one.protocol.as_deref().unwrap_or("TCP") == "TCP")
}

#[cfg(test)]
#[path = "route_tests.rs"]
mod tests;
