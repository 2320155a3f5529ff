//! The way to the data path through the API server: from an address to the Service that has it, to a ready Pod behind that,
//! to a port of the Pod.

mod route;
mod stream;

use std::fmt;
use std::fmt::Debug;
use std::hash::Hash;
use std::str::FromStr;
use std::sync::Arc;

use async_trait::async_trait;
use futures::StreamExt;
use k8s_openapi::api::core::v1::{Pod, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::api::{ApiResource, DynamicObject};
use kube::runtime::reflector::{self, Lookup, Store};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client};
use serde::de::DeserializeOwned;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

use super::api::chain;
use super::dial::{Connection, DialError, Dialer};
use super::kinds::Kinds;
use super::way::in_time;
use crate::dialects::Entries;
use route::{NoRoute, World};
use stream::Forwarded;

/// A Service that the user names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceName {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// Not the name of a Service.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a Service, as NAMESPACE/NAME")]
pub struct ServiceNameError(String);

impl FromStr for ServiceName {
    type Err = ServiceNameError;

    fn from_str(text: &str) -> Result<ServiceName, ServiceNameError> {
        let is_name = |part: &str| {
            let legal = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            !part.is_empty() && part.chars().all(legal)
        };
        match text.split_once('/') {
            Some((namespace, name)) if is_name(namespace) && is_name(name) => {
                Ok(ServiceName { namespace: namespace.to_owned(), name: name.to_owned() })
            }
            _ => Err(ServiceNameError(text.to_owned())),
        }
    }
}

/// As it is read back.
impl fmt::Display for ServiceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// Which Services Gateways are behind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Behind {
    /// The one that has the Gateway's address, or is labelled as the Gateway's (GEP-1762).
    #[default]
    Address,
    /// This one, whatever the address.
    Service(ServiceName),
}

/// Connects by port-forward. Watches Services and EndpointSlices of all namespaces, so that no connection costs a request
/// beside its own.
pub struct PortForward {
    client: Client,
    behind: Behind,
    services: Followed<Service>,
    slices: Followed<EndpointSlice>,
    gateways: Followed<DynamicObject>,
    entries: Arc<Entries>,
}

impl PortForward {
    /// Begins to watch; none if the target serves nothing where traffic comes in. Must run within a Tokio runtime.
    pub fn start(client: Client, behind: Behind, kinds: &Kinds) -> Option<PortForward> {
        let (kind, entries) = (kinds.entry()?, Arc::new(kinds.dialect().entries()?.clone()));
        let gateway = ApiResource {
            group: kind.group.clone(),
            version: kind.versions.first()?.clone(),
            api_version: kind.api_version(),
            kind: kind.kind.clone(),
            plural: kind.plural.clone(),
        };
        let gateways = Api::all_with(client.clone(), &gateway);
        Some(PortForward {
            behind,
            services: Followed::start(Api::all(client.clone()), (), "Services"),
            slices: Followed::start(Api::all(client.clone()), (), "EndpointSlices"),
            gateways: Followed::start(gateways, gateway, "Gateways"),
            entries,
            client,
        })
    }
}

#[async_trait]
impl Dialer for PortForward {
    async fn dial(&self, host: &str, port: u16, end: Instant) -> Result<Connection, DialError> {
        let late = || format!("no port-forward to {host}:{port} in time");
        in_time(end, self.forward(host, port), late).await?
    }

    fn advice(&self) -> &'static str {
        "see that a Service has the Gateway's address and ready Pods (kubectl get services,endpointslices -A), or name it with \
         --port-forward=NAMESPACE/NAME; `gateproof rbac --port-forward` prints the role that is needed"
    }
}

impl PortForward {
    async fn forward(&self, host: &str, port: u16) -> Result<Connection, DialError> {
        let world = World {
            services: self.services.all().await?,
            slices: self.slices.all().await?,
            gateways: self.gateways.all().await?,
            entries: Arc::clone(&self.entries),
        };
        let backing = world.route(&self.behind, host, port).map_err(|error| match error {
            NoRoute::NoPort { .. } => DialError::Refused(std::io::Error::other(error.to_string())),
            _ => DialError::Unreachable(format!("no port-forward to {host}:{port}: {error}")),
        })?;
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), &backing.namespace);
        let forwarder = pods.portforward(&backing.pod, &[backing.port]).await.map_err(|error| {
            let place = format!("port {} of Pod {}/{}", backing.port, backing.namespace, backing.pod);
            DialError::Hindered(format!("the API server forwards nothing to {place}: {}", chain(&error)))
        })?;
        let stream = Forwarded::new(forwarder, backing.port);
        let stream = stream.ok_or_else(|| DialError::Unreachable("the port-forward has no such port".to_owned()))?;
        Ok(Connection { stream: Box::new(stream), peer: backing.address })
    }
}

/// All objects of a kind, kept up to date.
struct Followed<K>
where
    K: Lookup + Clone + 'static,
    K::DynamicType: Eq + Hash + Clone,
{
    store: Store<K>,
    /// What the watch says, while it cannot be followed.
    trouble: watch::Receiver<Option<String>>,
    _task: AbortOnDropHandle<()>,
}

impl<K> Followed<K>
where
    K: kube::Resource + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
    K::DynamicType: Eq + Hash + Clone + Send + Sync,
{
    fn start(api: Api<K>, kind: K::DynamicType, plural: &'static str) -> Followed<K> {
        let writer = reflector::store::Writer::new(kind);
        let store = writer.as_reader();
        let events = reflector::reflector(writer, watcher(api, watcher::Config::default())).default_backoff();
        let (sender, trouble) = watch::channel(None);
        let task = tokio::spawn(async move {
            let mut events = std::pin::pin!(events);
            while let Some(event) = events.next().await {
                sender.send_replace(event.err().map(|error| format!("cannot watch {plural}: {}", chain(&error))));
            }
        });
        Followed { store, trouble, _task: AbortOnDropHandle::new(task) }
    }

    /// As far as is known. What was known before a watch was lost still counts.
    async fn all(&self) -> Result<Vec<Arc<K>>, DialError> {
        let mut trouble = self.trouble.clone();
        tokio::select! {
            biased;
            ready = self.store.wait_until_ready() => ready.map_err(|error| DialError::Hindered(error.to_string()))?,
            told = trouble.wait_for(Option::is_some) => {
                let told = told.ok().and_then(|told| told.clone()).unwrap_or_default();
                return Err(DialError::Hindered(told));
            }
        }
        Ok(self.store.state())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::convert::Infallible;
    use std::time::Duration;

    use super::*;
    use crate::cluster::clock;
    use crate::dialects::Dialect;

    /// Nothing is known of the target then, least of all that it is silent.
    #[tokio::test]
    async fn an_api_server_that_forwards_nothing_in_time_is_held_against_nobody() {
        let silent = tower::service_fn(|_: http::Request<kube::client::Body>| {
            std::future::pending::<Result<http::Response<kube::client::Body>, Infallible>>()
        });
        let mut kinds = Kinds::new(Dialect::gateway_api());
        kinds.add("gateway.networking.k8s.io", "v1", "Gateway", "gateways", true);
        let dialer = PortForward::start(Client::new(silent, "default"), Behind::Address, &kinds).unwrap();
        match dialer.dial("10.0.0.1", 80, clock::now() + Duration::from_millis(20)).await.err().unwrap() {
            DialError::Hindered(why) => assert_eq!(why, "no port-forward to 10.0.0.1:80 in time"),
            other => panic!("{other}"),
        }
    }
}
