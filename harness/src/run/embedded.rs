//! The embedded target, started for one run.

use gateproof_apiserver::crds::Channel;
use gateproof_controllers::settings::SUPPORTED_FEATURES;
use gateproof_testbed::aso::{self, AsoOptions, AsoTestbed};
use gateproof_testbed::kuadrant::{self, KuadrantTestbed};
use gateproof_testbed::{Behaviour, KnownFault, KnownVariant, Testbed, TestbedError, TestbedOptions, UnknownBehaviour};

use super::options::RunOptions;
use crate::cluster::api::Api;
use crate::cluster::control::{ServiceAddress, Services};
use crate::dialects::Other;

/// Where a target is, once it runs.
pub struct Located {
    /// Its API server.
    pub api: Api,
    /// The GatewayClass to test, in a dialect that has classes.
    pub gateway_class: Option<String>,
    /// A class of it that takes one Gateway only, if it is known to have one.
    pub single_gateway_class: Option<String>,
    /// How its addresses are reached, beside what the user says.
    pub dial: Vec<String>,
    /// What it supports beside what it claims, for releases whose GatewayClass has no place for all of it.
    pub features: Vec<String>,
    /// The scripted services that it names itself, if it is one that does.
    pub services: Option<Services>,
    /// The embedded target that lives as long as this.
    pub testbed: Option<Embedded>,
}

/// A running embedded target.
pub enum Embedded {
    /// That of Gateway API.
    GatewayApi(Box<Testbed>),
    /// That of Azure Service Operator.
    Aso(Box<AsoTestbed>),
    /// That of Kuadrant's policies.
    Kuadrant(Box<KuadrantTestbed>),
}

impl Embedded {
    /// Stops it.
    pub async fn shutdown(self) {
        match self {
            Embedded::GatewayApi(testbed) => testbed.shutdown().await,
            Embedded::Aso(testbed) => testbed.shutdown().await,
            Embedded::Kuadrant(testbed) => testbed.shutdown().await,
        }
    }
}

/// Whether what is named is known to the embedded target of a dialect other than Gateway API.
///
/// # Errors
/// The first name that means nothing.
pub fn known(other: Other, names: Option<&str>) -> Result<(), UnknownBehaviour> {
    match other {
        Other::Aso => aso::behaviour(names).map(drop),
        Other::Kuadrant => kuadrant::behaviour(names).map(drop),
    }
}

/// The faults that such a target can have.
pub fn faults(other: Other) -> Vec<KnownFault> {
    match other {
        Other::Aso => aso::faults(),
        Other::Kuadrant => kuadrant::faults(),
    }
}

/// The legal ways to differ that such a target has.
pub fn variants(other: Other) -> Vec<KnownVariant> {
    match other {
        Other::Aso => aso::variants(),
        Other::Kuadrant => kuadrant::variants(),
    }
}

/// Starts the embedded target of a dialect other than Gateway API.
pub async fn start_other(other: Other, names: Option<&str>) -> Result<Located, TestbedError> {
    match other {
        Other::Aso => {
            let testbed =
                AsoTestbed::start(AsoOptions { behaviour: aso::behaviour(names)?, ..AsoOptions::default() }).await?;
            Ok(Located {
                api: Api::new(testbed.client()),
                gateway_class: None,
                single_gateway_class: None,
                dial: Vec::new(),
                features: Vec::new(),
                services: services(testbed.services()),
                testbed: Some(Embedded::Aso(Box::new(testbed))),
            })
        }
        Other::Kuadrant => {
            let testbed = KuadrantTestbed::start(kuadrant::behaviour(names)?, TestbedOptions::default()).await?;
            Ok(Located {
                api: Api::new(testbed.client()),
                gateway_class: Some(testbed.cluster().gateway_class().to_owned()),
                single_gateway_class: Some(testbed.cluster().single_gateway_class().to_owned()),
                dial: testbed.cluster().dial_rules(),
                features: Vec::new(),
                services: services(testbed.services()),
                testbed: Some(Embedded::Kuadrant(Box::new(testbed))),
            })
        }
    }
}

/// What a testbed serves on loopback can be used.
fn services(of: Vec<gateproof_testbed::Service>) -> Option<Services> {
    let service = |service: gateproof_testbed::Service| {
        let url = service.url.parse().ok()?;
        Some(ServiceAddress {
            name: service.name.to_owned(),
            url,
            token: Some(service.token),
            authority: service.authority,
        })
    };
    Services::new(of.into_iter().filter_map(service)).ok()
}

/// Starts the embedded target of Gateway API, with definitions other than the built-in ones if there are any, and with somebody who runs
/// Deployments if that is asked.
pub async fn start(behaviour: Behaviour, asked: &RunOptions) -> Result<Located, TestbedError> {
    // The experimental channel holds all of the other, so nothing that the reference can do is left out.
    let channel = Channel::Experimental;
    let options = TestbedOptions {
        behaviour,
        crds: asked.crds.clone(),
        without: asked.without_crds.clone(),
        channel,
        workloads: asked.backend_image.is_some(),
        ..TestbedOptions::default()
    };
    let testbed = Testbed::start(options).await?;
    // The built-in release has the place, and a reference that leaves out what it can misbehaves.
    let known: &[&str] = if asked.crds.is_empty() { &[] } else { SUPPORTED_FEATURES };
    Ok(Located {
        // Within one process, requests need neither sockets nor TLS.
        api: Api::new(testbed.client()),
        gateway_class: Some(testbed.gateway_class().to_owned()),
        single_gateway_class: Some(testbed.single_gateway_class().to_owned()),
        dial: testbed.dial_rules(),
        features: known.iter().map(ToString::to_string).collect(),
        services: None,
        testbed: Some(Embedded::GatewayApi(Box::new(testbed))),
    })
}
