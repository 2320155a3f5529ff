//! An embedded target for Kuadrant's policies: that of Gateway API, whose data path has a gate, and the reference of the policies beside it.

use std::sync::Arc;

use gateproof_apiserver::crds::{Channel, gateway_api};
use gateproof_controllers::settings::CONTROLLER_NAME;
use gateproof_kuadrant::{self as kuadrant, Behaviour, FAULTS, Kuadrant, Settings, VARIANTS, definitions};
use gateproof_proxy::Chain;
use kube::Client;

use crate::{PortMapping, Service, Testbed, TestbedError, TestbedOptions, UnknownBehaviour};

/// The name among the services of the target of what stands beside the policies: Authorino, Limitador, a DNS operator and an issuer.
const COMPONENTS: &str = "components";

/// A running embedded target of Kuadrant's policies. It ends with [`KuadrantTestbed::shutdown`] or when it is dropped.
pub struct KuadrantTestbed {
    policies: Kuadrant,
    testbed: Testbed,
}

impl KuadrantTestbed {
    /// Starts one. Must run within a Tokio runtime.
    ///
    /// # Errors
    /// [`TestbedError`] names the part that did not start.
    pub async fn start(behaviour: Behaviour, ports: PortMapping) -> Result<KuadrantTestbed, TestbedError> {
        let settings = Settings { controllers: vec![CONTROLLER_NAME.to_owned()], ..Settings::default() };
        let mut crds = gateway_api(Channel::Standard);
        crds.extend(definitions());
        behaviour.reshape(&mut crds);
        let exchange = Chain(vec![Arc::new(settings.gate.clone())]);
        let testbed = Testbed::start(TestbedOptions { crds, ports, exchange, ..TestbedOptions::default() }).await?;
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
        let access = self.policies.components();
        vec![Service { name: COMPONENTS, url: access.url(), token: access.token.clone() }]
    }

    /// Stops everything, the policies' reference first.
    pub async fn shutdown(self) {
        self.policies.shutdown().await;
        self.testbed.shutdown().await;
    }
}

/// The names of its faults, and those of its variants.
pub fn names() -> (Vec<&'static str>, Vec<&'static str>) {
    (FAULTS.iter().map(|fault| fault.name).collect(), VARIANTS.iter().map(|variant| variant.name).collect())
}

/// With what is named, such as `NAME+variant:NAME`; plain without a name.
///
/// # Errors
/// The first name that means nothing.
pub fn behaviour(names: Option<&str>) -> Result<Behaviour, UnknownBehaviour> {
    Behaviour::of(names).map_err(|error| match error {
        kuadrant::behaviour::UnknownBehaviour::Fault(name) => UnknownBehaviour::Fault(name),
        kuadrant::behaviour::UnknownBehaviour::Variant(name) => UnknownBehaviour::Variant(name),
        kuadrant::behaviour::UnknownBehaviour::Twice(name) => UnknownBehaviour::Twice(name),
    })
}
