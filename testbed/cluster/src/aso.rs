//! An embedded target for Azure Service Operator: API server, reference implementation, and a fake Azure Resource Manager.

use gateproof_apiserver::{Options, Server};
use gateproof_arm::{Arm, ArmOptions};
use gateproof_aso::{Aso, Behaviour, Identity, Settings, definitions, faults, variants};
use kube::Client;

use crate::behaviour::{UnknownBehaviour, each};
use crate::{Service, TestbedError};

/// The name of the fake Azure Resource Manager among the services of the target.
const ARM: &str = "arm";

/// What the reference's delays are multiplied by: what is tried again comes within a test's patience.
const PACE: f64 = 0.05;

/// A running embedded target of Azure Service Operator. It ends with [`AsoTestbed::shutdown`] or when it is dropped.
pub struct AsoTestbed {
    server: Server,
    arm: Arm,
    controller: Aso,
}

impl AsoTestbed {
    /// Starts one. Must run within a Tokio runtime.
    ///
    /// # Errors
    /// [`TestbedError`] names the part that did not start.
    pub async fn start(behaviour: Behaviour) -> Result<AsoTestbed, TestbedError> {
        let server = Server::start(Options { crds: definitions(), ..Options::default() }).await?;
        let options = ArmOptions::default();
        let subscription = options.subscription.clone();
        let arm = Arm::start(options).await?;
        let identity = Identity { url: format!("{}/token", arm.url()), header: arm.identity_header().to_owned() };
        let settings = Settings {
            arm: arm.url().to_owned(),
            identity: Some(identity),
            subscription: Some(subscription),
            time_scale: PACE,
            ..Settings::default()
        };
        let controller = Aso::start(Client::new(server.service(), "default"), settings, behaviour)?;
        Ok(AsoTestbed { server, arm, controller })
    }

    /// A client that reaches the API server without a socket.
    pub fn client(&self) -> Client {
        Client::new(self.server.service(), "default")
    }

    /// The scripted services of the target.
    pub fn services(&self) -> Vec<Service> {
        let (url, token) = (self.arm.url().to_owned(), self.arm.control_token().to_owned());
        vec![Service { name: ARM, url, token }]
    }

    /// Stops everything, the implementation first.
    pub async fn shutdown(self) {
        self.controller.shutdown().await;
        self.arm.shutdown().await;
        self.server.shutdown().await;
    }
}

/// The names of its faults, and those of its variants.
pub fn names() -> (Vec<&'static str>, Vec<&'static str>) {
    (faults::catalogue().map(|fault| fault.name).collect(), variants::VARIANTS.iter().map(|one| one.name).collect())
}

/// With what is named, such as `NAME+variant:NAME`; plain without a name.
///
/// # Errors
/// The first name that means nothing.
pub fn behaviour(names: Option<&str>) -> Result<Behaviour, UnknownBehaviour> {
    let add = |behaviour: Behaviour, name: &str, is_variant: bool| match is_variant {
        true => variants::find(name).map(|variant| behaviour.clone().with_variant(variant)),
        false => faults::find(name).map(|fault| behaviour.clone().with_fault(fault)),
    };
    each(names)?.into_iter().try_fold(Behaviour::default(), |behaviour, (name, is_variant)| {
        add(behaviour, name, is_variant).ok_or_else(|| match is_variant {
            true => UnknownBehaviour::Variant(name.to_owned()),
            false => UnknownBehaviour::Fault(name.to_owned()),
        })
    })
}
