//! The embedded target, started for one run.

use gateproof_apiserver::crds::Channel;
use gateproof_controllers::settings::SUPPORTED_FEATURES;
use gateproof_testbed::aso::{self, AsoTestbed};
use gateproof_testbed::{Behaviour, Testbed, TestbedError, TestbedOptions};

use super::options::RunOptions;
use crate::cluster::api::Api;
use crate::cluster::control::{ServiceAddress, Services};

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
    /// What it supports, for releases whose GatewayClass has no place to claim it.
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
}

impl Embedded {
    /// Stops it.
    pub async fn shutdown(self) {
        match self {
            Embedded::GatewayApi(testbed) => testbed.shutdown().await,
            Embedded::Aso(testbed) => testbed.shutdown().await,
        }
    }
}

/// Starts the embedded target of Azure Service Operator.
pub async fn start_aso(names: Option<&str>) -> Result<Located, TestbedError> {
    let testbed = AsoTestbed::start(aso::behaviour(names)?).await?;
    let service = |service: gateproof_testbed::Service| {
        let url = service.url.parse().ok()?;
        Some(ServiceAddress { name: service.name.to_owned(), url, token: Some(service.token) })
    };
    Ok(Located {
        api: Api::new(testbed.client()),
        gateway_class: None,
        single_gateway_class: None,
        dial: Vec::new(),
        features: Vec::new(),
        // What the testbed serves on loopback can be used.
        services: Services::new(testbed.services().into_iter().filter_map(service)).ok(),
        testbed: Some(Embedded::Aso(Box::new(testbed))),
    })
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
    // The built-in release has the place, and a reference that leaves it empty misbehaves.
    let known: &[&str] = if asked.crds.is_empty() { &[] } else { SUPPORTED_FEATURES };
    Ok(Located {
        // Within one process, requests need neither sockets nor TLS.
        api: Api::new(testbed.client()),
        gateway_class: Some(testbed.gateway_class().to_owned()),
        single_gateway_class: Some(testbed.single_gateway_class().to_owned()),
        dial: vec![testbed.dial_rule()],
        features: known.iter().map(ToString::to_string).collect(),
        services: None,
        testbed: Some(Embedded::GatewayApi(Box::new(testbed))),
    })
}
