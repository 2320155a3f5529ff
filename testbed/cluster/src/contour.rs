//! An embedded target for Contour's HTTPProxy: an API server with its definitions, a data path at one address, and the reference beside it.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use gateproof_contour::exchange::Envoy;
use gateproof_contour::{self as contour, Contour, FAULTS, Settings, VARIANTS};
pub use gateproof_contour::{Behaviour, Edition, definitions};
use gateproof_proxy::{Chain, Exchange};
use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject, PostParams};
use kube::core::GroupVersionKind;
use serde_json::{Value, json};

use crate::tampering::Spoils;
use crate::{KnownFault, KnownVariant, Testbed, TestbedError, TestbedOptions, UnknownBehaviour};

/// What it is set to, by the names that the dialect has for it.
pub const FEATURES: [&str; 5] =
    ["RootNamespaces", "FallbackCertificate", "FallbackNotDelegated", "FallbackNotValid", "ExternalNames"];

/// What namespaces are called at the end in which it wants no roots.
const ROOTLESS: &str = "-closed";

/// What namespaces are called at the end in which it takes Services that are names of others.
const NAMED: &str = "-named";

/// Where the Secrets of its operator are.
const OPERATOR: &str = "operator";

/// Whom its fallback certificate is for.
const FALLBACK: &str = "fallback.example";

/// What namespaces are called at the end whose roots have a fallback certificate, and the Secret of it: one that all may use, one that nobody
/// may, and one that all may use and nobody has made.
const FALLBACKS: [(&str, &str); 3] = [("-fallback", "fallback"), ("-withheld", "withheld"), ("-lacking", "lacking")];

/// Why what it is set to could not be had.
#[derive(Debug, thiserror::Error)]
pub enum SetUpError {
    /// The fallback certificate could not be made.
    #[error("cannot make a certificate")]
    Certificate(#[from] rcgen::Error),
    /// An object of the operator was refused.
    #[error("cannot create {0}")]
    Refused(String, #[source] Box<kube::Error>),
}

/// A running embedded target of HTTPProxies. It ends with [`ContourTestbed::shutdown`] or when it is dropped.
pub struct ContourTestbed {
    contour: Contour,
    testbed: Testbed,
}

impl ContourTestbed {
    /// Starts one, on a cluster with definitions of its own. What makes single values of the cluster wrong does so of the reference, too.
    /// Must run within a Tokio runtime.
    ///
    /// # Errors
    /// [`TestbedError`] names the part that did not start.
    pub async fn start(
        mut behaviour: Behaviour,
        edition: Edition,
        cluster: TestbedOptions,
    ) -> Result<ContourTestbed, TestbedError> {
        let mut crds = definitions();
        behaviour.reshape(&mut crds);
        let tamper = match &cluster.behaviour {
            crate::Behaviour::Tampered(tamper) => Some(tamper.clone()),
            _ => None,
        };
        if let Some(tamper) = &tamper {
            behaviour = behaviour.with_spoiler(Arc::new(Spoils(tamper.clone())));
        }
        let envoy = Envoy::default();
        let mut exchanges: Vec<Arc<dyn Exchange>> = vec![Arc::new(envoy.clone())];
        exchanges.extend(behaviour.exchanges());
        let options = TestbedOptions { crds, exchange: Chain(exchanges), no_controller: true, ..cluster };
        let testbed = Testbed::start(options).await?;
        if let Some(tamper) = &tamper {
            tamper.attach(testbed.client(), testbed.offset);
        }
        let [a, b, c] = crate::network(testbed.server.addr().port());
        let address = IpAddr::V4(Ipv4Addr::new(a, b, c, 1));
        set_up(&testbed.client()).await?;
        let fallbacks = FALLBACKS.map(|(end, secret)| (end.to_owned(), format!("{OPERATOR}/{secret}"))).to_vec();
        let (rootless, named) = (Some(ROOTLESS.to_owned()), Some(NAMED.to_owned()));
        let settings = Settings { edition, rootless, named, fallbacks, ..Settings::at(address) };
        let contour = Contour::start(testbed.client(), Arc::clone(&testbed.proxy), envoy.gate, settings, &behaviour);
        Ok(ContourTestbed { contour, testbed })
    }

    /// The cluster, with how its addresses are reached.
    pub fn cluster(&self) -> &Testbed {
        &self.testbed
    }

    /// A client that reaches the API server without a socket.
    pub fn client(&self) -> Client {
        self.testbed.client()
    }

    /// Stops everything, the reference first.
    pub async fn shutdown(self) {
        self.contour.shutdown().await;
        self.testbed.shutdown().await;
    }
}

/// Makes the objects that it is set to use.
async fn set_up(client: &Client) -> Result<(), SetUpError> {
    let made = rcgen::generate_simple_self_signed([FALLBACK.to_owned()])?;
    let data = json!({"tls.crt": made.cert.pem(), "tls.key": made.signing_key.serialize_pem()});
    let secret = json!({"type": "kubernetes.io/tls", "stringData": data});
    let to_all = |name: &str| json!({"secretName": name, "targetNamespaces": ["*"]});
    let delegated = json!({"spec": {"delegations": [to_all("fallback"), to_all("lacking")]}});
    create(client, ("", "v1", "Namespace"), OPERATOR, json!({})).await?;
    create(client, ("", "v1", "Secret"), "fallback", secret.clone()).await?;
    create(client, ("", "v1", "Secret"), "withheld", secret).await?;
    create(client, ("projectcontour.io", "v1", "TLSCertificateDelegation"), "fallbacks", delegated).await
}

/// Creates an object, in the operator's namespace unless it is that.
async fn create(
    client: &Client,
    (group, version, kind): (&str, &str, &str),
    name: &str,
    data: Value,
) -> Result<(), SetUpError> {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
    let object = DynamicObject::new(name, &resource).data(data);
    let api: Api<DynamicObject> = match kind {
        "Namespace" => Api::all_with(client.clone(), &resource),
        _ => Api::namespaced_with(client.clone(), OPERATOR, &resource),
    };
    let refused = |error| SetUpError::Refused(format!("{kind} {name}"), Box::new(error));
    api.create(&PostParams::default(), &object).await.map(drop).map_err(refused)
}

/// Every fault that it can have.
pub fn faults() -> Vec<KnownFault> {
    let known = |fault: &contour::seam::Fault| KnownFault {
        name: fault.name,
        seam: fault.seam.name(),
        summary: fault.summary,
        clauses: fault.clauses,
        reported: &[],
    };
    FAULTS.iter().flat_map(|faults| *faults).map(known).collect()
}

/// Every legal way to differ that it has.
pub fn variants() -> Vec<KnownVariant> {
    let known = |variant: &contour::seam::Variant| KnownVariant {
        name: variant.name,
        summary: variant.summary,
        source: variant.source,
        delay: None,
        leaves_undone: &[],
    };
    VARIANTS.iter().map(known).collect()
}

/// With what is named, such as `NAME+variant:NAME`; plain without a name.
///
/// # Errors
/// The first name that means nothing.
pub fn behaviour(names: Option<&str>) -> Result<Behaviour, UnknownBehaviour> {
    Behaviour::of(names)
}
