//! An embedded target for Azure Service Operator: API server, reference implementation, and a fake Azure Resource Manager.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use gateproof_apiserver::{Options, Server};
use gateproof_arm::{Arm, ArmOptions};
pub use gateproof_aso::Edition;
use gateproof_aso::behaviour::{Fault, Variant};
pub use gateproof_aso::definitions;
use gateproof_aso::{Behaviour, Identity, Settings, faults, variants};
use kube::Client;

use crate::behaviour::each;
use crate::operator::Operator;
use crate::tampering::Spoils;
use crate::{KnownFault, KnownVariant, Service, Tampering, TestbedError, UnknownBehaviour};

/// The name of the fake Azure Resource Manager among the services of the target.
const ARM: &str = "arm";

/// The name of the reference itself among them.
const OPERATOR: &str = "operator";

/// After how long a spec is sent again, before scaling: within a hold of some seconds at the pace of the target.
const SYNC_PERIOD: Duration = Duration::from_secs(100);

/// What it is set to, by the names that the dialect has for it: something refuses what must not be written, each object has a task of
/// its own, specs are sent again within seconds, and what has no policy is left alone in some namespaces.
pub const FEATURES: [&str; 4] = ["Webhooks", "SeveralAtOnce", "ShortSyncPeriod", "SkipsByDefault"];

/// What namespaces are called at the end in which it skips what has no policy.
const SKIPPED: &str = "-skipped";

/// What the reference's delays are multiplied by: what is tried again comes within a test's patience.
const PACE: f64 = 0.05;

/// How a target of Azure Service Operator starts.
#[derive(Debug, Clone, Default)]
pub struct AsoOptions {
    /// How the implementation behaves.
    pub behaviour: Behaviour,
    /// Which edition of the status language it speaks.
    pub edition: Edition,
    /// Makes single values wrong while it runs.
    pub tampering: Option<Tampering>,
    /// Leaves the implementation out, for somebody else's. The fake Azure Resource Manager speaks TLS then.
    pub no_controller: bool,
    /// Address and port of the API server; a free port on loopback unless given.
    pub bind: Option<SocketAddr>,
    /// Puts into every namespace what controllers of a real cluster put there.
    pub namespace_companions: bool,
}

/// A running embedded target of Azure Service Operator. It ends with [`AsoTestbed::shutdown`] or when it is dropped.
pub struct AsoTestbed {
    server: Server,
    arm: Arm,
    operator: Option<Operator>,
}

impl AsoTestbed {
    /// Starts one. Must run within a Tokio runtime.
    ///
    /// # Errors
    /// [`TestbedError`] names the part that did not start.
    pub async fn start(options: AsoOptions) -> Result<AsoTestbed, TestbedError> {
        let AsoOptions { mut behaviour, edition, tampering, no_controller, bind, namespace_companions } = options;
        let mut crds = definitions();
        behaviour.reshape(&mut crds);
        let mut served = Options { crds, namespace_companions, ..Options::default() };
        if let Some(bind) = bind {
            served.bind = bind;
        }
        let server = Server::start(served).await?;
        let mut options = ArmOptions { tls: no_controller, ..ArmOptions::default() };
        if let Some(Tampering { target, requests }) = tampering {
            target.attach(Client::new(server.service(), "default"), None);
            behaviour = behaviour.with_spoiler(Arc::new(Spoils(target)));
            options.log_tamper = requests;
        }
        let subscription = options.subscription.clone();
        let arm = Arm::start(options).await?;
        if no_controller {
            return Ok(AsoTestbed { server, arm, operator: None });
        }
        let identity = Identity { url: format!("{}/token", arm.url()), header: arm.identity_header().to_owned() };
        let settings = Settings {
            arm: arm.url().to_owned(),
            identity: Some(identity),
            subscription: Some(subscription),
            time_scale: PACE,
            sync_period: Some(SYNC_PERIOD),
            other_policies: vec![(SKIPPED.to_owned(), "skip".to_owned())],
            edition,
            ..Settings::default()
        };
        let operator = Operator::start(Client::new(server.service(), "default"), settings, behaviour).await?;
        Ok(AsoTestbed { server, arm, operator: Some(operator) })
    }

    /// The API server.
    pub fn server(&self) -> &Server {
        &self.server
    }

    /// The variables with which an implementation uses the fake Azure Resource Manager; secrets are among them. Left to the caller are
    /// `POD_NAMESPACE` and `SSL_CERT_FILE`.
    pub fn environment(&self) -> Vec<(&'static str, String)> {
        environment(&self.arm)
    }

    /// A client that reaches the API server without a socket.
    pub fn client(&self) -> Client {
        Client::new(self.server.service(), "default")
    }

    /// The scripted services of the target.
    pub fn services(&self) -> Vec<Service> {
        let operator = self.operator.as_ref().map(|operator| {
            let (url, token) = (operator.url().to_owned(), operator.token().to_owned());
            Service { name: OPERATOR, url, token, authority: None }
        });
        [service(&self.arm)].into_iter().chain(operator).collect()
    }

    /// Stops everything, the implementation first.
    pub async fn shutdown(self) {
        if let Some(operator) = self.operator {
            operator.shutdown().await;
        }
        self.arm.shutdown().await;
        self.server.shutdown().await;
    }
}

/// The fake Azure Resource Manager, as a scripted service.
pub(crate) fn service(arm: &Arm) -> Service {
    let (url, token) = (arm.url().to_owned(), arm.control_token().to_owned());
    Service { name: ARM, url, token, authority: arm.ca_pem().map(str::to_owned) }
}

/// The variables with which an implementation uses it.
pub(crate) fn environment(arm: &Arm) -> Vec<(&'static str, String)> {
    let mut variables = arm.environment();
    variables.push(("POD_NAMESPACE", "azureserviceoperator-system".to_owned()));
    variables
}

/// Every fault that it can have.
pub fn faults() -> Vec<KnownFault> {
    let known = |fault: &Fault| KnownFault {
        name: fault.name,
        seam: fault.seam.name(),
        summary: fault.summary,
        clauses: fault.clauses,
        reported: &[],
    };
    faults::catalogue().map(known).collect()
}

/// Every legal way to differ that it has.
pub fn variants() -> Vec<KnownVariant> {
    let known = |variant: &Variant| KnownVariant {
        name: variant.name,
        summary: variant.summary,
        source: variant.source,
        delay: None,
        leaves_undone: &[],
    };
    variants::VARIANTS.iter().map(known).collect()
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
