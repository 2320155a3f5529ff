//! Backends: hosted ones, which are echoes in this process, published as Services without selector and EndpointSlices of
//! ours; and deployed ones.

pub mod deployed;

use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use gateproof_echo::{Clients, Echo, EchoOptions, Identity, Journal, Protocol, ServerTls};
use serde_json::{Value, json};

use deployed::{Deployed, Deploying};

use super::api::ApiError;
use super::names;
use super::view::View;
use crate::log::{BackendBinding, Bindings, Body, Event, JournalEntry};
use crate::scenario::bind::secret;
use crate::scenario::{BackendDecl, BackendProtocol};

/// Why backends cannot be hosted.
#[derive(Debug, thiserror::Error)]
pub enum BackendError {
    /// This host has nothing that a cluster could reach.
    #[error("this host has no address that the target could reach; name one with --backend-address")]
    NoAddress,
    /// A Service has at most one address of each family, and so have backends.
    #[error("{0} and {1} are of the same family; give one IPv4 and one IPv6 address, or one of them")]
    OneFamily(IpAddr, IpAddr),
    /// An echo cannot be started.
    #[error("cannot start backend `{name}`: {error}")]
    Start {
        /// As in the manifest.
        name: String,
        /// Why not.
        error: gateproof_echo::EchoError,
    },
    /// It has no certificate.
    #[error("cannot make the certificate of backend `{name}`: {reason}")]
    Certificate {
        /// As in the manifest.
        name: String,
        /// Why not.
        reason: String,
    },
    /// A deployed one did not come up.
    #[error(
        "backend `{name}` has no ready endpoint after {budget:?}; see `kubectl describe pods -n {namespace}` of a run with --keep always: \
         --backend-image may not be there for the cluster, or its Pods not permitted"
    )]
    NotReady {
        /// As in the manifest.
        name: String,
        /// Where its Pod is.
        namespace: String,
        /// How long it was waited for.
        budget: Duration,
    },
    /// A name of the manifest was not bound.
    #[error("backend `{0}` is not bound to a name")]
    Unbound(String),
}

/// Where backends run.
#[derive(Clone)]
pub enum Backends {
    /// In this process.
    Hosted(Hosting),
    /// In the cluster.
    Deployed(Deploying),
}

/// The running backends of one scenario. Dropping it stops those in this process; the others go with their namespaces.
pub enum Running {
    /// In this process.
    Hosted {
        /// The backends.
        hosted: Hosted,
        /// What they note.
        hosting: Hosting,
    },
    /// In the cluster.
    Deployed(Deployed),
}

impl Backends {
    /// Starts every backend of a scenario, or says what to create so that it starts.
    pub async fn start(&self, decls: &[BackendDecl], bindings: &Bindings) -> Result<Running, BackendError> {
        match self {
            Backends::Hosted(hosting) => {
                let hosted = hosting.start(decls, bindings).await?;
                Ok(Running::Hosted { hosted, hosting: hosting.clone() })
            }
            Backends::Deployed(deploying) => deploying.describe(decls, bindings).map(Running::Deployed),
        }
    }

    /// What a user can do if the data plane does not reach them.
    pub fn advice(&self) -> &'static str {
        match self {
            Backends::Hosted(_) => {
                "if the data plane cannot reach this host, name an address that it can with --backend-address, or deploy the backends \
                 with --backends deployed; see the controller's log otherwise"
            }
            Backends::Deployed(_) => {
                "see the controller's log, and whether the data plane reaches Pods of other namespaces"
            }
        }
    }
}

impl Running {
    /// The objects that make or publish them.
    pub fn objects(&self) -> &[Value] {
        match self {
            Running::Hosted { hosted, .. } => &hosted.objects,
            Running::Deployed(deployed) => &deployed.objects,
        }
    }

    /// Waits until those are ready that shall be.
    pub async fn ready(&mut self, view: &View, budget: Duration) -> Result<(), BackendError> {
        match self {
            // What is published is there already.
            Running::Hosted { .. } => Ok(()),
            Running::Deployed(deployed) => deployed.ready(view, budget).await,
        }
    }

    /// Why what the target answers from now on says nothing of it, if an event tells that one of them is no longer there.
    pub fn lost(&self, event: &Event, view: &View) -> Option<String> {
        let (Running::Deployed(deployed), Body::Observed { key, object, .. }) = (self, &event.body) else {
            return None;
        };
        let lost = deployed.lost(key, object, view)?;
        Some(format!(
            "the Pod of backend `{lost}` is no longer a ready endpoint: it was evicted or restarted, or is too busy to be asked"
        ))
    }

    /// What they noted of these requests, each backend in order of arrival.
    pub async fn journal(&self, ids: &[String], bindings: &Bindings) -> Result<Vec<JournalEntry>, ApiError> {
        match self {
            Running::Hosted { hosting, .. } => Ok(hosting.journal(ids, bindings)),
            Running::Deployed(deployed) => deployed.journal(ids).await,
        }
    }

    /// Stops those in this process, and forgets what the scenario asked: it is judged.
    pub async fn stop(self) {
        if let Running::Hosted { hosted, hosting } = self {
            // Ids of requests begin with the token of who sent them.
            let sent = format!("{}-", hosted.token);
            hosted.stop().await;
            hosting.journal.forget(&sent);
        }
    }
}

/// Nobody but the run may read the journal over the network.
fn run_token() -> Arc<str> {
    Arc::from(format!("{:032x}", rand::random::<u128>()))
}

/// Starts backends in this process, and reads what they noted.
#[derive(Clone)]
pub struct Hosting {
    /// One, or one of each family.
    addresses: Vec<IpAddr>,
    journal: Journal,
    run_token: Arc<str>,
}

/// The hosted backends of one scenario. Dropping it stops them.
pub struct Hosted {
    echoes: Vec<Echo>,
    /// Services and EndpointSlices that publish them.
    pub objects: Vec<Value>,
    /// That of the execution.
    token: String,
}

impl Hosting {
    /// On the `given` addresses, or on the first global unicast address of this host. `loopback_serves` is for targets in this
    /// process, whose data plane reaches loopback: no other address is asked for.
    ///
    /// # Errors
    /// There is no address, or two are of one family.
    pub fn new(given: &[IpAddr], loopback_serves: bool) -> Result<Hosting, BackendError> {
        for (index, one) in given.iter().enumerate() {
            if let Some(same) = given[..index].iter().find(|other| other.is_ipv4() == one.is_ipv4()) {
                return Err(BackendError::OneFamily(*same, *one));
            }
        }
        let addresses = match given {
            [] if loopback_serves => vec![IpAddr::V4(Ipv4Addr::LOCALHOST)],
            [] => vec![own_address().ok_or(BackendError::NoAddress)?],
            given => given.to_vec(),
        };
        Ok(Hosting { addresses, journal: Journal::default(), run_token: run_token() })
    }

    /// The addresses that backends bind and publish: one, or one of each family.
    pub fn addresses(&self) -> &[IpAddr] {
        &self.addresses
    }

    /// Starts every backend of a scenario that shall be ready, and describes the objects that publish them.
    pub async fn start(&self, decls: &[BackendDecl], bindings: &Bindings) -> Result<Hosted, BackendError> {
        let mut hosted = Hosted { echoes: Vec::new(), objects: Vec::new(), token: bindings.token.clone() };
        for decl in decls {
            let bound = bindings.backends.get(&decl.name).ok_or_else(|| BackendError::Unbound(decl.name.clone()))?;
            // One that is not ready is there all the same if it is one of several: traffic for it has to be seen.
            let tls = certificate(decl, bindings)?;
            let endpoints = match decl.ready || decl.service.is_some() {
                true => self.echoes(decl, (bound, tls), &mut hosted.echoes).await?,
                false => Vec::new(),
            };
            let labels = names::labels(&bindings.run_id, Some(&bindings.token));
            if decl.service.is_none() {
                let place = (bound.namespace.as_str(), bound.service.as_str());
                let mut object = service(place, decl, endpoints.first().copied(), &labels);
                let further = decls.iter().filter(|other| other.service.as_ref() == Some(&decl.name)).filter_map(port);
                if let Some(ports) = object["spec"]["ports"].as_array_mut() {
                    ports.extend(further);
                }
                if decl.headless {
                    object["spec"]["clusterIP"] = json!("None");
                }
                hosted.objects.push(object);
            }
            let first = BackendDecl::slice(&decl.name);
            let names = [BackendDecl::second_slice(&first).unwrap_or_default(), first];
            for (index, (address, name)) in self.addresses.iter().zip(names.into_iter().rev()).enumerate() {
                let slice = Slice {
                    namespace: &bound.namespace,
                    service: &bound.service,
                    name,
                    port: decl.port_name.as_deref().unwrap_or_default(),
                    carrier: decl.protocol.carrier(),
                };
                let endpoint = endpoints.get(index).map(|endpoint| (*endpoint, decl.ready));
                hosted.objects.push(slice.object(*address, endpoint, &labels));
            }
        }
        Ok(hosted)
    }

    /// One backend at every address, on the same port where it is free: a Service has one target port.
    async fn echoes(
        &self,
        decl: &BackendDecl,
        (bound, tls): (&BackendBinding, Option<ServerTls>),
        started: &mut Vec<Echo>,
    ) -> Result<Vec<SocketAddr>, BackendError> {
        let mut endpoints: Vec<SocketAddr> = Vec::new();
        for address in &self.addresses {
            let options = |port: u16| EchoOptions {
                bind: SocketAddr::new(*address, port),
                protocol: match decl.protocol {
                    BackendProtocol::Http | BackendProtocol::H2c => Protocol::Http,
                    BackendProtocol::Tcp if decl.greets => Protocol::Greeting,
                    BackendProtocol::Tcp => Protocol::Tcp,
                    BackendProtocol::Tls => Protocol::Tls,
                    BackendProtocol::Udp => Protocol::Udp,
                },
                identity: Identity {
                    namespace: bound.namespace.clone(),
                    ingress: String::new(),
                    service: bound.service.clone(),
                    pod: bound.identity.clone(),
                },
                run_token: Some(self.run_token.to_string()),
                journal: self.journal.clone(),
            };
            let same = endpoints.first().map_or(0, SocketAddr::port);
            let start = async |port: u16| match &tls {
                _ if !decl.alpn.is_empty() => Echo::start_agreeing(options(port), tls.clone(), &decl.alpn).await,
                Some(tls) => Echo::start_tls(options(port), tls.clone()).await,
                None => Echo::start(options(port)).await,
            };
            let echo = match start(same).await {
                Err(_) if same != 0 => start(0).await,
                outcome => outcome,
            };
            let echo = echo.map_err(|error| BackendError::Start { name: decl.name.clone(), error })?;
            endpoints.push(echo.addr());
            started.push(echo);
        }
        Ok(endpoints)
    }

    /// What the backends of a scenario noted of these requests, in order of arrival.
    pub fn journal(&self, ids: &[String], bindings: &Bindings) -> Vec<JournalEntry> {
        let mut entries = Vec::new();
        for id in ids {
            for record in self.journal.of_request(id) {
                let backend = bindings.backends.iter().find(|(_, bound)| bound.identity == record.backend.pod);
                entries.push(JournalEntry {
                    backend: backend.map_or_else(|| record.backend.pod.clone(), |(name, _)| name.clone()),
                    id: id.clone(),
                    method: record.method.clone(),
                    path: record.path.clone(),
                    proto: record.proto.to_owned(),
                    host: record.host.clone(),
                    headers: record.headers.clone(),
                    body_sha256: record.body_digest.clone(),
                    micros: record.micros,
                });
            }
        }
        entries
    }
}

impl Hosted {
    /// Stops every backend.
    pub async fn stop(self) {
        futures::future::join_all(self.echoes.into_iter().map(Echo::shutdown)).await;
    }
}

/// What a backend shows to those who come over TLS.
fn certificate(decl: &BackendDecl, bindings: &Bindings) -> Result<Option<ServerTls>, BackendError> {
    let failed = |reason: String| BackendError::Certificate { name: decl.name.clone(), reason };
    let Some(tls) = &decl.tls else { return Ok(None) };
    let missing = || failed(format!("there is no authority `{}`", tls.authority));
    let authority = bindings.authorities.get(&tls.authority).ok_or_else(missing)?;
    let (chain, key) = secret::certificate(tls, authority).map_err(|error| failed(error.to_string()))?;
    let clients = tls.clients.as_ref().map(|alias| match bindings.authorities.get(alias) {
        Some(authority) => Ok(Clients::Of(authority.certificate.as_str())),
        None => Err(failed(format!("there is no authority `{alias}`"))),
    });
    let clients = clients.transpose()?.unwrap_or(Clients::All);
    ServerTls::asking(&chain, &key, clients).map(Some).map_err(|error| failed(error.to_string()))
}

type Labels = serde_json::Map<String, Value>;

fn service(
    (namespace, name): (&str, &str),
    decl: &BackendDecl,
    endpoint: Option<SocketAddr>,
    labels: &Labels,
) -> Value {
    let port = decl.port;
    let mut service = json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "spec": {"ports": [{"port": port, "targetPort": endpoint.map_or(port, |e| e.port()), "protocol": decl.protocol.carrier()}]},
    });
    if let Some(name) = &decl.port_name {
        service["spec"]["ports"][0]["name"] = json!(name);
    }
    if decl.protocol == BackendProtocol::H2c {
        service["spec"]["ports"][0]["appProtocol"] = json!("kubernetes.io/h2c");
    }
    service
}

/// The port of a Service that only this further backend of it has: one with a name. Its slice says where it leads.
fn port(decl: &BackendDecl) -> Option<Value> {
    Some(json!({"name": decl.port_name.as_ref()?, "port": decl.port, "protocol": "TCP"}))
}

/// Where the endpoint of a backend is published.
struct Slice<'a> {
    namespace: &'a str,
    /// The Service that it belongs to.
    service: &'a str,
    /// Its own name.
    name: String,
    /// What carries what it speaks, as `protocol` of its port.
    carrier: &'static str,
    /// The name of the port.
    port: &'a str,
}

impl Slice<'_> {
    /// With an endpoint and whether it is ready, or with none.
    fn object(&self, family: IpAddr, endpoint: Option<(SocketAddr, bool)>, labels: &Labels) -> Value {
        let mut labels = labels.clone();
        labels.insert("kubernetes.io/service-name".to_owned(), json!(self.service));
        labels.insert("endpointslice.kubernetes.io/managed-by".to_owned(), json!(names::MANAGED_BY));
        let mut slice = json!({
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": {"name": self.name, "namespace": self.namespace, "labels": labels},
            "addressType": if family.is_ipv4() { "IPv4" } else { "IPv6" },
            "endpoints": [],
        });
        if let Some((endpoint, ready)) = endpoint {
            slice["endpoints"] = json!([{"addresses": [endpoint.ip().to_string()], "conditions": {"ready": ready}}]);
            slice["ports"] = json!([{"name": self.port, "port": endpoint.port(), "protocol": self.carrier}]);
        }
        slice
    }
}

/// The address that this host would send from to the world: the first global unicast one. No packet is sent.
pub(crate) fn own_address() -> Option<IpAddr> {
    let own = |bind: &str, towards: &str| {
        let socket = UdpSocket::bind(bind).ok()?;
        // Documentation prefixes (RFC 5737, RFC 3849) are routed like any other address of the world.
        socket.connect(towards).ok()?;
        let address = socket.local_addr().ok()?.ip();
        (!address.is_loopback() && !address.is_unspecified()).then_some(address)
    };
    own("0.0.0.0:0", "192.0.2.1:9").or_else(|| own("[::]:0", "[2001:db8::1]:9"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn slice(name: &str) -> Slice<'_> {
        Slice { namespace: "ns", service: "echo", name: BackendDecl::slice(name), port: "", carrier: "TCP" }
    }

    #[test]
    fn a_backend_that_is_not_ready_has_no_endpoints() {
        let address = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let slice = slice("echo").object(address, None, &Labels::new());
        assert_eq!(slice.pointer("/endpoints"), Some(&json!([])));
        assert_eq!(slice.get("ports"), None);
    }

    #[test]
    fn backends_have_one_address_of_each_family() {
        let hosting = |given: &[&str]| {
            let given: Vec<IpAddr> = given.iter().map(|text| text.parse().unwrap()).collect();
            Hosting::new(&given, true).map(|hosting| hosting.addresses().to_vec())
        };
        assert_eq!(hosting(&[]).unwrap(), [IpAddr::V4(Ipv4Addr::LOCALHOST)]);
        assert_eq!(hosting(&["::1", "127.0.0.1"]).unwrap().len(), 2);
        let error = hosting(&["10.0.0.1", "::1", "10.0.0.2"]).unwrap_err().to_string();
        assert!(error.starts_with("10.0.0.1 and 10.0.0.2 are of the same family"), "{error}");
    }

    #[test]
    fn a_slice_names_its_service_and_address() {
        let endpoint: SocketAddr = "[2001:db8::1]:81".parse().unwrap();
        let slice = slice("more").object(endpoint.ip(), Some((endpoint, false)), &Labels::new());
        assert_eq!(slice.pointer("/metadata/labels/kubernetes.io~1service-name"), Some(&json!("echo")));
        assert_eq!(slice.pointer("/addressType"), Some(&json!("IPv6")));
        assert_eq!(slice.pointer("/endpoints/0/addresses/0"), Some(&json!("2001:db8::1")));
        assert_eq!(slice.pointer("/metadata/name"), Some(&json!("more-hosted")));
        assert_eq!(slice.pointer("/endpoints/0/conditions/ready"), Some(&json!(false)));
        assert_eq!(slice.pointer("/ports/0/port"), Some(&json!(81)));
    }
}
