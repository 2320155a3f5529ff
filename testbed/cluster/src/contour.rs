//! An embedded target for Contour's HTTPProxy: an API server with its definitions, a data path at one address, and the reference beside it.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use gateproof_contour::exchange::Envoy;
use gateproof_contour::{self as contour, Contour, FAULTS, Settings, VARIANTS};
pub use gateproof_contour::{Behaviour, Edition, definitions};
use gateproof_proxy::{Chain, Exchange};
use kube::Client;

use crate::tampering::Spoils;
use crate::{KnownFault, KnownVariant, Testbed, TestbedError, TestbedOptions, UnknownBehaviour};

/// What it is set to, by the names that the dialect has for it.
pub const FEATURES: [&str; 1] = ["RootNamespaces"];

/// What namespaces are called at the end in which it wants no roots.
const ROOTLESS: &str = "-closed";

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
        let settings = Settings { edition, rootless: Some(ROOTLESS.to_owned()), ..Settings::at(address) };
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

/// Every fault that it can have.
pub fn faults() -> Vec<KnownFault> {
    let known = |fault: &contour::behaviour::Fault| KnownFault {
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
    let known = |variant: &contour::behaviour::Variant| KnownVariant {
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
    Behaviour::of(names).map_err(|error| match error {
        contour::behaviour::UnknownBehaviour::Fault(name) => UnknownBehaviour::Fault(name),
        contour::behaviour::UnknownBehaviour::Variant(name) => UnknownBehaviour::Variant(name),
        contour::behaviour::UnknownBehaviour::Twice(name) => UnknownBehaviour::Twice(name),
    })
}
