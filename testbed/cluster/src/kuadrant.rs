//! An embedded target for Kuadrant's policies: that of Gateway API, whose data path has a gate, and the reference of the policies beside it.

use std::sync::Arc;

use gateproof_apiserver::crds::{Channel, gateway_api};
use gateproof_controllers::settings::CONTROLLER_NAME;
use gateproof_kuadrant::control::Access;
use gateproof_kuadrant::{self as kuadrant, FAULTS, Kuadrant, Settings, VARIANTS};
pub use gateproof_kuadrant::{Behaviour, Edition, definitions_of};
use gateproof_proxy::Chain;
use kube::Client;

use crate::tampering::Spoils;
use crate::{KnownFault, KnownVariant, Service, Testbed, TestbedError, TestbedOptions, UnknownBehaviour};

/// The name among the services of the target of what stands beside the policies: Authorino, Limitador, a DNS operator and an issuer.
const COMPONENTS: &str = "components";

/// The name among them of what stops and starts the policies' own implementation.
const OPERATOR: &str = "operator";

/// A running embedded target of Kuadrant's policies. It ends with [`KuadrantTestbed::shutdown`] or when it is dropped.
pub struct KuadrantTestbed {
    policies: Kuadrant,
    testbed: Testbed,
}

impl KuadrantTestbed {
    /// Starts one, on a cluster with definitions and a gate of its own. What makes single values of the cluster wrong does so of the
    /// policies, too. Must run within a Tokio runtime.
    ///
    /// # Errors
    /// [`TestbedError`] names the part that did not start.
    pub async fn start(
        mut behaviour: Behaviour,
        edition: Edition,
        cluster: TestbedOptions,
    ) -> Result<KuadrantTestbed, TestbedError> {
        let settings = Settings { edition, controllers: vec![CONTROLLER_NAME.to_owned()], ..Settings::default() };
        let mut crds = gateway_api(Channel::Standard);
        crds.extend(definitions_of(settings.edition));
        behaviour.reshape(&mut crds);
        if let crate::Behaviour::Tampered(tamper) = &cluster.behaviour {
            behaviour = behaviour.with_spoiler(Arc::new(Spoils(tamper.clone())));
        }
        let exchange = Chain(vec![Arc::new(settings.gate.clone())]);
        let testbed = Testbed::start(TestbedOptions { crds, exchange, ..cluster }).await?;
        let policies = Kuadrant::start(testbed.client(), settings, behaviour).await?;
        Ok(KuadrantTestbed { policies, testbed })
    }

    /// The cluster, with its GatewayClass and how its addresses are reached.
    pub fn cluster(&self) -> &Testbed {
        &self.testbed
    }

    /// A client that reaches the API server without a socket.
    pub fn client(&self) -> Client {
        self.testbed.client()
    }

    /// The scripted services of the target.
    pub fn services(&self) -> Vec<Service> {
        let all = [(COMPONENTS, self.policies.components()), (OPERATOR, self.policies.control())];
        let service = |(name, access): (&'static str, &Access)| Service {
            name,
            url: access.url(),
            token: access.token.clone(),
            authority: None,
        };
        all.into_iter().map(service).collect()
    }

    /// Stops everything, the policies' reference first.
    pub async fn shutdown(self) {
        self.policies.shutdown().await;
        self.testbed.shutdown().await;
    }
}

/// Every fault that it can have.
pub fn faults() -> Vec<KnownFault> {
    let known = |fault: &kuadrant::seam::Fault| KnownFault {
        name: fault.name,
        seam: fault.seam.name(),
        summary: fault.summary,
        clauses: fault.clauses,
        reported: &[],
    };
    FAULTS.iter().map(known).collect()
}

/// Every legal way to differ that it has.
pub fn variants() -> Vec<KnownVariant> {
    let known = |variant: &kuadrant::seam::Variant| KnownVariant {
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
