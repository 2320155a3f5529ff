//! The embedded target: API server, reference implementation and data plane put together.
//!
//! It knows nothing of who tests it. A [`Testbed`] is a cluster with two GatewayClasses, one of which has room for a single
//! Gateway, and, unless asked otherwise, an implementation that answers for them; named faults make that implementation misbehave, and named
//! variants make it differ as the specification allows.

pub mod aso;
mod behaviour;
mod catalogue;
pub mod contour;
pub mod kuadrant;
mod operator;
mod ports;
mod tampering;
mod vacant;

use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::sync::Arc;

use gateproof_apiserver::crds::{Channel, gateway_api, is_policy, safe_upgrades};
use gateproof_apiserver::{OPTIONAL, Options, Server, StartError};
pub use gateproof_arm::LogTamper;
pub use gateproof_controllers::faults::tamper::Tamper;
use gateproof_controllers::runtime::Controllers;
use gateproof_controllers::settings::{CONTROLLER_NAME, Dispensable, Settings};
use gateproof_proxy::{Chain, Proxy, ProxyOptions};
use gateproof_workloads::{Place, Workloads};
use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject, PostParams};
use serde_json::{Value, json};

pub use behaviour::{Behaviour, Part};
pub use catalogue::{KnownFault, KnownVariant, faults, variants};
pub use gateproof_apiserver::RequestCount;
pub use gateproof_runtime::behaviour::UnknownBehaviour;
pub use operator::OperatorError;
pub use ports::PortMapping;
pub use tampering::Tampering;
pub use vacant::VacantTestbed;

/// Name of the GatewayClass that the embedded implementation answers for.
pub const GATEWAY_CLASS: &str = "gateproof";

/// Name of another GatewayClass of the embedded implementation, which has room for one Gateway only.
pub const SINGLE_GATEWAY_CLASS: &str = "gateproof-single";

/// A scripted service of a target: what stands beside it is told what to do, and asked what it was asked.
#[derive(Clone)]
pub struct Service {
    /// Its name.
    pub name: &'static str,
    /// Where its control API is.
    pub url: String,
    /// The token for that.
    pub token: String,
    /// The authority that signed its certificate, in PEM, if it has one.
    pub authority: Option<String>,
}

/// How a testbed starts.
#[derive(Debug, Clone, Default)]
pub struct TestbedOptions {
    /// How the implementation behaves.
    pub behaviour: Behaviour,
    /// CustomResourceDefinitions to serve; our own when there are none.
    pub crds: Vec<Value>,
    /// Names of those that are left out, and what of Kubernetes is not served, as [`OPTIONAL`] has it.
    pub without: Vec<String>,
    /// Features that the implementation does without.
    pub lacking: Vec<String>,
    /// The channel of our own.
    pub channel: Channel,
    /// How declared ports become bound ones.
    pub ports: PortMapping,
    /// Leaves the implementation out, for somebody else's. There is no GatewayClass either then.
    pub no_controller: bool,
    /// Address and port of the API server; a free port on loopback unless given.
    pub bind: Option<std::net::SocketAddr>,
    /// Runs Deployments of known echo images within this process.
    pub workloads: bool,
    /// Puts into every namespace what controllers of a real cluster put there: a ServiceAccount and a ConfigMap.
    pub namespace_companions: bool,
    /// What stands in the data path after the implementation's own behaviour; nothing unless given.
    pub exchange: Chain,
}

/// Why a testbed did not start.
#[derive(Debug, thiserror::Error)]
pub enum TestbedError {
    /// A name of its behaviour means nothing.
    #[error(transparent)]
    Behaviour(#[from] UnknownBehaviour),
    /// A definition that is to be left out is not there anyway.
    #[error("there is no definition `{0}`")]
    Definition(String),
    /// A feature that the implementation cannot do without.
    #[error("the embedded implementation always has the feature `{0}`")]
    Feature(String),
    /// The API server did not start.
    #[error("cannot start the embedded API server")]
    ApiServer(#[from] StartError),
    /// The GatewayClass was refused.
    #[error("cannot create the GatewayClass of the embedded implementation")]
    GatewayClass(#[source] Box<kube::Error>),
    /// The fake Azure Resource Manager did not start.
    #[error("cannot start the fake Azure Resource Manager")]
    Arm(#[from] gateproof_arm::ArmError),
    /// The implementation cannot speak to it, or nobody could stop it.
    #[error("cannot start the embedded implementation of Azure Service Operator")]
    Aso(#[from] OperatorError),
    /// The implementation of the policies did not start.
    #[error("cannot start the embedded implementation of Kuadrant's policies")]
    Kuadrant(#[from] gateproof_kuadrant::runtime::StartError),
    /// What the implementation of HTTPProxies is set to could not be had.
    #[error("cannot make what the embedded implementation of HTTPProxies is set to")]
    Contour(#[from] contour::SetUpError),
    /// The workloads did not start.
    #[error("cannot run workloads on the embedded API server")]
    Workloads(#[from] gateproof_workloads::StartError),
}

/// A running embedded target. It ends with [`Testbed::shutdown`] or when it is dropped.
pub struct Testbed {
    server: Server,
    proxy: Arc<Proxy>,
    controllers: Option<Controllers>,
    workloads: Option<Workloads>,
    offset: Option<u16>,
    /// Names that Gateways may have instead of addresses.
    names: Vec<(String, Ipv4Addr)>,
    /// What the implementation does without.
    lacks: BTreeSet<Dispensable>,
}

impl Testbed {
    /// Starts a testbed. Must run within a Tokio runtime.
    ///
    /// # Errors
    /// [`TestbedError`] names the part that did not start.
    pub async fn start(options: TestbedOptions) -> Result<Testbed, TestbedError> {
        let (policies, mut crds): (Vec<_>, Vec<_>) = match options.crds {
            crds if crds.is_empty() => (safe_upgrades(options.channel).into(), gateway_api(options.channel)),
            crds => crds.into_iter().partition(is_policy),
        };
        let (absent, without): (Vec<_>, Vec<_>) =
            options.without.into_iter().partition(|name| OPTIONAL.contains(&name.as_str()));
        for name in without {
            let before = crds.len();
            crds.retain(|crd| crd["metadata"]["name"] != name.as_str());
            if crds.len() == before {
                return Err(TestbedError::Definition(name));
            }
        }
        let lacking = |name: &String| Dispensable::of(name).ok_or_else(|| TestbedError::Feature(name.clone()));
        let lacks = options.lacking.iter().map(lacking).collect::<Result<BTreeSet<_>, _>>()?;
        options.behaviour.reshape(&mut crds);
        // What is there from the start came about somehow.
        crds.extend(policies);
        let mut server_options = Options {
            crds,
            without: absent,
            admit_loopback_endpoints: true,
            dual_stack: true,
            namespace_companions: options.namespace_companions,
            ..Options::default()
        };
        if let Some(bind) = options.bind {
            server_options.bind = bind;
        }
        let server = Server::start(server_options).await?;
        let network = network(server.addr().port());
        let offset = options.ports.offset(network);
        let mut exchange = options.exchange;
        exchange.0.insert(0, options.behaviour.exchange());
        let proxy = Arc::new(Proxy::with_exchange(ProxyOptions { port_offset: offset }, Arc::new(exchange)));
        let mut testbed =
            Testbed { server, proxy, controllers: None, workloads: None, offset, names: Vec::new(), lacks };
        if options.workloads {
            testbed.workloads = Some(Workloads::start(testbed.client(), Place::Loopback(pod_network(network))).await?);
        }
        if !options.no_controller {
            let max_gateways = [(SINGLE_GATEWAY_CLASS.to_owned(), 1)].into();
            let mut settings = Settings { network, max_gateways, ..Settings::default() };
            options.behaviour.settle(&mut settings);
            testbed.lacks.append(&mut settings.lacks);
            settings.lacks.clone_from(&testbed.lacks);
            if settings.names {
                testbed.names = settings.all_names().collect();
            }
            let client = testbed.client();
            for name in [GATEWAY_CLASS, SINGLE_GATEWAY_CLASS] {
                create_class(client.clone(), name).await?;
            }
            let seams = options.behaviour.seams();
            if let Behaviour::Tampered(tamper) = &options.behaviour {
                tamper.attach(client.clone(), offset);
            }
            testbed.controllers = Some(Controllers::start(client, Arc::clone(&testbed.proxy), settings, seams));
        }
        Ok(testbed)
    }

    /// A client that reaches the API server without a socket.
    pub fn client(&self) -> Client {
        Client::new(self.server.service(), "default")
    }

    /// The API server's kubeconfig; it holds the token.
    pub fn kubeconfig(&self) -> String {
        self.server.kubeconfig()
    }

    /// The API server.
    pub fn server(&self) -> &Server {
        &self.server
    }

    /// Name of the GatewayClass that the implementation answers for.
    pub fn gateway_class(&self) -> &'static str {
        GATEWAY_CLASS
    }

    /// Name of the GatewayClass that has room for one Gateway only.
    pub fn single_gateway_class(&self) -> &'static str {
        SINGLE_GATEWAY_CLASS
    }

    /// Whether the implementation does without a feature.
    pub fn lacks(&self, feature: &str) -> bool {
        self.lacks.iter().any(|one| one.features().contains(&feature))
    }

    /// How a client gets from an address and port in a status to the bound ones, as `HOST:PORT=ADDR:PORT` where `*`
    /// stands for anything and keeps it, and `+N` adds to the port.
    pub fn dial_rule(&self) -> String {
        format!("*:*=*:{}", self.dial_port())
    }

    /// That rule, behind those for names that no resolver knows.
    pub fn dial_rules(&self) -> Vec<String> {
        let port = self.dial_port();
        let named = self.names.iter().map(|(name, address)| format!("{name}:*={address}:{port}"));
        named.chain([self.dial_rule()]).collect()
    }

    fn dial_port(&self) -> String {
        self.offset.map_or_else(|| "*".to_owned(), |offset| format!("+{offset}"))
    }

    /// The addresses that Gateways can get, as a CIDR.
    pub fn gateway_network(&self) -> String {
        let [a, b, c] = network(self.server.addr().port());
        format!("{a}.{b}.{c}.0/24")
    }

    /// One of them that Gateways may ask for, and that the implementation gives out last.
    pub fn usable_address(&self) -> String {
        let [a, b, c] = network(self.server.addr().port());
        format!("{a}.{b}.{c}.254")
    }

    /// What clients have asked of the API server so far.
    pub fn requests(&self) -> Vec<RequestCount> {
        self.server.requests()
    }

    /// Stops everything, the implementation first.
    pub async fn shutdown(mut self) {
        if let Some(controllers) = self.controllers.take() {
            controllers.shutdown().await;
        }
        if let Some(workloads) = self.workloads.take() {
            workloads.shutdown().await;
        }
        self.proxy.shutdown().await;
        self.server.shutdown().await;
    }
}

/// The first three octets of the addresses that Gateways get. The API server's port is unique on this host's loopback
/// address while it runs, so deriving them from it keeps testbeds apart.
fn network(api_server_port: u16) -> [u8; 3] {
    let [high, low] = api_server_port.to_be_bytes();
    [127, high.max(1), low]
}

/// The first three octets of the addresses that Pods get: those of a testbed whose port differs in the highest bit. API
/// servers at free ports all have that bit set.
fn pod_network([a, b, c]: [u8; 3]) -> [u8; 3] {
    [a, (b ^ 0x80).max(1), c]
}

async fn create_class(client: Client, name: &str) -> Result<(), TestbedError> {
    let resource = ApiResource {
        group: "gateway.networking.k8s.io".to_owned(),
        version: "v1".to_owned(),
        api_version: "gateway.networking.k8s.io/v1".to_owned(),
        kind: "GatewayClass".to_owned(),
        plural: "gatewayclasses".to_owned(),
    };
    let class: DynamicObject = serde_json::from_value(json!({
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {"name": name},
        "spec": {"controllerName": CONTROLLER_NAME},
    }))
    .map_err(|error| TestbedError::GatewayClass(Box::new(kube::Error::SerdeError(error))))?;
    Api::<DynamicObject>::all_with(client, &resource)
        .create(&PostParams::default(), &class)
        .await
        .map(drop)
        .map_err(|error| TestbedError::GatewayClass(Box::new(error)))
}
